"""The command line: without a command it serves MCP on stdio, as a host starts it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from . import (
    __version__,
    access_commands,
    capture_commands,
    keeping_commands,
    serve_commands,
    store_commands,
)
from .config import Config, from_environment, log_level
from .errors import SecondOrderError, message_of
from .names import normal_name


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; errors that are raised on purpose become one line and exit code 1."""
    options = _parser().parse_args(arguments)
    if "never_fails" in options:  # a hook: whatever is wrong with us, its host goes on
        return int(options.never_fails(options))
    _end_orderly()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # names are of any script, whatever the locale
    level = None
    try:
        config = from_environment()
        level = log_level()
        if level is not None:
            from .diagnostics import start  # noqa: PLC0415 - only where it is wanted

            start(level)
        run: Callable[[argparse.Namespace, Config], int] = options.run
        code = run(options, config)
        sys.stdout.flush()
    except SecondOrderError as error:
        _refuse(message_of(error), structured=level is not None)
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # What is left of our output must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # who reads it has enough: `so-mcp grant Ann | head -1`
            return 128 + signal.SIGPIPE
        _refuse(str(error), structured=level is not None)
        return 1
    return code


def _end_orderly() -> None:
    """End at SIGTERM and SIGHUP as at Ctrl-C: what is open is closed, half a file is removed."""

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            # Windows has no SIGHUP; nohup ignores it.
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, leave)


def _refuse(why: str, *, structured: bool) -> None:
    """Say why nothing was done: to a person, or as all that is logged is said."""
    if structured:
        from .diagnostics import end  # noqa: PLC0415

        end(why, failed=True)
    else:
        print(f"so-mcp: {why}", file=sys.stderr)


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
    from .memory import supervising  # noqa: PLC0415

    return record(options, supervising(config, options.scenario))


def _call(options: argparse.Namespace, config: Config) -> int:
    from .commands import call  # noqa: PLC0415 - the tools take a moment to import

    if options.scenario:
        config = config.asking(normal_name(options.scenario, "scenario"))
    return call(options, config)


def _demo(_: argparse.Namespace, __: Config) -> int:
    from .demo import main as demo  # noqa: PLC0415 - only this command needs it

    return demo()
