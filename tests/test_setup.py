"""`.ci/setup`: finds a Python that is new enough, or says what to do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SETUP = Path(__file__).resolve().parents[1] / ".ci" / "setup"


def run_setup(folder: Path, **pythons: str) -> subprocess.CompletedProcess[str]:
    """Run it in a folder of its own, where these scripts are the only Pythons to be found."""
    (folder / ".ci").mkdir()
    shutil.copy(SETUP, folder / ".ci" / "setup")
    programs = folder / "bin"
    programs.mkdir()
    for name in ("dirname", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    for name, script in pythons.items():
        file = programs / name.replace("_", ".")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return subprocess.run(
        ["sh", str(folder / ".ci" / "setup")], env={"PATH": str(programs), "HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )


def test_without_a_new_enough_python_it_says_what_to_install(tmp_path: Path) -> None:
    stub = 'echo "pyenv: python3.12: command not found" >&2; exit 127'
    done = run_setup(tmp_path, python3_12=stub, python3="exit 1")
    assert done.returncode == 1
    assert done.stderr == (
        "Python 3.12 or newer is needed and none was found: not on PATH, not in pyenv, and uv is\n"
        "not installed (or could not fetch one). Install one, for example: pyenv install 3.12\n"
    )


def test_a_python_that_only_pyenv_knows_is_found(tmp_path: Path) -> None:
    version = tmp_path / ".pyenv" / "versions" / "3.12.9" / "bin"
    version.mkdir(parents=True)
    python = version / "python"
    python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.12.9"\n[ "$1" != -m ]\n')
    python.chmod(0o755)
    done = run_setup(tmp_path, python3="exit 1")
    assert done.stderr.startswith("Setting up .venv with Python 3.12.9 …")
