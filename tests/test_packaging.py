"""A wheel built through the sdist holds exactly what it should, and works away from the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pytest
from checkers import need
from jsonschema import Draft7Validator

import so_mcp
from eval import bundle
from eval.hosts import packages
from eval.hosts.formats import Server
from eval.hosts.registrations import AGENT, desk, knows_of_the_parcel
from eval.hosts.trials import NotRun
from so_mcp.config import from_environment
from so_mcp.cypher import catalogue

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
INSIDE = ("tools", "cypher", "data")  # folders of the checkout that lie inside so_mcp in a wheel


@dataclass(frozen=True)
class Built:
    """The files that git knows, and what was made of a copy of them."""

    files: list[PurePosixPath]
    sdist: Path
    wheel: Path


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    copy = tmp_path_factory.mktemp("checkout")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    files = [PurePosixPath(name) for name in listed.split("\0") if name and (ROOT / name).exists()]
    for file in files:
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, copy / file, follow_symlinks=False)
    run(sys.executable, "-m", "build", "--no-isolation", cwd=copy)
    [sdist] = (copy / "dist").glob("*.tar.gz")
    [wheel] = (copy / "dist").glob("*.whl")
    return Built(files, sdist, wheel)


@pytest.fixture(scope="module")
def unpacked(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(built.wheel) as wheel:
        wheel.extractall(folder)
    return folder


def python(folder: Path, code: str) -> str:
    """Run code as after an install elsewhere: the wheel and its dependencies, no checkout.

    Without `site` the checkout that is installed as editable here is not on the path.
    """
    path = [str(folder), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return run(sys.executable, "-I", "-S", "-c", f"import sys; sys.path += {path}\n{code}", cwd=folder)


def test_a_wheel_holds_exactly_the_package_its_tools_queries_and_data(built: Built) -> None:
    info = f"so_mcp-{so_mcp.__version__}.dist-info"
    expected = {
        f"{info}/{name}"
        for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt",
                     "licenses/LICENSE")
    }
    for file in built.files:
        if file.parts[:2] == ("data", "questions"):
            continue  # for measuring in a checkout: `python -m eval questions`
        if file.parts[0] in INSIDE:
            expected.add(f"so_mcp/{file}")
        elif file.parts[0] == "so_mcp" and not (ROOT / file).is_symlink():
            expected.add(str(file))
    with zipfile.ZipFile(built.wheel) as wheel:
        assert sorted(wheel.namelist()) == sorted(expected)
        assert wheel.read(f"{info}/top_level.txt").split() == [b"so_mcp"]


def test_an_sdist_holds_each_file_once_and_no_half_of_the_tests(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        members = [PurePosixPath(member.name) for member in sdist if not member.isdir()]
    folders = {member.parts[1] for member in members if len(member.parts) > 2}
    assert folders == {"so_mcp", "so_mcp.egg-info", *INSIDE}
    twice = [file for file in members if file.parts[1] == "so_mcp" and file.parts[2] in INSIDE]
    assert twice == [], "the links were followed"


def test_what_is_installed_works_away_from_the_checkout(unpacked: Path) -> None:
    found = python(unpacked, (
        "import so_mcp.tools, so_mcp.cypher.schema, so_mcp.data\n"
        "from so_mcp.cli import main\n"
        "for module in (so_mcp, so_mcp.tools, so_mcp.cypher, so_mcp.data): print(module.__file__)\n"
        "print(len(so_mcp.cypher.catalogue()))\n"
    ))
    *modules, queries = found.splitlines()
    assert [Path(module).parent for module in modules] == [
        unpacked / "so_mcp", *(unpacked / "so_mcp" / name for name in INSIDE)
    ]
    assert int(queries) == len(catalogue())


@pytest.mark.parametrize("name", [*INSIDE, "eval", "tests"])
def test_a_module_of_a_users_own_name_is_not_taken(name: str, unpacked: Path) -> None:
    assert python(unpacked, (
        f"try:\n    import {name}\nexcept ModuleNotFoundError as error:\n    print(error.name)\n"
    )) == f"{name}\n"


def test_the_folders_inside_the_package_are_links_in_git() -> None:
    staged = run("git", "ls-files", "--stage", "so_mcp", cwd=ROOT)
    links = re.findall(r"^120000 \w+ 0\t(.+)$", staged, re.MULTILINE)
    assert {link: (ROOT / link).readlink().as_posix() for link in links} == {
        f"so_mcp/{name}": f"../{name}" for name in INSIDE
    }


def test_each_file_that_says_the_version_says_the_same() -> None:
    said = {"pyproject.toml": PROJECT["project"]["version"]}
    if (server := ROOT / "server.json").exists():
        described = json.loads(server.read_text("utf-8"))
        said["server.json"] = described["version"]
        for number, package in enumerate(described["packages"]):
            said[f"server.json, packages[{number}]"] = package["version"]
    if (changes := ROOT / "CHANGELOG.md").exists():
        newest = re.search(r"^## \W*(\d[^\s\]]*)", changes.read_text("utf-8"), re.MULTILINE)
        said["CHANGELOG.md"] = newest[1] if newest else None
    assert said == dict.fromkeys(said, so_mcp.__version__)


def test_the_registry_is_told_which_variables_are_secret_and_the_defaults_that_the_code_has() -> None:
    [package] = json.loads((ROOT / "server.json").read_text("utf-8"))["packages"]
    variables = {variable["name"]: variable for variable in package["environmentVariables"]}
    secret = {name for name, variable in variables.items() if variable.get("isSecret")}
    assert secret == {name for name in variables if re.search(r"PASSWORD|SECRET|TOKEN", name)}
    said = {name: variable["default"] for name, variable in variables.items() if "default" in variable}
    unset = from_environment({"FALKORDB_HOST": "db.example"})
    assert unset.server is not None
    assert said == {"SO_SCENARIO": unset.scenario, "FALKORDB_PORT": f"{unset.server.port}"}


def test_the_registry_takes_our_description_by_its_own_schema() -> None:
    described = json.loads((ROOT / "server.json").read_text("utf-8"))
    found = find_spec("skillsaw")  # which brings the schemas
    assert found is not None
    assert found.origin is not None
    schemas = (Path(found.origin).parent / "schemas" / "mcp_registry").rglob("server.schema.json")
    [schema] = [schema for schema in (json.loads(file.read_text("utf-8")) for file in schemas)
                if schema["$id"] == described["$schema"]]

    def wrong(description: dict[str, object]) -> list[str]:
        return [error.message for error in Draft7Validator(schema).iter_errors(description)]

    assert wrong(described) == []
    assert wrong({**described, "name": "so-mcp"}) != []
    assert wrong({**described, "description": "x" * 101}) != []


# The MCPB bundle, and uv ------------------------------------------------------------------------


@contextmanager
def uv() -> Iterator[None]:
    """Skip where uv is not, or cannot be given the packages; but not in CI."""
    try:
        yield
    except NotRun as reason:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"{reason}")


def test_the_bundles_manifest_is_what_the_code_says() -> None:
    text = bundle.MANIFEST.read_text("utf-8")
    assert text == bundle.manifest_text(), "stale; renew it: make bundle"
    manifest = json.loads(text)
    variables = {name.upper(): setting for name, setting in manifest["user_config"].items()}
    assert set(variables) == set(manifest["server"]["mcp_config"]["env"])
    secret = {name for name, setting in variables.items() if setting["sensitive"]}
    assert secret == {name for name in variables if re.search(r"PASSWORD|SECRET|TOKEN", name)}
    assert all("default" in setting for setting in variables.values())


def test_mcpb_takes_the_bundle_as_valid_and_packs_the_same_files(
    built: Built, tmp_path: Path
) -> None:
    need("mcpb")
    made = bundle.write(built.wheel, tmp_path)
    packages.validate(made, tmp_path)
    manifest = packages.unpacked(made, tmp_path / "wrong") / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"uv"', '"conda"', 1), "utf-8")
    with pytest.raises(AssertionError, match=r"server\.type"):
        packages.check(manifest, tmp_path)


def test_what_is_left_empty_in_a_hosts_form_is_unset(built: Built, tmp_path: Path) -> None:
    need("mcpb")
    folder = packages.unpacked(bundle.write(built.wheel, tmp_path), tmp_path / "installed")
    with uv():
        filled = {"so_agent": "Ann", "falkordb_host": "db.example", "falkordb_port": "7000"}
        for settings in ({}, filled):
            env = packages.installed(folder, settings).env
            meant = {name.upper(): value for name, value in settings.items()}
            assert from_environment(env) == from_environment(meant)


def test_a_wheel_and_a_bundle_are_started_by_uv_and_answer(built: Built, tmp_path: Path) -> None:
    need("mcpb")
    folder = packages.unpacked(bundle.write(built.wheel, tmp_path), tmp_path / "installed")
    wheel = Path(shutil.copy(built.wheel, tmp_path))
    with uv(), desk("named store", AGENT) as made:
        made.so_mcp("grant", AGENT)
        path = {"FALKORDB_LITE_PATH": made.env["FALKORDB_LITE_PATH"]}
        servers: list[Server] = [
            packages.uvx(wheel, {**path, "SO_AGENT": AGENT}),
            packages.installed(folder, {"falkordb_lite_path": path["FALKORDB_LITE_PATH"]}),
        ]
        for server in servers:
            assert knows_of_the_parcel(server, tmp_path)
