"""`so-mcp verify, repair, export, import, archive, delete, forget, delivery`: keeping a scenario."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .config import Config
from .errors import InvalidInputError, StoreError

if TYPE_CHECKING:
    from .memory import Memory


def add_commands(commands: Any) -> None:
    """Add them to the command line."""
    for name, run, text in (
        ("verify", _verify, "compare the world and every mind with a replay of the log"),
        ("repair", _repair, "make the world and every mind what the log says"),
        ("export", _export, "write the log to a file, an event a line"),
        ("import", _import, "make a scenario from such a file"),
        ("archive", _archive, "export a scenario, then delete it"),
        ("delete", _delete, "delete a scenario"),
        ("delivery", _delivery, "say whom a message reached, who read it, who has it unread"),
        ("forget", _forget, "erase an agent's name, all about an entity, or what an event said"),
    ):
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.add_argument("--scenario", help="default: SO_SCENARIO, else support")
        command.set_defaults(run=run)
        if name in ("export", "archive"):
            command.add_argument("file", help="where to; it must not exist yet"
                                 + ("" if name == "archive" else ". -: standard output"))
        elif name == "import":
            command.add_argument("file", help="what export wrote. -: standard input")
        elif name == "repair":
            command.add_argument("--agent", help="only this one's mind")
        elif name == "delete":
            command.add_argument("--confirm", default="", help="the scenario's name, once more")
        elif name == "delivery":
            command.add_argument("event", help="its number, or its id")
        elif name == "forget":
            what = command.add_mutually_exclusive_group(required=True)
            what.add_argument("--agent", help="its name, wherever it stands")
            what.add_argument("--entity", help="its name, and every value and word about it")
            what.add_argument("--event", help="what it said; its number, or its id")


def _verify(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        differences = memory.verify()
    _print(differences)
    if differences:
        print("The log is the truth: so-mcp repair makes the rest of it again.")
    else:
        print("The world and every mind equal a replay of the log.")
    return 1 if differences else 0


def _repair(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        differences = memory.repair(options.agent)
        left = [d for d in memory.verify() if options.agent in (None, d.agent)]
    _print(differences)
    print(f"{len(differences)} differences from the log; {len(left)} left.")
    return 1 if left else 0


def _print(differences: Iterable[Any]) -> None:
    for difference in differences:
        whose = "the world" if difference.agent is None else f"the mind of {difference.agent}"
        print(f"{whose}: {difference.what} {difference.of}: {difference.row}")


def _export(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        if options.file == "-":
            sys.stdout.writelines(memory.export())
            return 0
        with _new_file(Path(options.file)) as stream:
            stream.writelines(memory.export())
    print(f"Wrote {options.file}. It holds everything that was said: keep it as you keep the store.")
    return 0


def _import(options: argparse.Namespace, config: Config) -> int:
    with _lines(options.file) as lines, _memory(options, config) as memory:
        events = memory.import_log(lines)
        print(f"Scenario '{memory.scenario}' holds the {events} events of {options.file}.")
    return 0


def _archive(options: argparse.Namespace, config: Config) -> int:
    from .transfer import read  # noqa: PLC0415 - hooks import this module, and must be quick

    path = Path(options.file)
    with _memory(options, config) as memory:
        with _new_file(path) as stream:
            stream.writelines(memory.export())
        with path.open(encoding="utf-8") as lines:
            held = len(read(lines).events)  # what is deleted has been read back first
        cleared = memory.reset_scenario(memory.scenario, newest=held)
        print(f"Wrote {held} events to {options.file} and deleted scenario '{memory.scenario}': "
              f"{cleared}.\nTo have it back: so-mcp import {options.file}")
    return 0


def _delete(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        if options.confirm != memory.scenario:
            raise InvalidInputError(
                f"delete: add --confirm {memory.scenario!r} to delete scenario "
                f"'{memory.scenario}' for ever. To keep a file of it: so-mcp archive FILE"
            )
        print(f"Deleted scenario '{memory.scenario}': {memory.reset_scenario(options.confirm)}.")
    return 0


def _delivery(options: argparse.Namespace, config: Config) -> int:
    with _memory(options, config) as memory:
        print("\n".join(memory.delivery(_event(options.event)).lines()))
    return 0


def _event(named: str) -> int | str:
    """A number, or an id."""
    return int(named) if named.isascii() and named.isdigit() else named


def _forget(options: argparse.Namespace, config: Config) -> int:
    event = None if options.event is None else _event(options.event)
    with _memory(options, config) as memory:
        found = memory.forget(agent=options.agent, entity=options.entity, event=event)
    called = f" In its place stands {found.stands_for}." if found.stands_for else ""
    print(f"Erased from {found.events} events, and from every mind and fork.{called}")
    if not found.compacted:
        print("The database's file on disk still holds it until it is rewritten (BGREWRITEAOF).")
    for mention in found.mentions:
        print(f"It is still mentioned in the {mention.field} of event {mention.event}: forget that "
              "event too, if it should not be.")
    print("Exports and backups that were made before are not changed.")
    return 0


def _memory(options: argparse.Namespace, config: Config) -> Memory:
    from .memory import supervising  # noqa: PLC0415 - see above

    return supervising(config, options.scenario)


@contextmanager
def _new_file(path: Path) -> Iterator[IO[str]]:
    """A private file that is there whole or not at all, and replaces none."""
    if path.exists():
        raise InvalidInputError(f"file: {path} exists, and is not overwritten. Name another.")
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made 0600
    except OSError as error:
        raise StoreError(f"file: {path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.link(name, path)
    except OSError as error:
        raise StoreError(f"file: {path} cannot be written: {error.strerror}.") from error
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _lines(file: str) -> Iterator[Iterable[str]]:
    """The lines of a file, or of standard input."""
    if file == "-":
        yield sys.stdin
        return
    try:
        stream = Path(file).open(encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InvalidInputError(f"file: {file} cannot be read: {error.strerror}.") from error
    with stream:
        try:
            yield stream
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"file: {file} is not UTF-8 text ({error.reason}).") from None
