"""What hosts read to start a server, or to reach one: each format as its host documents it.

A field that is not documented is refused, whatever the host itself does with it. What a host puts
in place of variables is put there too. The sources are named with each; they were read in November
2026, and `eval.hosts.programs` tries some of the hosts themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Variables = Mapping[str, str]  # of the host's own process
Expand = Callable[[str], str]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]  # what all of these hosts take


@dataclass(frozen=True)
class Server:
    """What a host starts, with these variables; or the address it connects to, with these headers."""

    name: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Stdio(_Strict):
    """A server that the host starts."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}

    def server(self, name: str, expand: Expand) -> Server:
        """As it is started."""
        env = {key: expand(value) for key, value in self.env.items()}
        return Server(name, tuple(expand(word) for word in (self.command, *self.args)), env)


class _Http(_Strict):
    """A server that is there already."""

    url: str
    headers: dict[str, str] = {}

    def server(self, name: str, expand: Expand) -> Server:
        """As it is asked."""
        headers = {key: expand(value) for key, value in self.headers.items()}
        return Server(name, url=expand(self.url), headers=headers)


# Claude Code --------------------------------------------------------------------------------------


def claude_code(text: str, environ: Variables) -> Iterator[Server]:
    """Read a line for the shell: ``claude mcp add [options] <name> <commandOrUrl> [args...]``.

    Source: code.claude.com/docs/en/mcp and ``claude mcp add --help``. ``-e`` and ``-H`` take several
    values, up to the next option or ``--``, which has to stand before a command with options.
    ``${NAME}`` and ``${NAME:-default}`` are put in when a server is started.
    """
    parser = _parser("claude mcp add")
    parser.add_argument("-e", "--env", nargs="+", action="extend", default=[])
    parser.add_argument("-H", "--header", nargs="+", action="extend", default=[])
    parser.add_argument("-s", "--scope", choices=["local", "user", "project"])
    parser.add_argument("-t", "--transport", choices=["stdio", "http", "sse"], default="stdio")
    options, command = _words(parser, text)
    expand = _expansion(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}", environ)
    if options.transport == "http":
        [url] = options.rest
        headers = dict(_pair(header, r"([\w-]+): *(.+)") for header in options.header)
        made = ClaudeCodeHttp(type="http", url=url, headers=headers)
        yield made.server(options.name, expand)
    else:
        assert options.rest == [], f"before --: {options.rest}"
        yield _Stdio(command=command[0], args=command[1:], env=_env(options.env)).server(
            options.name, expand
        )


class ClaudeCodeStdio(_Stdio):
    """A server of ``.mcp.json`` and ``claude --mcp-config FILE``; stdio where there is no type."""

    type: Literal["stdio"] = "stdio"


class ClaudeCodeHttp(_Http):
    """The same, by its address."""

    type: Literal["http"]


class ClaudeCode(_Strict):
    """``.mcp.json`` and ``claude --mcp-config FILE``. Source: code.claude.com/docs/en/mcp."""

    mcpServers: dict[Name, ClaudeCodeStdio | ClaudeCodeHttp]  # noqa: N815 - the host's name for it


def claude_code_file(text: str, environ: Variables) -> Iterator[Server]:
    """Read such a file."""
    expand = _expansion(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}", environ)
    for name, server in ClaudeCode.model_validate(json.loads(text)).mcpServers.items():
        yield server.server(name, expand)


# Codex --------------------------------------------------------------------------------------------


def codex(text: str, environ: Variables) -> Iterator[Server]:
    """Read a line for the shell: ``codex mcp add [options] <name> (--url <url> | -- <command>...)``.

    Source: developers.openai.com/codex/mcp and ``codex mcp add --help``. A token is never given
    itself, but the variable of Codex's own process that holds it. Nothing else is put in.
    """
    parser = _parser("codex mcp add")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--url")
    parser.add_argument("--bearer-token-env-var")
    options, command = _words(parser, text)
    assert options.rest == [], f"before --: {options.rest}"
    if options.url is None:
        yield _Stdio(command=command[0], args=command[1:], env=_env(options.env)).server(
            options.name, str
        )
        return
    token = options.bearer_token_env_var
    headers = {} if token is None else {"Authorization": f"Bearer {environ[token]}"}
    yield _Http(url=options.url, headers=headers).server(options.name, str)


# Claude Desktop, Cursor, Gemini CLI ---------------------------------------------------------------


class ClaudeDesktop(_Strict):
    """``claude_desktop_config.json``. Source: modelcontextprotocol.io/docs/develop/connect-local-servers.

    It starts servers only; what is reached over HTTP is added in its settings, as a connector.
    """

    mcpServers: dict[Name, _Stdio]  # noqa: N815


def claude_desktop(text: str, _environ: Variables) -> Iterator[Server]:
    """Read that file, in which nothing is put in place of anything."""
    for name, server in ClaudeDesktop.model_validate(json.loads(text)).mcpServers.items():
        yield server.server(name, str)


class CursorStdio(_Stdio):
    """A server that Cursor starts."""

    type: Literal["stdio"] = "stdio"
    envFile: str | None = None  # noqa: N815


