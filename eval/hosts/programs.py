"""The hosts' own programs, given what is printed for them, exactly as printed; none asks a model.

They are looked for in the folder that ``--programs`` names (npm's ``node_modules/.bin``: claude is of
``@anthropic-ai/claude-code``, codex of ``@openai/codex``, gemini of ``@google/gemini-cli``, qwen of
``@qwen-code/qwen-code``), then on PATH. Each has a home of its own, which is gone afterwards.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eval.hosts.formats import READERS, Server
from eval.hosts.registrations import (
    AGENT,
    CALLS,
    COMMAND,
    MINIMAL_PATH,
    README_AGENT,
    desk,
    granted_blocks,
    mode_of,
    readme_blocks,
    serving,
)
from eval.hosts.trials import NotRun, Trial
from so_mcp.tools import tools_for

_SECONDS = 120
_WINDOWED = "its program has a window, and was not on this machine: its format only"


@dataclass(frozen=True)
class Session:
    """A host's program, its home, and what is to be registered there: each as it is printed."""

    program: Path
    home: Path
    env: dict[str, str]
    blocks: list[str]
    servers: list[Server]  # the same, as it is read

    def run(self, *words: str) -> str:
        """What the program prints."""
        return self.shell(shlex.join([str(self.program), *words]))

    def shell(self, line: str) -> str:
        """What a line prints in a shell that finds the program by its name."""
        done = subprocess.run(  # noqa: S602 - what is printed is for a shell
            line, shell=True, cwd=self.home, env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=_SECONDS, check=False,
        )
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
        assert done.returncode == 0, f"{line}: {said}"
        return said


@dataclass(frozen=True)
class Host:
    """A program: its name, whose registrations it takes, and how it is seen to connect."""

    title: str
    name: str
    takes: str
    tried: str
    connects: Callable[[Session], str]


def trials(programs: Path | None) -> Iterator[Trial]:
    """Each program that can be asked without a window, on stdio and over HTTP."""
    for host in HOSTS:
        try:
            program = _found(host.name, programs)
            title = f"{host.title} {_version(program)}"
        except NotRun as reason:
            yield Trial(host.title, "what is printed for it", partial(_not_run, f"{reason}"))
            continue
        yield Trial(title, host.tried, partial(_stdio, host, program))
        yield Trial(title, "this page's registration over HTTP", partial(_http, host, program))
    for title in ("Claude Desktop", "Cursor", "VS Code"):
        yield Trial(f"{title}, the program", "what is printed for it", partial(_not_run, _WINDOWED))


def _not_run(reason: str) -> str:
    raise NotRun(reason)


def _found(name: str, programs: Path | None) -> Path:
    found = shutil.which(name, path=None if programs is None else programs) or shutil.which(name)
    if found is None:
        raise NotRun(f"{name} is not on this machine")
    return Path(found).absolute()


def _version(program: Path) -> str:
    with TemporaryDirectory() as home:
        done = subprocess.run(  # noqa: S603
            [program, "--version"], env=_environment(program, Path(home)), capture_output=True,
            text=True, timeout=_SECONDS, check=False,
        )
    found = re.search(r"\d+\.\d+\.\d+\S*", done.stdout)
    if found is None:
        raise NotRun(f"{program.name} does not run here: {(done.stderr or done.stdout).strip()}")
    return found[0]


