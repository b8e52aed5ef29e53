"""The command line: without a command it serves MCP on stdio, as a host starts it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import (
    __version__,
    access_commands,
    capture_commands,
    keeping_commands,
    serve_commands,
    store_commands,
)
from .config import Config, from_environment
from .errors import SecondOrderError, message_of
from .memory import Memory, supervising
from .names import normal_name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors that are raised on purpose become one line and exit code 1."""
    options = _parser().parse_args(arguments)
    if "never_fails" in options:  # a hook: whatever is wrong with us, its host goes on
        return int(options.never_fails(options))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # names are of any script, whatever the locale
    try:
        config = from_environment()
        run: Callable[[argparse.Namespace, Config], int] = options.run
        code = run(options, config)
        sys.stdout.flush()
    except SecondOrderError as error:
        print(f"so-mcp: {message_of(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # What is left of our output must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # who reads it has enough: `so-mcp grant Ann | head -1`
            return 128 + signal.SIGPIPE
        print(f"so-mcp: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="so-mcp",
        description="SecondOrder: theory-of-mind memory for agents. Without a command: serve MCP "
        "on stdio, as supervisor, or with SO_AGENT as that agent.",
    )
    parser.add_argument("--version", action="version", version=f"so-mcp {__version__}")
    parser.set_defaults(run=serve_commands.serve_stdio)
    commands = parser.add_subparsers(metavar="command")
    serve_commands.add_commands(commands)
    _add_tools(commands)
    access_commands.add_commands(commands)
    store_commands.add_commands(commands)
    keeping_commands.add_commands(commands)
    capture_commands.add_commands(commands)
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
        config = config.asking(normal_name(options.scenario, "scenario"))
    return call(options, config)


def _memory(options: argparse.Namespace, config: Config) -> Memory:
    return supervising(config, options.scenario)


def _demo(_: argparse.Namespace, __: Config) -> int:
    from .demo import main as demo  # noqa: PLC0415 - only this command needs it

    return demo()
