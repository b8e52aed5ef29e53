"""What to paste into each host so that an agent's server starts there.

Hosts start servers with a small environment and a minimal PATH, so the command is absolute and
everything the server needs is in ``env``.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from pathlib import Path
from typing import Any

from .config import DEFAULT_SCENARIO, Config, store_path
from .grants import Grant
from .names import name_digest

_PASSWORD = "FALKORDB_PASSWORD"  # noqa: S105 - the variable's name


def command() -> str:
    """The absolute path of ``so-mcp`` in the environment that runs this."""
    beside = Path(sys.executable).parent / "so-mcp"
    return str(beside) if beside.exists() else "so-mcp"


def server_name(agent: str) -> str:
    """A name for the host's list, in letters, digits and hyphens.

    Two agents share one only when their names differ in nothing but case.
    """
    plain = unicodedata.normalize("NFKD", agent.casefold())
    name = re.sub(r"[^a-z0-9]+", "-", plain.encode("ascii", "ignore").decode()).strip("-")
    if name == agent.casefold():
        return name
    return f"{name or 'agent'}-{name_digest(agent)[:6]}"


def environment(agent: str | None, scenario: str, config: Config) -> dict[str, str]:
    """The variables that a registration needs, without the password."""
    env = {} if agent is None else {"SO_AGENT": agent}
    if scenario != DEFAULT_SCENARIO:
        env["SO_SCENARIO"] = scenario
    if config.server is not None:
        env["FALKORDB_HOST"] = config.server.host
        env["FALKORDB_PORT"] = str(config.server.port)
    elif config.path != store_path():
        env["FALKORDB_LITE_PATH"] = os.fspath(config.path)
    return env


def registrations(granted: Grant, config: Config) -> str:
    """The text that ``so-mcp grant`` prints: one block a host."""
    env = environment(granted.agent, granted.scenario, config)
    if granted.password is not None:
        env[_PASSWORD] = granted.password
    name = server_name(granted.agent)
    pairs = " ".join(f"-e {shlex.quote(f'{key}={value}')}" for key, value in env.items())
    claude_code = f"claude mcp add {name} {pairs} -- {shlex.quote(command())}"
    entry = {"command": command(), "args": [], "env": env}
    desktop = {"mcpServers": {name: entry}}
    vscode = _vscode(name, entry, secret=granted.password is not None)
    kept = (
        "Its password is shown only here; keep it."
        if granted.password is not None
        else "Its password is in a private file of the store; nothing secret is printed."
    )
    return "\n".join(
        [
            (
                f"{granted.agent} can now read its own mind in scenario '{granted.scenario}', and "
                f"nothing else. {kept}"
            ),
            *(
                []
                if granted.lasting
                else ["The server keeps no aclfile: this login lasts until it is restarted."]
            ),
            "",
            "Claude Code:",
            f"  {claude_code}",
            "",
            "Claude Desktop (claude_desktop_config.json) and Cursor (.cursor/mcp.json):",
            json.dumps(desktop, indent=2, ensure_ascii=False),
            "",
            "VS Code (.vscode/mcp.json):",
            json.dumps(vscode, indent=2, ensure_ascii=False),
        ]
    )


def _vscode(name: str, entry: dict[str, Any], *, secret: bool) -> dict[str, Any]:
    """VS Code asks for secrets once and keeps them; they do not stand in the file."""
    server = {"type": "stdio", **entry, "env": dict(entry["env"])}
    if not secret:
        return {"servers": {name: server}}
    server["env"][_PASSWORD] = "${input:falkordb-password}"
    asked = {
        "id": "falkordb-password",
        "type": "promptString",
        "description": f"Password of {name} on FalkorDB",
        "password": True,
    }
    return {"inputs": [asked], "servers": {name: server}}