def _environment(program: Path, home: Path) -> dict[str, str]:
    node = shutil.which("node") or "/usr/bin/node"
    path = os.pathsep.join([str(program.parent), str(Path(node).parent), MINIMAL_PATH])
    return {
        "HOME": str(home), "PATH": path, "TERM": "dumb", "NO_COLOR": "1", "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


# What is registered -------------------------------------------------------------------------------


def _stdio(host: Host, program: Path) -> str:
    """All that `grant` and the README print for it, on the store that is the default in its home."""
    with desk("default store", AGENT, README_AGENT) as made:
        text = made.so_mcp("grant", AGENT)
        made.so_mcp("grant", README_AGENT)
        blocks = [block for where, block in granted_blocks(text) if where == host.takes]
        blocks += [_absolute(block) for block in _of_the_readme(host, http=False)]
        return _tried(host, program, Path(made.env["HOME"]), blocks)


def _http(host: Host, program: Path) -> str:
    """The README's, with the port of a server that serves the agent."""
    variables = {"SO_HTTP_TOKEN": secrets.token_hex(32)}
    with desk("named store", README_AGENT) as made:
        made.so_mcp("grant", README_AGENT)
        with serving({**made.env, **variables, "SO_AGENT": README_AGENT}) as url:
            blocks = [
                re.sub(r"http://127\.0\.0\.1:\d+/mcp", url, block)
                for block in _of_the_readme(host, http=True)
            ]
            return _tried(host, program, Path(made.env["HOME"]), blocks, variables)


def _of_the_readme(host: Host, *, http: bool) -> list[str]:
    return [block for where, block in readme_blocks()
            if where == host.takes and ("http://" in block) is http]


def _absolute(block: str) -> str:
    """With the absolute path of ``so-mcp``, as the README says."""
    return re.sub(r'(?<=-- )so-mcp$|(?<=")so-mcp(?=")', str(COMMAND), block)


def _tried(
    host: Host, program: Path, home: Path, blocks: list[str], variables: dict[str, str] | None = None
) -> str:
    servers = [
        server for block in blocks for server in READERS[host.takes](block, variables or {})
    ]
    assert servers, f"nothing is printed for {host.takes}"
    env = _environment(program, home) | (variables or {})
    return host.connects(Session(program, home, env, blocks, servers))


# How it is seen -----------------------------------------------------------------------------------


def _claude_code(session: Session) -> str:
    for line in session.blocks:
        session.shell(line)
    return _connected(session, session.run("mcp", "list"))


def _settings(folder: str, session: Session) -> str:
    """For hosts that have one file of settings: all servers in it."""
    servers = {name: server for block in session.blocks
               for name, server in json.loads(block)["mcpServers"].items()}
    file = session.home / folder / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return _connected(session, session.run("mcp", "list"))


def _connected(session: Session, said: str) -> str:
    """The list that the program prints has connected to each server that it names."""
    for server in session.servers:
        [line] = re.findall(rf"^.*\b{server.name}: .*$", said, re.MULTILINE) or ["it is not listed"]
        assert line.endswith(" Connected"), f"{server.name}: {line}"
    return f"{len(session.servers)} of {len(session.servers)} connected"


def _codex(session: Session) -> str:
    """Codex lists servers without connecting; its app server connects, and calls a tool."""
    for line in session.blocks:
        session.shell(line)
    with _app_server(session) as ask:
        found = {server["name"]: server["tools"] for server in ask("mcpServerStatus/list")["data"]}
        thread = ask("thread/start", cwd=str(session.home))["thread"]["id"]
        for server in session.servers:
            mode = "agent" if server.url is not None else mode_of(server)  # an agent is served there
            tool, arguments = CALLS[mode]
            served = sorted(found[server.name])
            assert served == sorted(tool.name for tool in tools_for(mode)), f"{server.name} serves {served}"
            called = ask("mcpServer/tool/call", threadId=thread, server=server.name, tool=tool,
                         arguments=arguments)
            assert "packed" in called["content"][0]["text"], called
    return f"{len(session.servers)} of {len(session.servers)} connected and called"


@contextmanager
def _app_server(session: Session) -> Iterator[Callable[..., Any]]:
    with subprocess.Popen(  # noqa: S603
        [session.program, "app-server"], cwd=session.home, env=session.env, text=True,
        encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        sent, received = process.stdin, process.stdout

        def send(**message: Any) -> None:
            sent.write(json.dumps(message) + "\n")
            sent.flush()

        def ask(method: str, **params: Any) -> Any:
            send(id=method, method=method, params=params)
            for line in received:
                message = json.loads(line)
                if message.get("id") == method:
                    assert "result" in message, message
                    return message["result"]
            raise AssertionError(f"{method}: the app server ended")

        try:
            ask("initialize", clientInfo={"name": "so-mcp", "title": "so-mcp", "version": "0"})
            send(method="initialized")
            yield ask
        finally:
            sent.close()  # it ends then, and what it started


_LISTED = "what is printed for it, as printed; its list of servers connects to each"
HOSTS = (
    Host("Claude Code", "claude", "Claude Code", _LISTED, _claude_code),
    Host("Codex", "codex", "Codex",
         "what is printed for it, as printed; its app server connects to each and calls a tool", _codex),
    Host("Gemini CLI", "gemini", "Gemini CLI", _LISTED, partial(_settings, ".gemini")),
    Host("Qwen Code", "qwen", "Gemini CLI",
         "what is printed for Gemini CLI, as printed; its list of servers connects to each",
         partial(_settings, ".qwen")),
)
