"""Every registration that ``so-mcp grant`` and the README print, started as its host starts it.

Each is read by `eval.hosts.formats` and started exactly as written, from an empty environment with
a minimal PATH; then its tools are listed and one is called.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from eval import servers
from eval.hosts.formats import READERS, Server, hosts_in
from eval.hosts.trials import Trial
from so_mcp.embedded import EmbeddedStore
from so_mcp.registration import server_name
from so_mcp.tools import Mode, tools_for

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).with_name("so-mcp")
MINIMAL_PATH = "/usr/bin:/bin"
DATABASES = ("default store", "named store", "server")
README_AGENT = "Shipping"
AGENT = 'Mary "M" O\'Neill, 李雷'  # nothing that a host puts a variable for; see so_mcp.registration
CALLS: dict[Mode, tuple[str, dict[str, Any]]] = {
    "supervisor": ("who_knows", {"entity": "parcel"}), "agent": ("my_beliefs", {}),
}
_FENCE = re.compile(r"^([^\n]*)\n\n?```(?:sh|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^(?:claude|codex) mcp add .*$", re.MULTILINE)


@dataclass(frozen=True)
class Desk:
    """A database that holds one event, and the variables that a supervisor's process needs for it."""

    env: dict[str, str]

    def so_mcp(self, *words: str, given: str = "") -> str:
        """What a command prints. Raises `RuntimeError` with what it said where it failed."""
        done = subprocess.run(  # noqa: S603 - our own command
            [COMMAND, *words], env=self.env, input=given, capture_output=True, text=True,
            encoding="utf-8", check=False,
        )
        if done.returncode:
            raise RuntimeError(f"so-mcp {words[0]}: {done.stderr}")
        return done.stdout


@contextmanager
def desk(database: str, *agents: str) -> Iterator[Desk]:
    """One of `DATABASES`, in which these agents know of a parcel."""
    with tempfile.TemporaryDirectory(prefix="so-") as home, ExitStack() as stack:
        env = {"HOME": home, "PATH": MINIMAL_PATH}
        if database == "server":
            address = stack.enter_context(servers.node()).address
            env |= {
                "FALKORDB_HOST": address.host, "FALKORDB_PORT": str(address.port),
                "FALKORDB_PASSWORD": address.password or "",
            }
        elif database == "named store":
            env["FALKORDB_LITE_PATH"] = f"{home}/a store, named"
        made = Desk(env)
        if database != "server":
            store = EmbeddedStore(_store_path(env))
            store.attach()  # so that no start of ours has to start the database
            stack.callback(store.stop)
        event = {"kind": "state", "entity": "parcel", "value": "packed", "audience": [*agents]}
        made.so_mcp("record", given=json.dumps(event))
        yield made


def _store_path(env: dict[str, str]) -> Path:
    """Where a process with these variables has its store, on any platform."""
    code = "from so_mcp.config import from_environment; print(from_environment().path)"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.rstrip("\n"))


# Reading what is printed --------------------------------------------------------------------------


def granted_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each host, and what ``so-mcp grant`` printed for it: a line for the shell, or a file."""
    for block in text.split("\n\n"):
        heading, found, body = block.partition(":\n")
        yield from ((host, body.strip()) for host in hosts_in(heading) if found)


def readme_blocks() -> Iterator[tuple[str, str]]:
    """The same of the README: of a supervisor, of an agent, and over HTTP."""
    for heading, body in _FENCE.findall((ROOT / "README.md").read_text("utf-8")):
        if lines := _LINE.findall(body):
            yield from (("Codex" if line.startswith("codex") else "Claude Code", line) for line in lines)
        else:
            yield from ((host, body) for host in hosts_in(heading))


def granted(text: str, environ: Mapping[str, str] | None = None) -> Iterator[tuple[str, Server]]:
    """Each host's registration in what ``so-mcp grant`` printed, as that host reads it.

    ``environ``: the host's own variables, and what its user answers to what it asks.
    """
    yield from _read(granted_blocks(text), environ)


def readme(environ: Mapping[str, str] | None = None) -> Iterator[tuple[str, Server]]:
    """Each host's registrations in the README, as that host reads them."""
    yield from _read(readme_blocks(), environ)


