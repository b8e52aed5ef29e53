"""The command line: without a command it serves MCP on stdio, as a host starts it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from . import __version__
from .config import Config, from_environment
from .embedded import EmbeddedStore
from .errors import InvalidInputError, SecondOrderError, message_of
from .memory import Memory
from .names import normal_name
from .registration import registrations


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors that are raised on purpose become one line and exit code 1."""
    options = _parser().parse_args(arguments)
    try:
        config = from_environment()
        run: Callable[[argparse.Namespace, Config], int] = options.run
        return run(options, config)
    except SecondOrderError as error:
        print(f"so-mcp: {message_of(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="so-mcp",
        description="SecondOrder: theory-of-mind memory for agents. Without a command: serve MCP "
        "on stdio, as supervisor, or with SO_AGENT as that agent.",
    )
    parser.add_argument("--version", action="version", version=f"so-mcp {__version__}")
    parser.set_defaults(run=_serve)
    commands = parser.add_subparsers(metavar="command")
    _add_tools(commands)
    grant = commands.add_parser("grant", help="give an agent a login and print how to register it")
    grant.add_argument("agent", help="its name, exactly as events name it")
    grant.add_argument("--scenario", help="default: SO_SCENARIO, else support")
    grant.set_defaults(run=_grant)
    stop = commands.add_parser("stop", help="stop the embedded database")
    stop.set_defaults(run=_stop)
    verify = commands.add_parser("verify", help="compare every mind with a replay of the log")
    verify.add_argument("--scenario", help="default: SO_SCENARIO, else support")
    verify.set_defaults(run=_verify)
    demo = commands.add_parser("demo", help="play the support story and print who believes what")
    demo.set_defaults(run=_demo)
    return parser


def _add_tools(commands: Any) -> None:
    record = commands.add_parser(
        "record",
        help="record events from standard input",
        description="Record the events that standard input holds, as JSON (one event, or a list) "
        "or one on each line, and print the answer as JSON. All or none of a wrong batch.",
    )
    record.add_argument("--dry-run", action="store_true", help="say what it would change, only")
    record.set_defaults(run=_record)
    call = commands.add_parser(
        "call",
        help="call a tool and print its answer as JSON",
        description="Call any tool of the server (with SO_AGENT: of that agent) and print its "
        "answer as JSON.",
        epilog="A value is JSON where it parses as JSON and the argument takes that, else text; "
        "repeat a key to give a list: so-mcp call believes chain=Billing chain=Maya "
        "entity=refund_4411",
    )
    call.add_argument("tool", help="its name")
    call.add_argument("arguments", nargs="*", metavar="key=value", help="its arguments")
    call.set_defaults(run=_call)
    for command in (record, call):
        command.add_argument("--text", action="store_true", help="print the compact text instead")
        command.add_argument("--scenario", help="default: SO_SCENARIO, else support")


def _record(options: argparse.Namespace, config: Config) -> int:
    from .commands import record  # noqa: PLC0415 - the tools take a moment to import

    return record(options, _memory(options, config))


def _call(options: argparse.Namespace, config: Config) -> int:
    from .commands import call  # noqa: PLC0415 - the tools take a moment to import

    if options.scenario:
        config = replace(config, scenario=normal_name(options.scenario, "scenario"))
    return call(options, config)


def _serve(_: argparse.Namespace, config: Config) -> int:
    from .calls import source_of  # noqa: PLC0415 - the tools take a moment to import
    from .server import build_server  # noqa: PLC0415 - most of a second to import

    source = source_of(config)

    def leave(number: int, _frame: FrameType | None) -> None:
        # Reading stdin cannot be interrupted, so the process ends here; what is being recorded
        # is one transaction of the database and is there whole or not at all.
        source.close()
        os._exit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    build_server(source).run("stdio")
    return 0


def _memory(options: argparse.Namespace, config: Config) -> Memory:
    if config.agent is not None:
        raise InvalidInputError(
            "SO_AGENT is set, so this process is that agent and can only read its own mind. "
            "Unset it to supervise."
        )
    scenario = options.scenario or config.scenario
    if config.server is None:
        return Memory(scenario, path=config.path)
    server = config.server
    return Memory(
        scenario, host=server.host, port=server.port,
        username=server.username, password=server.password,
    )


def _grant(options: argparse.Namespace, config: Config) -> int:
    agent = normal_name(options.agent, "agent")
    with _memory(options, config) as memory:
        granted = memory.grant(agent)
        agent, known = granted.agent, granted.agent in memory.agents()
    print(registrations(granted, config))
    if not known:
        print(
            f"\nNote: no event of scenario '{granted.scenario}' has named '{agent}' yet. Names are "
            "case-sensitive; its mind is empty until an event reaches it."
        )
    return 0


def _stop(_: argparse.Namespace, config: Config) -> int:
    stopped = EmbeddedStore(config.path).stop()
    print("Stopped." if stopped else f"No database is running at {config.path}.")
    return 0


def _verify(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        differences = memory.verify()
    for difference in differences:
        print(f"{difference.agent}: {difference.what}: {difference.belief}")
    if not differences:
        print("Every mind equals a replay of the log.")
    return 1 if differences else 0


def _demo(_: argparse.Namespace, __: Config) -> int:
    from .demo import main as demo  # noqa: PLC0415 - only this command needs it

    return demo()
