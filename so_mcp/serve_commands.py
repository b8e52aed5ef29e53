"""Serving MCP: on stdio, as a host starts it, or with ``so-mcp serve --http`` on a port."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Config, log_level
from .errors import InvalidInputError
from .listening import (
    MAKE_TOKEN,
    check_names,
    given_token,
    is_loopback,
    listening,
    url_of,
)

if TYPE_CHECKING:
    from .leaving import Leaving

HOST, PORT, RATE = "127.0.0.1", 8000, 100.0
QUIET = "warning"
_HIGHEST_PORT = 65_535


def add_commands(commands: Any) -> None:
    """Add ``serve``."""
    command = commands.add_parser(
        "serve",
        help="serve MCP on stdio (as without a command), or over HTTP",
        description="Serve MCP, as supervisor or with SO_AGENT as that agent: on stdio, as without "
        "a command, or with --http at http://HOST:PORT/mcp. Clients present a token, which is in "
        "--token-file or SO_HTTP_TOKEN; on a terminal one is made and shown where there is none.",
    )
    command.add_argument("--http", action="store_true", help="over HTTP (streamable) instead")
    command.add_argument("--host", help=f"where to listen (default {HOST}); beyond this machine "
                         "only with a token that is given")
    command.add_argument("--port", type=int, help=f"default {PORT}; 0 is any that is free")
    command.add_argument("--token-file", type=Path, metavar="FILE",
                         help="holds the token, for its owner alone (mode 0600)")
    command.add_argument("--allow-host", action="append", metavar="NAME",
                         help="a further name by which clients reach it; may be repeated")
    command.add_argument("--rate", type=float, metavar="N",
                         help=f"requests a second from each client (default {RATE:.0f}), twice as "
                         "many at once")
    command.set_defaults(run=_serve)


def serve_stdio(_: argparse.Namespace, config: Config) -> int:
    """Serve until standard input ends, or a signal comes."""
    leaving = _begin()

    from .calls import source_of  # noqa: PLC0415 - the tools take a moment to import
    from .diagnostics import end  # noqa: PLC0415
    from .server import build_server  # noqa: PLC0415 - most of a second to import
    from .stdio import run  # noqa: PLC0415

    source = source_of(config)
    leaving.closing(source)
    server = build_server(source)
    _started(config, "stdio")
    if run(server):
        end("standard input ended")
    else:
        end("standard output is closed")
        os._exit(0)  # whatever still waits for a line
    return 0


def _serve(options: argparse.Namespace, config: Config) -> int:
    if options.http:
        return _serve_http(options, config)
    for name in ("host", "port", "token_file", "allow_host", "rate"):
        if getattr(options, name) is not None:
            raise InvalidInputError(
                f"serve: --{name.replace('_', '-')} is for serving over HTTP. Add --http, or leave "
                "it out."
            )
    return serve_stdio(options, config)


def _serve_http(options: argparse.Namespace, config: Config) -> int:
    host, rate = options.host or HOST, RATE if options.rate is None else options.rate
    port = PORT if options.port is None else options.port
    if not 0 <= port <= _HIGHEST_PORT:
        raise InvalidInputError(f"--port: expected 0 to {_HIGHEST_PORT}, got {port}.")
    if not 0.01 <= rate <= 1_000_000:  # NaN is neither
        raise InvalidInputError(f"--rate: expected 0.01 to 1000000 a second, got {rate}.")
    names = options.allow_host or []
    check_names(names)
    token = given_token(options.token_file)
    with listening(host, port) as listener:
        made = _made_token(local=is_loopback(listener)) if token is None else None
        leaving = _begin()

        from .calls import source_of  # noqa: PLC0415 - the tools take a moment to import
        from .http import serve  # noqa: PLC0415 - most of a second to import
        from .server import build_server  # noqa: PLC0415

        source = source_of(config)
        leaving.closing(source)
        server = build_server(source)
        _started(config, url_of(listener))
        print(f"{server.title}, at {url_of(listener)}")
        if made:
            print(f"Token, shown only here, until this ends: {made}")
        sys.stdout.flush()
        serve(server, listener, token or made or "", names=[*names, *_name(host)], rate=rate)
    return 0


def _begin() -> Leaving:
    """From here on this process is a server: what it says is structured, and a signal ends it."""
    from .diagnostics import start  # noqa: PLC0415 - hooks import this module, and must be quick
    from .leaving import Leaving  # noqa: PLC0415

    start(log_level() or QUIET)
    return Leaving()


def _started(config: Config, where: str) -> None:
    """Say so to who looks; and of a supervisor, have what hooks left meanwhile recorded."""
    from . import __version__  # noqa: PLC0415
    from .diagnostics import note, place_of  # noqa: PLC0415

    note(
        "start", version=__version__, mode="supervisor" if config.agent is None else "agent",
        agent=config.agent, scenarios=[*config.scenarios],
        store=place_of(config.server or config.path), at=where,
    )
    if config.agent is None:
        threading.Thread(target=_drain, args=(config,), daemon=True).start()


def _drain(config: Config) -> None:
    """Start a process for what waits in the spool, if anything does; serving goes on whatever comes."""
    from .capture.spool import Spool  # noqa: PLC0415
    from .diagnostics import note  # noqa: PLC0415

    with contextlib.suppress(OSError, RuntimeError):  # no folder of ours, no home
        spool = Spool.of(config)
        waiting = len(spool.waiting())
        if waiting and (draining := spool.start_draining()) is not None:
            note("spool", waiting=waiting)
            draining.wait()


def _name(host: str) -> list[str]:
    """What is listened at, where that is a name: clients reach it by that too."""
    return [host] if any(char.isalpha() for char in host) and ":" not in host else []


def _made_token(*, local: bool) -> str:
    """A token for this run, where the one who started it is there to read it."""
    how = (
        "put one in a file of mode 0600 and name it with --token-file, or set SO_HTTP_TOKEN. Make "
        f"one: {MAKE_TOKEN}"
    )
    if not local:
        raise InvalidInputError(f"--host: others can connect there, so a token has to be given: {how}")
    if not sys.stdout.isatty():
        raise InvalidInputError(
            "serve --http: there is no token, and no terminal to show a new one on (a log would "
            f"keep it): {how}"
        )
    return secrets.token_hex(32)