class Cursor(_Strict):
    """``.cursor/mcp.json``. Source: cursor.com/docs/mcp."""

    mcpServers: dict[Name, CursorStdio | _Http]  # noqa: N815


def cursor(text: str, environ: Variables) -> Iterator[Server]:
    """Read that file; ``${env:NAME}`` and Cursor's own folders are put in."""
    expand = _expansion(r"\$\{env:(?P<name>\w+)\}", environ)
    for name, server in Cursor.model_validate(json.loads(text)).mcpServers.items():
        yield server.server(name, expand)


class GeminiStdio(_Stdio):
    """A server that Gemini CLI starts."""

    cwd: str | None = None
    timeout: int | None = None
    trust: bool = False
    includeTools: list[str] = []  # noqa: N815
    excludeTools: list[str] = []  # noqa: N815


class GeminiHttp(_Strict):
    """A server that Gemini CLI asks; its ``url`` alone would be one of the older protocol, SSE."""

    httpUrl: str  # noqa: N815
    headers: dict[str, str] = {}
    timeout: int | None = None
    trust: bool = False

    def server(self, name: str, expand: Expand) -> Server:
        """As it is asked."""
        return _Http(url=self.httpUrl, headers=self.headers).server(name, expand)


class Gemini(_Strict):
    """``mcpServers`` in ``.gemini/settings.json``. Source: geminicli.com/docs/tools/mcp-server."""

    mcpServers: dict[Name, GeminiStdio | GeminiHttp]  # noqa: N815


def gemini(text: str, environ: Variables) -> Iterator[Server]:
    """Read that file; ``$NAME`` and ``${NAME}`` are put in."""
    expand = _expansion(r"\$(?:(?P<name>\w+)|\{(?P<braced>\w+)\})", environ)
    for name, server in Gemini.model_validate(json.loads(text)).mcpServers.items():
        yield server.server(name, expand)


# VS Code ------------------------------------------------------------------------------------------


class VSCodeStdio(_Stdio):
    """A server that VS Code starts."""

    type: Literal["stdio"]
    envFile: str | None = None  # noqa: N815


class VSCodeHttp(_Http):
    """A server that VS Code asks."""

    type: Literal["http", "sse"]


class VSCodeInput(_Strict):
    """What VS Code asks its user once and keeps."""

    type: Literal["promptString"]
    id: str
    description: str
    password: bool = False
    default: str | None = None


class VSCode(_Strict):
    """``.vscode/mcp.json``. Source: code.visualstudio.com/docs/agents/reference/mcp-configuration."""

    servers: dict[Name, VSCodeStdio | VSCodeHttp]
    inputs: list[VSCodeInput] = []


def vscode(text: str, environ: Variables) -> Iterator[Server]:
    """Read that file; ``environ`` has the user's answers too, by the id of what was asked."""
    read = VSCode.model_validate(json.loads(text))
    asked = {one.id: environ[one.id] for one in read.inputs}
    assert len(asked) == len(read.inputs), "two inputs of one id"
    answer = _expansion(r"\$\{input:(?P<name>[^}]+)\}", asked)
    variable = _expansion(r"\$\{env:(?P<name>\w+)\}", environ)
    for name, server in read.servers.items():
        made = server.server(name, lambda value: variable(answer(value)))
        assert "${input:" not in f"{made}", "an input that is not asked"
        yield made


Reader = Callable[[str, Variables], Iterator[Server]]
READERS: dict[str, Reader] = {
    "Claude Code": claude_code,
    "Codex": codex,
    "Claude Desktop": claude_desktop,
    "Cursor": cursor,
    "Gemini CLI": gemini,
    "VS Code": vscode,
}


def hosts_in(heading: str) -> list[str]:
    """The hosts that a heading names."""
    return [host for host in READERS if host in heading]


# Reading ------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise ValueError(f"{self.prog}: {message}")


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, allow_abbrev=False, add_help=False)
    parser.add_argument("name")
    parser.add_argument("rest", nargs="*")
    return parser


def _words(parser: argparse.ArgumentParser, text: str) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the command after ``--``; the words are those of a shell."""
    program = shlex.split(parser.prog)
    words = shlex.split(text)
    assert words[: len(program)] == program, text
    words = words[len(program) :]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    _pair(options.name, r"([A-Za-z0-9_-]+)()")
    return options, words[split + 1 :]


def _env(pairs: Sequence[str]) -> dict[str, str]:
    return dict(_pair(pair, r"([A-Za-z_]\w*)=(.*)") for pair in pairs)


def _pair(text: str, pattern: str) -> tuple[str, str]:
    found = re.fullmatch(pattern, text, re.DOTALL)
    assert found is not None, f"{text!r} is not of the form {pattern}"
    return found[1], found[2]


def _expansion(pattern: str, variables: Variables) -> Expand:
    """Put variables in as a host does; what is not set and has no default stays as it is."""

    def put_in(found: re.Match[str]) -> str:
        groups = found.groupdict()
        name = groups["name"] or groups.get("braced") or ""
        default = groups.get("default")
        return variables.get(name, found[0] if default is None else default)

    return lambda text: re.sub(pattern, put_in, text)
