"""Where the tests run, and that what is left out on a server is left out for a reason read by somebody."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ALL = None
# Of each module: all of its tests, or so many, name the databases that they run on. Who adds one has
# seen why it cannot ask for `own_store` instead.
TIED = {
    "test_backup": ALL, "test_capture": 2, "test_capture_claude_code": 2, "test_cli": 1, "test_demo": ALL,
    "test_doctor": ALL, "test_durability": ALL, "test_embedded": ALL, "test_faults": ALL, "test_grants": 4,
    "test_http": 1, "test_isolation": 3, "test_keeping": 2, "test_library": 1, "test_life": ALL,
    "test_readme": ALL, "test_round_trips": 1, "test_security_page": 4, "test_vocabulary": 2,
}
# Others that open an embedded database without a fixture, and what they are about.
UNASKED = {
    "test_conformance": "the protocol, before a checker", "test_deploy": "what images and services name",
    "test_hosts": "registrations, as hosts start them", "test_packaging": "what is installed",
    "test_server": "a folder that cannot be one", "test_trials": "the checkers' own frame",
    "test_wire": "a folder that cannot be one",
}


def why_tied(file: Path) -> list[tuple[ast.AST, str]]:
    """Whatever in a module names the databases that it runs on, a test or an assignment, and why."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = node.decorator_list
        elif isinstance(node, ast.Assign):
            marks = [node.value]
        else:
            continue
        for call in (part for mark in marks for part in ast.walk(mark)):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.runs_on":
                [why] = [given.value for given in call.keywords if given.arg == "why"]
                found.append((node, ast.literal_eval(why)))
    return found


def test_no_more_is_tied_to_one_database_than_somebody_has_looked_at() -> None:
    found = {}
    for file in sorted(TESTS.glob("test_*.py")):
        if tied := why_tied(file):
            assert all(len(why.split()) > 3 for _, why in tied), f"{file.name}: {tied}"
            found[file.stem] = ALL if any(isinstance(of, ast.Assign) for of, _ in tied) else len(tied)
    assert found == TIED, "ask for `own_store`, or add it to TIED with the others"


def test_no_module_goes_past_the_fixtures_to_an_embedded_database_unseen() -> None:
    opens = re.compile(r"EmbeddedStore\(|Memory\([^)]*path=|FALKORDB_LITE_PATH|told_store")
    here = Path(__file__).stem
    found = {file.stem for file in TESTS.glob("test_*.py") if opens.search(file.read_text("utf-8"))}
    assert found - TIED.keys() - {here} == UNASKED.keys()


TRIED = """
import pytest
from so_mcp.config import ServerAddress

def test_of_no_database():
    pass

def test_of_any(memory, own_store):
    for store in (memory.store, own_store):
        print("ran on", "a server" if isinstance(store, ServerAddress) else "an embedded store")

@pytest.mark.runs_on("embedded", why="it is about a folder")
def test_of_one(store_path):
    assert not store_path.exists()

@pytest.mark.runs_on("embedded", "cluster", why="it is too much for one")
def test_of_two(memory):
    pass
"""


def run(folder: Path, *options: str, text: str = TRIED) -> subprocess.CompletedProcess[str]:
    (folder / "test_tried.py").write_text(text, "utf-8")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "-p", "conftest",
         "--rootdir", folder, *options, folder],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"},
    )


def test_embedded_is_the_default_and_all_that_names_it_or_none_runs(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert "4 passed" in done.stdout, done.stdout
    assert done.stdout.count("ran on an embedded store") == 2
    assert "left out" not in done.stdout


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_on_a_server_runs_what_asks_for_a_database_and_the_rest_is_counted_with_its_reason(
    tmp_path: Path, workers: list[str]
) -> None:
    done = run(tmp_path, "--database", "server", *workers)
    assert "1 passed" in done.stdout, done.stdout
    assert workers or done.stdout.count("ran on a server") == 2
    for why in ("they need no database", "it is about a folder", "it is too much for one"):
        assert f"    1  {why}" in done.stdout


def test_a_folder_may_not_be_asked_for_without_saying_why(tmp_path: Path) -> None:
    done = run(tmp_path, text="def test_silent(store_path): ...")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_silent asks for `store_path`" in done.stderr


def test_without_a_tls_proxy_a_run_on_a_server_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(tmp_path, "--database", "server")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "apt-get install stunnel4" in done.stderr