def _read(
    blocks: Iterable[tuple[str, str]], environ: Mapping[str, str] | None
) -> Iterator[tuple[str, Server]]:
    for host, block in blocks:
        for server in READERS[host](block, {} if environ is None else environ):
            yield host, server


def absolute(server: Server) -> Server:
    """With the absolute path of ``so-mcp``, as the README says for hosts with a minimal PATH."""
    program, *words = server.command
    return replace(server, command=(str(COMMAND) if program == "so-mcp" else program, *words))


# Starting it --------------------------------------------------------------------------------------


@asynccontextmanager
async def connected(server: Server, home: Path) -> AsyncIterator[Client]:
    """A client of what is started as it stands there, from an empty environment; or of its address.

    The SDK's client lets some of our own variables through, so `env -i` starts it.
    """
    if server.url is not None:
        async with (
            httpx2.AsyncClient(headers=server.headers, timeout=60) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            yield client
        return
    env = {"HOME": str(home), "PATH": MINIMAL_PATH, **server.env}
    words = ["-i", *(f"{name}={value}" for name, value in env.items()), *server.command]
    parameters = StdioServerParameters(command="/usr/bin/env", args=words, cwd=home)
    async with Client(parameters) as client:
        yield client


async def ask(server: Server, mode: Mode, home: Path) -> Any:
    """List the tools and call one; its answer. Raises `AssertionError` for anything unexpected."""
    async with connected(server, home) as client:
        served = [tool.name for tool in (await client.list_tools()).tools]
        assert served == [tool.name for tool in tools_for(mode)], f"it serves {served}"
        tool, arguments = CALLS[mode]
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content


def mode_of(server: Server) -> Mode:
    """Whom it serves."""
    return "agent" if server.env.get("SO_AGENT") else "supervisor"


def knows_of_the_parcel(server: Server, home: Path) -> bool:
    """Start it and ask; whether the answer has what `desk` recorded."""
    mode = mode_of(server)
    answer = anyio.run(ask, server, mode, home)
    if mode == "agent":
        return [belief["value"] for belief in answer["beliefs"]] == ["packed"]
    return bool(answer["truth"] == "packed")


@contextmanager
def serving(env: Mapping[str, str]) -> Iterator[str]:
    """Where ``so-mcp serve --http`` says that it listens, on a port that is free."""
    with subprocess.Popen(  # noqa: S603 - our own command
        [COMMAND, "serve", "--http", "--port", "0"], env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


# Trials -------------------------------------------------------------------------------------------


class Unasked(dict[str, str]):
    """Variables and answers for what is read only to be looked at."""

    def __missing__(self, key: str) -> str:
        return f"{key}?"


def printed(database: str, made: Desk) -> Iterator[tuple[str, Server]]:
    """What `grant` and the README print for each host, as it is started on that database.

    The README's are for the default store; its supervisor's also with a server's variables, as its
    section on configuration has it.
    """
    text = made.so_mcp("grant", AGENT)
    yield from granted(text, _answers(text))
    if database == "named store":
        return
    if database == "default store":
        made.so_mcp("grant", README_AGENT)
    for host, server in readme(Unasked()):
        if server.url is not None:
            continue
        if database == "default store":
            yield host, absolute(server)
        elif mode_of(server) == "supervisor":
            yield host, absolute(replace(server, env={**server.env, **made.env}))


def _answers(text: str) -> dict[str, str]:
    """What a user of VS Code answers: the password that is printed for the other hosts."""
    found = re.search(r"FALKORDB_PASSWORD=(\S+)", text)
    return {} if found is None else {f"{server_name(AGENT)}-password": found[1]}


def trials(_programs: Path | None) -> Iterator[Trial]:
    """For each host: all that is printed for it, on an embedded store and on a server."""
    for host in READERS:
        yield Trial(
            f"{host}, its documented format",
            "all that `grant` and this page print for it, parsed and started from an empty environment",
            partial(_tried, host),
        )


def _tried(host: str) -> str:
    known = [known for database in DATABASES for known in _started(host, database)]
    if not all(known):
        raise AssertionError(f"{known.count(True)} of {len(known)}")
    return f"{len(known)} of {len(known)}"


def _started(host: str, database: str) -> Iterator[bool]:
    with desk(database, AGENT, README_AGENT) as made:
        for where, server in printed(database, made):
            if where == host:
                yield knows_of_the_parcel(server, Path(made.env["HOME"]))
