"""The command line: without a command it serves MCP on stdio, as a host starts it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from . import __version__
from .config import Config, from_environment
from .embedded import EmbeddedStore
from .errors import InvalidInputError, SecondOrderError
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
        print(f"so-mcp: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="so-mcp",
        description="SecondOrder: theory-of-mind memory for agents. Without a command: serve MCP "
        "on stdio, as supervisor, or with SO_AGENT as that agent.",
    )
    parser.add_argument("--version", action="version", version=f"so-mcp {__version__}")
    parser.set_defaults(run=_serve)
    commands = parser.add_subparsers(metavar="command")
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


def _serve(_: argparse.Namespace, config: Config) -> int:
    from .server import build_server, source_of  # noqa: PLC0415 - most of a second to import

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
        known = agent in memory.agents()
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
