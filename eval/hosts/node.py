"""The checkers that are npm packages: how each is started, if it is installed."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path

from eval.hosts.trials import NotRun

FOLDER = Path(__file__).resolve().parents[2] / "third_party" / "node"
_OLDEST = 22  # what the checkers ask for


def command(name: str) -> list[str]:
    """The words that start ``mcp-inspector``, ``conformance`` or ``mcpb``; raises `NotRun`."""
    program = FOLDER / "node_modules" / ".bin" / name
    if not program.exists():
        raise NotRun(f"{name} is not installed; where npm is: make checkers")
    return [_node(), str(program.resolve())]


def version(package: str) -> str:
    """Which one it is, as ``package.json`` pins it."""
    pinned: str = json.loads((FOLDER / "package.json").read_text("utf-8"))["dependencies"][package]
    return pinned


def run(words: list[str], home: Path, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Run one to its end, with ``home`` to keep its files in."""
    return subprocess.run(  # noqa: S603 - our own words
        words, cwd=home, env={
            "PATH": os.defpath, "HOME": str(home), "NO_COLOR": "1",
            "NODE_COMPILE_CACHE": str(home / "compiled"),  # a fifth less of processor time
        },
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False,
    )


@functools.cache
def _node() -> str:
    """The node that was installed with them, or the one on PATH where none is made for this machine."""
    for found in (FOLDER / "node_modules" / ".bin" / "node", shutil.which("node")):
        if found is None:
            continue
        try:
            told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)  # noqa: S603
        except (OSError, subprocess.CalledProcessError):
            continue
        if int(told.stdout.removeprefix("v").split(".")[0]) >= _OLDEST:
            return str(found)
    raise NotRun(f"there is no node of version {_OLDEST} or newer")
