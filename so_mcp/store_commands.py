"""`so-mcp doctor`, `backup`, `restore`, `migrate` and `stop`: the store as a whole."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Config
from .errors import InvalidInputError

if TYPE_CHECKING:
    from .embedded import EmbeddedStore


def add_commands(commands: Any) -> None:
    """Add them to the command line."""
    doctor = commands.add_parser(
        "doctor",
        help="say what is wrong with the database, and what to do",
        description="Look at the store (or the server) and say what is wrong and what to do. It "
        "writes nothing, shows no secret, and starts no database unless --start is given. Exit "
        "code 1 when there is a problem; warnings are none.",
    )
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.add_argument("--start", action="store_true", help="start the database if it is not running")
    doctor.set_defaults(run=_doctor)
    backup = commands.add_parser(
        "backup",
        help="copy the whole store into one file, while it is in use",
        description="Copy the whole store, as it is at one moment, into one file: every scenario, "
        "every mind, every login. Keep it as safe as the store: whoever has it can read everything.",
    )
    backup.add_argument("file", type=Path, help="made new; an existing file is not replaced")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser(
        "restore",
        help="make a store from a backup",
        description="Make a store from a backup, in the folder that FALKORDB_LITE_PATH names (else "
        "the default one), which has to be empty or not there. Everything is checked first.",
    )
    restore.add_argument("file", type=Path, help="what so-mcp backup made")
    restore.set_defaults(run=_restore)
    migrate = commands.add_parser(
        "migrate",
        help="bring a store of an older version to this one's format",
        description="Bring a store of an older version to this one's format, after a copy of it "
        "was put beside it. The supervisor's server does the same when it starts.",
    )
    migrate.set_defaults(run=_migrate)
    stop = commands.add_parser("stop", help="stop the embedded database")
    stop.set_defaults(run=_stop)


def _doctor(options: argparse.Namespace, config: Config) -> int:
    from .doctor import PROBLEM, examine  # noqa: PLC0415 - only this command needs it

    checks = examine(config, start=options.start)
    if options.json:
        print(json.dumps([asdict(check) for check in checks], ensure_ascii=False, indent=2))
    else:
        for check in checks:
            print(check)
    return int(any(check.verdict == PROBLEM for check in checks))


def _backup(options: argparse.Namespace, config: Config) -> int:
    from .backup import backup  # noqa: PLC0415 - only this command needs it

    store = _embedded(
        config, "backup: on a server its operator keeps backups. A scenario can be kept with: "
        "so-mcp export",
    )
    size = backup(store, options.file.absolute())
    print(
        f"The store at {store.path} is in {options.file} ({size:,} bytes). It holds every login: "
        "keep it as safe as the store."
    )
    return 0


def _restore(options: argparse.Namespace, config: Config) -> int:
    from .backup import restore  # noqa: PLC0415 - only this command needs it

    store = _embedded(
        config, "restore: a backup becomes an embedded store; unset FALKORDB_HOST. To bring a "
        "scenario to a server: so-mcp export, then so-mcp import",
    )
    restore(options.file.absolute(), store)
    print(
        f"The store is at {store.path}, as it was when the backup was made; logins are the same. "
        "To compare every mind with its log, run for each scenario: so-mcp verify"
    )
    return 0


def _migrate(_: argparse.Namespace, config: Config) -> int:
    store = _embedded(config, "migrate: this is for an embedded store; unset FALKORDB_HOST")
    if not store.is_made():
        print(f"There is no store at {store.path}.")
        return 0
    store.attach()
    store.detach()
    print(f"The store at {store.path} has this version's format.")
    return 0


def _stop(_: argparse.Namespace, config: Config) -> int:
    from .embedded import EmbeddedStore  # noqa: PLC0415 - as below

    stopped = EmbeddedStore(config.path).stop()
    print("Stopped." if stopped else f"No database is running at {config.path}.")
    return 0


def _embedded(config: Config, otherwise: str) -> EmbeddedStore:
    """The store, for who supervises it."""
    if config.server is not None:
        raise InvalidInputError(f"{otherwise}.")
    if config.agent is not None:
        raise InvalidInputError(
            "SO_AGENT is set, so this process is that agent and can only read its own mind. "
            "Unset it to supervise."
        )
    from .embedded import EmbeddedStore  # noqa: PLC0415 - hooks import this module, and must be quick

    return EmbeddedStore(config.path)
