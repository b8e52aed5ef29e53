"""The server in hosts and before checkers, as they really are: ``python -m eval hosts``.

`trials` lists what is tried; each of its modules tries one kind of program. What is not on this
machine is said to be not run, never taken for passed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m eval hosts``."""
    parser.add_argument("--save", action="store_true", help="keep the results for the README")
    parser.add_argument("--programs", type=Path, metavar="FOLDER",
                        help="where the hosts' own programs are, if they are on this machine")
    parser.add_argument("--only", metavar="WORD", help="what has this word in it")


def run(args: argparse.Namespace) -> int:
    """Try everything and print a line each; 1 if any failed."""
    from eval import results  # noqa: PLC0415 - the options need none of it
    from eval.hosts.trials import all_trials, outcomes  # noqa: PLC0415

    if args.save and args.only:
        print("--save keeps all results: leave out --only.", file=sys.stderr)
        return 1
    if args.programs is not None and not args.programs.is_dir():
        print(f"--programs: expected a folder, got {args.programs}.", file=sys.stderr)
        return 1
    found = []
    for outcome, seconds in outcomes(all_trials(args.programs, args.only)):
        found.append(outcome)
        mark = {True: "ok", False: "FAILED", None: "-"}[outcome.ok]
        print(f"{mark:6} {seconds:5.0f} s  {outcome.who}: {outcome.tried}: {outcome.result}", flush=True)
    if not found:
        print(f"Nothing was tried{f': nothing has {args.only!r} in it' if args.only else ''}.",
              file=sys.stderr)
        return 1
    if args.save:
        results.save("hosts", [asdict(outcome) for outcome in found])
    return int(any(outcome.ok is False for outcome in found))
