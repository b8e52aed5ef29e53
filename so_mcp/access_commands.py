"""`so-mcp grant`, `revoke`, `rotate` and `grants`: which agents may read their minds, and where."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Config
from .errors import InvalidInputError
from .names import normal_name
from .wording import counted, listed

if TYPE_CHECKING:
    from .grants import Grant, Login
    from .memory import Memory


def add_commands(commands: Any) -> None:
    """Add the four to the command line."""
    grant = commands.add_parser(
        "grant",
        help="give an agent a login and print how to register it",
        description="Let an agent read its own mind in these scenarios, beside those it has, and "
        "print what to paste into each host.",
    )
    grant.add_argument("agent", nargs="?", help="its name, exactly as events name it")
    grant.add_argument("--all", action="store_true", help="every agent that an event has named")
    _add_scenario(grant, "default: SO_SCENARIO, else support; repeat it for several")
    grant.add_argument(
        "--write", metavar="FOLDER", type=Path,
        help="a registration file for each agent there (for claude --mcp-config, Claude Desktop "
        "and Cursor), instead of printing them",
    )
    grant.set_defaults(run=_grant)
    revoke = commands.add_parser(
        "revoke",
        help="take an agent's login away",
        description="Take an agent's login for these scenarios away, or without --scenario all of "
        "it. Its live sessions lose it at once.",
    )
    revoke.add_argument("agent", help="its name")
    _add_scenario(revoke, "this one alone; repeat it for several")
    revoke.set_defaults(run=_revoke)
    rotate = commands.add_parser(
        "rotate",
        help="give an agent another password",
        description="Give an agent another password for all it was granted. The old one is no "
        "good any more, and sessions with it end.",
    )
    rotate.add_argument("agent", help="its name")
    rotate.add_argument("--write", metavar="FOLDER", type=Path, help="as with grant")
    rotate.set_defaults(run=_rotate)
    grants = commands.add_parser("grants", help="list the agents that have a login, and for what")
    grants.add_argument("--json", action="store_true", help="print JSON")
    grants.set_defaults(run=_grants)


def _add_scenario(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--scenario", action="append", metavar="NAME", help=text)


def _grant(options: argparse.Namespace, config: Config) -> int:
    if options.all == (options.agent is not None):
        raise InvalidInputError("grant: name one agent, or give --all for every agent there.")
    agent = None if options.all else normal_name(options.agent, "agent")
    with _memory(config) as memory:
        where = options.scenario or [memory.scenario]
        given = memory.grant_all(where) if agent is None else [memory.grant(agent, where)]
        notes = [] if options.all else _notes(memory, given[0])
    if not given:
        raise InvalidInputError(
            f"grant: no event has named an agent in {listed(where)}, so there is nobody to grant."
        )
    _tell(given, config, options.write)
    for note in notes:
        print(note)
    return 0


def _revoke(options: argparse.Namespace, config: Config) -> int:
    agent = normal_name(options.agent, "agent")
    with _memory(config) as memory:
        taken = memory.revoke(agent, options.scenario)
        left = [scenario for login in memory.grants() if login.agent == agent
                for scenario in login.scenarios]
    print(f"{agent} can no longer read its mind in {_quoted(taken)}.", end=" ")
    print(f"It still can in {_quoted(left)}." if left else "It has no login any more.")
    return 0


def _rotate(options: argparse.Namespace, config: Config) -> int:
    with _memory(config) as memory:
        granted = memory.rotate(normal_name(options.agent, "agent"))
    print(f"{granted.agent} has another password. The old one is no good, its sessions have ended.")
    if granted.password is None:
        print("Its process finds the new one by itself: nothing has to be registered again.")
    if granted.password is not None or options.write is not None:
        _tell([granted], config, options.write)
    return 0


def _grants(options: argparse.Namespace, config: Config) -> int:
    with _memory(config) as memory:
        logins = memory.grants()
    if options.json:
        print(json.dumps([asdict(login) for login in logins], indent=2, ensure_ascii=False))
    else:
        print("\n".join(_table(logins)) if logins else "No agent has a login.")
    return 0


def _tell(given: list[Grant], config: Config, folder: Path | None) -> None:
    """Print how to register each, or write it to a file: then nothing secret is printed."""
    from .registration import (  # noqa: PLC0415 - only these commands need it
        notes,
        registrations,
        sentence,
        write_registration,
    )

    for number, granted in enumerate(given):
        if folder is None:
            print(*["\n"] * (number > 0), registrations(granted, config), sep="")
        else:
            print(sentence(granted), *notes(granted, config), sep="\n")
            print(f"  registration: {write_registration(granted, config, folder)}")
    if len(given) > 1:
        print(f"\n{counted(len(given), 'agent')} granted.")


def _notes(memory: Memory, granted: Grant) -> list[str]:
    """Where no event has named the agent yet, and what else it could read before."""
    from .questions import Questions  # noqa: PLC0415 - only these commands need it

    notes = [
        f"\nNote: no event of scenario '{scenario}' has named '{granted.agent}' yet. Names are "
        "case-sensitive; its mind is empty until an event reaches it."
        for scenario in granted.scenarios
        if granted.agent not in Questions(memory.database, scenario).agents()
    ]
    [login] = [login for login in memory.grants() if login.agent == granted.agent]
    if before := [name for name in login.scenarios if name not in granted.scenarios]:
        notes.append(
            f"\nIt was granted {_quoted(before)} before, and still is. For one registration of "
            "them all, name them all."
        )
    return notes


def _table(logins: list[Login]) -> list[str]:
    widest = max(len("agent"), *(len(login.agent) for login in logins))
    lines = [f"{'agent':{widest}}  lasts  scenarios"]
    for login in logins:
        lasts = "yes" if login.lasting else "no"
        lines.append(f"{login.agent:{widest}}  {lasts:5}  {', '.join(login.scenarios)}")
        if not login.everywhere:
            lines.append(
                f"{'':{widest}}         beware: the nodes differ: grant or revoke it again"
            )
        if login.beyond:
            lines.append(
                f"{'':{widest}}         beware: also {' '.join(login.beyond)}, which no grant "
                "gives: revoke it and grant it again"
            )
    if not all(login.lasting for login in logins):
        lines.append("The server keeps no aclfile: no login outlasts its restart.")
    return lines


def _quoted(scenarios: list[str] | tuple[str, ...]) -> str:
    return listed([f"'{scenario}'" for scenario in scenarios])


def _memory(config: Config) -> Memory:
    from .memory import supervising  # noqa: PLC0415 - hooks import this module, and must be quick

    return supervising(config)
