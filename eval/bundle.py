"""The MCPB bundle, which Claude Desktop installs: ``make bundle`` writes ``dist/so-mcp-VERSION.mcpb``.

It holds the wheel, and a project of uv's that needs it: the host's uv makes the environment, with
every package at the version that was tested. What its manifest says of the tools, the version and
the settings is generated from the code and from ``server.json``; ``mcpb/manifest.json`` is stale
otherwise, which a test says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from so_mcp.tools import tools_for

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "mcpb" / "manifest.json"
ENTRY = ROOT / "mcpb" / "main.py"
_NOT_FOR_SERVING = {"SO_ACL_SECRET", "SO_HTTP_TOKEN"}  # of `so-mcp grant`, and of HTTP
_WHEN = (1980, 1, 1, 0, 0, 0)  # the same files make the same bundle


def main() -> int:
    """Write the manifest and the bundle."""
    MANIFEST.write_text(manifest_text(), "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        print(write(built(Path(folder)), ROOT / "dist").relative_to(ROOT))
    return 0


def built(folder: Path) -> Path:
    """Build this checkout's wheel there, through the sdist, so that nothing stale gets in."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "build", "--no-isolation", "-o", folder, ROOT], check=False,
        capture_output=True, text=True,
    )
    if done.returncode:
        raise RuntimeError(f"python -m build: {done.stdout}{done.stderr}")
    [wheel] = folder.glob("*.whl")
    return wheel


def write(wheel: Path, folder: Path) -> Path:
    """Make the bundle of a wheel in a folder; its path."""
    project = _project()
    folder.mkdir(exist_ok=True)
    bundle = folder / f"{project['name']}-{project['version']}.mcpb"
    files = {
        "manifest.json": manifest_text().encode(),
        "pyproject.toml": _pyproject(wheel.name).encode(),
        ENTRY.name: ENTRY.read_bytes(),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        wheel.name: wheel.read_bytes(),
    }
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, zipfile.ZIP_DEFLATED)
    return bundle


def manifest_text() -> str:
    """``mcpb/manifest.json`` as it should be: what is written there, and what is generated."""
    return json.dumps(_manifest(), indent=2, ensure_ascii=False) + "\n"


def _manifest() -> dict[str, Any]:
    written: dict[str, Any] = json.loads(MANIFEST.read_text("utf-8"))
    described = json.loads((ROOT / "server.json").read_text("utf-8"))
    variables = [
        variable for variable in described["packages"][0]["environmentVariables"]
        if variable["name"] not in _NOT_FOR_SERVING
    ]
    written["server"]["mcp_config"]["env"] = {
        variable["name"]: f"${{user_config.{variable['name'].lower()}}}" for variable in variables
    }
    return written | {
        "version": _project()["version"],
        "description": described["description"],
        "user_config": {variable["name"].lower(): _setting(variable) for variable in variables},
        "tools": [
            {"name": tool.name, "description": tool.title} for tool in tools_for("supervisor")
        ],
        "tools_generated": True,  # with SO_AGENT they are others
    }


def _setting(variable: dict[str, Any]) -> dict[str, Any]:
    """A setting of the host's form.

    Each has a default: without one, a host leaves ``${user_config…}`` itself in the variable. An
    empty variable is one that is unset.
    """
    default = variable.get("default", "")
    is_number = variable.get("format") == "number"
    return {
        "type": "number" if is_number else "string",
        "title": variable["name"], "description": variable["description"],
        "required": False, "sensitive": variable.get("isSecret", False),
        "default": int(default) if is_number else default,
    }


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _pyproject(wheel: str) -> str:
    """A project that is not installed itself; the lock's versions bind what the wheel needs."""
    project = _project()
    lock = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    pins = json.dumps([line for line in lock if line and not line.startswith("#")], indent=4)
    return f"""[project]
name = "so-mcp-bundle"
version = "{project["version"]}"
requires-python = "{project["requires-python"]}"
dependencies = ["so-mcp"]

[tool.uv]
package = false
constraint-dependencies = {pins}

[tool.uv.sources]
so-mcp = {{ path = "{wheel}" }}
"""


if __name__ == "__main__":
    sys.exit(main())
