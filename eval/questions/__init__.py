"""2,000 questions to depth 6 about stories of our own, asked of the memory.

The stories are those of support desks, with every kind of event and every setting; `writing` makes
them from a seed, `drawing` their questions. The answers are those of ``tests/model.py``, a model of
belief written from the specification alone; the engine has no part in making the set. It is in this
repository, so a fresh clone measures something without any download. Every question knows which
simpler questions have the same answer: those are the baselines.
"""

import argparse
import json
import sys
import time
from pathlib import Path

from eval import results as kept
from eval.hitom import DataError

from .asking import answers
from .report import score, text
from .story import SEED, STORIES, Story, shipped


def made(seed: int, number: int) -> list[Story]:
    """So many stories of a seed, with their questions."""
    from .writing import story  # noqa: PLC0415 - the shipped set is asked without the generator

    return [story(seed, each) for each in range(number)]


def lines(stories: list[Story]) -> str:
    """The content of a file with these stories."""
    return "".join(f"{story.line()}\n" for story in stories)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument("--json", action="store_true", help="print scores and failures as JSON alone")
    parser.add_argument("--save", action="store_true", help="keep the scores for the README")
    parser.add_argument(
        "--make", type=int, metavar="SEED",
        help=f"ask newly made stories instead; those of this repository are of seed {SEED}",
    )
    parser.add_argument(
        "--stories", type=int, default=STORIES, metavar="N", help=f"how many; default {STORIES}"
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="with --make: keep them there, too")


def run(args: argparse.Namespace) -> int:
    """Score the memory and print it; 1 unless every answer is right."""
    if args.make is None and (args.to is not None or args.stories != STORIES):
        print("--stories and --to are for stories that are made: give --make SEED.", file=sys.stderr)
        return 1
    if args.save and args.make is not None:
        print("--save keeps the scores of the shipped set: leave out --make.", file=sys.stderr)
        return 1
    began = time.perf_counter()
    try:
        stories = shipped() if args.make is None else made(args.make, args.stories)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    if args.to is not None:
        args.to.write_text(lines(stories), "utf-8", newline="\n")
    found = score(stories, answers(stories))
    if args.save:
        kept.save("questions", found)
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        print(text(found))
        print(
            f"{found['stories']} stories, {found['events']} events in "
            f"{time.perf_counter() - began:.0f} s."
        )
    return 1 if found["failures"] else 0
