"""The wheel and the MCPB bundle, started by uv as hosts start them.

What the wheel needs comes from a folder, which pip fills once (mostly from its cache), so uv asks no
registry and keeps nothing. For the bundle it asks the registry that pip is configured for, as it
resolves for every platform; what it got is kept beside the packages of this environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eval.bundle import ROOT, built, write
from eval.hosts.formats import Server
from eval.hosts.node import FOLDER, run
from eval.hosts.node import command as node_command
from eval.hosts.node import version as node_version
from eval.hosts.registrations import AGENT, Desk, desk, knows_of_the_parcel
from eval.hosts.trials import NotRun, Trial, every

LOCK = ROOT / "requirements.lock"
# The host's own code for it: the settings of its form, put into the manifest.
_CONFIG = """
import { readFileSync } from "node:fs";
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
const [extensionPath, userConfig] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(`${extensionPath}/manifest.json`));
const systemDirs = { HOME: extensionPath };
console.log(JSON.stringify(await getMcpConfigForManifest({
  manifest, extensionPath, systemDirs, userConfig: JSON.parse(userConfig), pathSeparator: "/",
})));
"""


# uv -----------------------------------------------------------------------------------------------


def program(name: str) -> str:
    """The path of ``uv`` or ``uvx``; raises `NotRun`."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise NotRun(f"there is no {name}: pip install uv")
    return found


def environment(cache: Path | None = None) -> dict[str, str]:
    """What uv is told of this machine.

    With ``cache``, a folder of its own, it asks no registry. Raises `NotRun` where pip cannot get
    the packages.
    """
    told = {
        "UV_FIND_LINKS": str(_wheels()), "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1",
    }
    if cache is not None:
        return {**told, "UV_CACHE_DIR": str(cache), "UV_OFFLINE": "1"}
    told["UV_CACHE_DIR"] = str(Path(sys.prefix) / "uv-cache")
    names = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    for line in _pip("config", "list").splitlines():  # global.cert='/etc/…'
        key, _, value = line.partition("=")
        if name := names.get(key.rpartition(".")[2]):
            told[name] = value.strip("'")
    proxies = ("http_proxy", "https_proxy", "no_proxy")
    return told | {key: value for key, value in os.environ.items() if key.lower() in proxies}


def _pip(*words: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotRun(f"pip {words[0]}: {(done.stderr.splitlines() or ['failed'])[-1]}")
    return done.stdout


def _wheels() -> Path:
    """The folder of what a wheel of ours needs, as the lock has it; made once for each lock."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = Path(sys.prefix) / f"wheels-{digest}"
    if not folder.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        with TemporaryDirectory(dir=sys.prefix) as name:
            made = Path(name) / "wheels"
            _pip("wheel", "-q", "-w", str(made), "-c", str(LOCK), *project["dependencies"])
            with suppress(OSError):  # another process made it meanwhile
                made.rename(folder)
    return folder


# The wheel ----------------------------------------------------------------------------------------


def uvx(wheel: Path, env: Mapping[str, str]) -> Server:
    """A registration of the wheel: ``uvx --from WHEEL so-mcp``."""
    command = (program("uvx"), "--from", str(wheel), "so-mcp")
    return Server("so-mcp", command, {**environment(wheel.parent / "uv"), **env})


# The bundle ---------------------------------------------------------------------------------------


def validate(bundle: Path, home: Path) -> None:
    """Let ``mcpb`` validate the bundle's manifest, and pack what it holds as it would itself."""
    folder = unpacked(bundle, home / "validated")
    check(folder / "manifest.json", home)
    _mcpb("pack", folder, home / "packed.mcpb", home=home)
    with zipfile.ZipFile(bundle) as ours, zipfile.ZipFile(home / "packed.mcpb") as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())


def check(manifest: Path, home: Path) -> None:
    """``mcpb validate``; raises `AssertionError` with what it says."""
    _mcpb("validate", manifest, home=home)


def _mcpb(*words: str | Path, home: Path) -> None:
    done = run([*node_command("mcpb"), *map(str, words)], home)
    assert done.returncode == 0, done.stdout + done.stderr


def unpacked(bundle: Path, folder: Path) -> Path:
    """A folder that holds what the bundle does, as a host installs it."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    return folder


def installed(folder: Path, settings: Mapping[str, str]) -> Server:
    """What a host starts of an unpacked bundle, with what its user put into its form."""
    node, _ = node_command("mcpb")
    script = folder.parent / "config.mjs"  # outside of what was installed
    script.write_text(_CONFIG.replace("@anthropic-ai/mcpb", str(_library())), "utf-8")
    done = run([node, str(script), str(folder), json.dumps(settings)], folder.parent)
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    assert made["command"] == "uv"  # the host's own
    return Server("so-mcp", (program("uv"), *made["args"]), {**environment(), **made["env"]})


def _library() -> Path:
    return FOLDER / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "node.js"


# Trials -------------------------------------------------------------------------------------------


def trials(_programs: Path | None) -> Iterator[Trial]:
    """The wheel by uvx, and the bundle: validated, installed and started."""
    uv = f"uv {metadata.version('uv')}" if _has_uv() else "uv"
    yield Trial(uv, "`uvx --from WHEEL so-mcp` started, a tool called, as supervisor and agent", _uvx)
    mcpb = f"mcpb {node_version('@anthropic-ai/mcpb')}"
    yield Trial(mcpb, "the bundle validated and packed", partial(_bundle, starts=False))
    yield Trial(
        f"{mcpb}, {uv}", "the bundle unpacked, started with the settings of its form, a tool called, as "
        "supervisor and agent", partial(_bundle, starts=True),
    )


def _has_uv() -> bool:
    return any(distribution.name == "uv" for distribution in metadata.distributions())


def _uvx() -> str:
    with desk("named store", AGENT) as made, TemporaryDirectory() as folder:
        made.so_mcp("grant", AGENT)
        wheel, home = built(Path(folder)), Path(made.env["HOME"])
        return every({
            mode: partial(_knows, uvx(wheel, env), home) for mode, env in _modes(made).items()
        })


def _bundle(*, starts: bool) -> str:
    with desk("named store", AGENT) as made, TemporaryDirectory() as name:
        folder = Path(name)
        bundle, home = write(built(folder), folder), Path(made.env["HOME"])
        if not starts:
            validate(bundle, folder)
            return "valid"
        made.so_mcp("grant", AGENT)
        unpacked(bundle, folder / "installed")
        return every({
            mode: partial(_knows, installed(folder / "installed", _form(env)), home)
            for mode, env in _modes(made).items()
        })


def _modes(made: Desk) -> dict[str, dict[str, str]]:
    """The variables of a supervisor and of an agent."""
    path = {"FALKORDB_LITE_PATH": made.env["FALKORDB_LITE_PATH"]}
    return {"supervisor": path, "agent": {**path, "SO_AGENT": AGENT}}


def _form(env: Mapping[str, str]) -> dict[str, str]:
    """The same in the form of the bundle."""
    return {name.lower(): value for name, value in env.items()}


def _knows(server: Server, home: Path) -> None:
    assert knows_of_the_parcel(server, home), "it does not know what was recorded"
