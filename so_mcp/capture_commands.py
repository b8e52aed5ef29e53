"""`so-mcp hook`: what a host calls when something happens, and how it is told to.

Whatever goes wrong in ``so-mcp hook claude-code``, the host goes on: it ends within a second, with
exit code 0, and writes nothing to standard output, which the host would read as an instruction.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .capture.callers import Callers
from .capture.claude_code import People, events_of
from .capture.spool import Spool
from .config import Config, from_environment
from .names import normal_name

_SECONDS = 1.0
# Not for the repository: there are paths of this machine in it.
_SETTINGS = Path(".claude/settings.local.json")


def add_commands(commands: Any) -> None:
    """Add them to the command line."""
    hook = commands.add_parser(
        "hook",
        help="record what happens in a host, from its own hooks",
        description="Record what happens in a host, from its own hooks. Put them there with: "
        "so-mcp hook install claude-code",
    ).add_subparsers(metavar="command", required=True)
    heard = hook.add_parser(
        "claude-code",
        help="what Claude Code calls, with a hook's JSON on standard input",
        description="What Claude Code calls, with a hook's JSON on standard input. It never fails "
        "and prints nothing; what went wrong is in the spool's capture.log.",
    )
    heard.set_defaults(never_fails=_claude_code)
    install = hook.add_parser(
        "install",
        help="print a host's settings, or put them in place",
        description="Print the settings that make a host call the hooks; with --write, merge them "
        "into its settings file, where everything else stays.",
    )
    install.add_argument("host", choices=["claude-code"])
    install.add_argument("--write", action="store_true", help="merge them into the file")
    install.add_argument("--file", type=Path, default=_SETTINGS, help="default: %(default)s")
    install.set_defaults(run=_install)
    for command in (heard, install):
        command.add_argument("--user", default=People().user, help="the user (%(default)s)")
        command.add_argument("--main", default=People().main, help="the main agent (%(default)s)")
    drain = hook.add_parser(
        "drain",
        help="record what hooks left, now",
        description="Record what hooks left and nothing has recorded yet; each hook starts this by "
        "itself.",
    )
    drain.set_defaults(run=_drain)


def _claude_code(options: argparse.Namespace) -> int:
    """Leave in the spool what Claude Code reports. Never raises, never prints, never takes long."""
    out = threading.Timer(_SECONDS, os._exit, [0])  # even while standard input does not end
    out.daemon = True
    out.start()
    spool = None
    try:
        now = time.time_ns() // 1_000_000
        config = from_environment()
        spool = Spool.of(config)
        given = sys.stdin.buffer.read().decode("utf-8", "replace")
        try:
            heard = json.loads(given)
            other = Callers(spool.folder / "callers").hear(heard)
            events = events_of(heard, People(options.user, options.main), now, other)
        except Exception as error:  # noqa: BLE001 - a host of tomorrow; kept, to be looked at
            spool.refuse(given, f"a hook's input: {error!r}")
            return 0
        if events:
            spool.put(config.scenario, events)
            spool.start_draining()
    except Exception as error:  # noqa: BLE001 - the host's work is worth more than ours
        if spool is not None:
            spool.note(f"a hook's event is lost or waits: {error!r}")
        with contextlib.suppress(Exception):  # it may be closed
            sys.stderr.write(f"so-mcp hook: {error}\n")
    return 0


def _install(options: argparse.Namespace, config: Config) -> int:
    from .capture.claude_settings import merge, settings  # noqa: PLC0415 - hooks do not need it

    people = People(normal_name(options.user, "--user"), normal_name(options.main, "--main"))
    ours = settings(config, people)
    if not options.write:
        print(json.dumps(ours, indent=2, ensure_ascii=False))
        return 0
    changed = merge(options.file, ours)
    print(f"{options.file} {'has' if changed else 'already had'} the hooks. What they hear goes to "
          f"scenario '{config.scenario}', as {people.user} and {people.main}.")
    if config.server is not None and config.server.password is not None:
        print("The password is not in it: start Claude Code with FALKORDB_PASSWORD set"
              " (and FALKORDB_USERNAME, if you use one).")
    return 0


def _drain(_: argparse.Namespace, config: Config) -> int:
    from .memory import supervising  # noqa: PLC0415 - hooks do not need it

    spool = Spool.of(config)
    try:
        drained = spool.drain(lambda scenario: supervising(config, scenario))
    except Exception as error:  # started by a hook, nobody else reads what it says
        spool.note(f"{len(spool.waiting())} wait: {error!r}")
        raise
    print(f"Recorded {drained}; {len(spool.waiting())} wait.")
    return 0
