"""Python's own clients as hosts: the SDK's older line, and frameworks; no model is asked.

Each is installed by uv for its trial alone, as none of them is anything this project needs.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from eval.hosts.formats import Server
from eval.hosts.packages import environment, program
from eval.hosts.registrations import (
    AGENT,
    CALLS,
    README_AGENT,
    Unasked,
    absolute,
    desk,
    granted,
    mode_of,
    readme,
)
from eval.hosts.trials import Trial, every
from so_mcp.tools import tools_for

_SECONDS = 300
# Each has `server` (command, args, env), `tool` and `arguments`, and prints the tools and the answer.
_MCP = """
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    async with (
        stdio_client(StdioServerParameters(**server)) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        tools = (await session.list_tools()).tools
        told([tool.name for tool in tools], await session.call_tool(tool, arguments))
"""
_LANGCHAIN = """
from langchain_mcp_adapters.client import MultiServerMCPClient

async def main():
    client = MultiServerMCPClient({"so": {"transport": "stdio", **server}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    told([*tools], await tools[tool].ainvoke(arguments))
"""
_OPENAI_AGENTS = """
from agents.mcp import MCPServerStdio

async def main():
    async with MCPServerStdio(params=server, client_session_timeout_seconds=60) as connected:
        tools = await connected.list_tools()
        told([tool.name for tool in tools], await connected.call_tool(tool, arguments))
"""
_AROUND = """
import asyncio, json, sys
server, tool, arguments = json.load(sys.stdin)
def told(tools, answer):
    print(json.dumps([tools, str(answer)]))
{client}
asyncio.run(main())
"""
CLIENTS = {  # by the package that is installed: what it is called, and the code
    "mcp==1.30.0": ("MCP Python SDK 1.30.0", _MCP),
    "langchain-mcp-adapters==0.3.2": ("langchain-mcp-adapters 0.3.2", _LANGCHAIN),
    "openai-agents==0.24.0": ("OpenAI Agents SDK 0.24.0", _OPENAI_AGENTS),
}


def trials(_programs: Path | None) -> Iterator[Trial]:
    """Each with a supervisor's and an agent's server."""
    for package, (who, code) in CLIENTS.items():
        yield Trial(who, "a supervisor's and an agent's server started, a tool called",
                    partial(_tried, package, code))


def _tried(package: str, code: str) -> str:
    with desk("default store", AGENT, README_AGENT) as made:
        home = Path(made.env["HOME"])
        started = dict(granted(made.so_mcp("grant", AGENT)))["Claude Desktop"]
        servers = [started, absolute(dict(readme(Unasked()))["Claude Desktop"])]
        return every({mode_of(server): partial(_asked, package, code, server, home) for server in servers})


def _asked(package: str, code: str, server: Server, home: Path) -> None:
    mode = mode_of(server)
    tool, arguments = CALLS[mode]
    command, *args = server.command
    given = [{"command": command, "args": args, "env": server.env}, tool, arguments]
    done = subprocess.run(  # noqa: S603
        [program("uv"), "run", "--no-project", "--isolated", "--with", package, "python", "-c",
         _AROUND.format(client=code)],
        input=json.dumps(given), cwd=home, capture_output=True, text=True, encoding="utf-8",
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", **environment()}, timeout=_SECONDS, check=False,
    )
    assert done.returncode == 0, done.stderr
    tools, answer = json.loads(done.stdout.splitlines()[-1])
    assert tools == [one.name for one in tools_for(mode)], tools
    assert "packed" in answer, answer
