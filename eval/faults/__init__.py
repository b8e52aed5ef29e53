"""The fault run: what is promised of private minds and of events that were acknowledged, tried.

`kills`: kill -9 of the database, a supervisor and a starter in turn, hundreds of times. `starts`:
twelve processes in one instant. `inputs`: bad input for every tool. `attack`: an agent's login
against everything the database knows. One figure that is not what it has to be makes the exit code 1;
`tests/test_faults.py` breaks the engine in three ways, and this run has to notice each.
"""

from __future__ import annotations

import argparse
import json

ROUNDS = 200  # of 300, with the machine full of other work, the whole took 988 s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``python -m eval faults``."""
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    parser.add_argument("--save", action="store_true", help="keep them for the README")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS,
        help=f"rounds of kill -9 (default {ROUNDS}); the other parts shrink and grow with them",
    )
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default 1)")


def run(args: argparse.Namespace) -> int:
    """Try everything, and print a table or JSON; 1 when anything is not as promised."""
    # Not above: every process that is started to be killed imports this package.
    from eval import results  # noqa: PLC0415
    from eval.faults.report import measure  # noqa: PLC0415

    report = measure(args.rounds, args.seed)
    if args.save:
        results.save("faults", report.figures())
    print(json.dumps(report.figures(), indent=2, ensure_ascii=False) if args.json else report.table())
    return int(bool(report.failures()))
