"""Six data sets on belief besides Hi-ToM, through the engine: ``python -m eval tom``.

There is one reader a data set: it turns sentences into events of the product's own kinds, and
questions into chains. The answers are what `Memory.truth` and `Memory.believes` say. Nothing of
the engine knows of a data set: what differs between them is the trust policy and what the events
name. The files are not in this repository; see `data.folder`.
"""

import argparse
import json
import sys
import time
from importlib import import_module

from eval import results as kept
from eval.hitom import DataError

from .asking import asked
from .data import load, sample
from .report import text
from .scores import Found, below, score
from .told import StoryError

READERS = {
    "hitom_regen_dev": "hitom_regen",
    "tomi_test": "tomi",
    "percept_tomi": "percept",
    "exploretom_dev": "exploretom",
    "storysim_dev": "storysim",
    "gossip_calls": "gossip",
}


def found_in(name: str, number: int | None = None) -> Found:
    """Score one data set, or so many of its stories; raises `DataError`."""
    reader = import_module(f"{__name__}.{READERS[name]}")
    rows = load(name)
    try:
        stories = reader.read(rows)
    except (StoryError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{name}: it cannot be read: {error!r}") from error
    return score(asked(sample(stories, number)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `run` reads."""
    parser.add_argument("--json", action="store_true", help="print scores and failures as JSON alone")
    parser.add_argument("--save", action="store_true", help="keep the scores for the README")
    parser.add_argument("--failures", action="store_true", help="list every failure by itself")
    parser.add_argument("--sample", type=int, metavar="N", help="N stories a file, always the same")
    parser.add_argument("--files", nargs="+", choices=READERS, default=list(READERS), metavar="FILE",
                        help=f"some of {', '.join(READERS)}; default: all")


def run(args: argparse.Namespace) -> int:
    """Score the memory and print it; 1 when data is missing or less than it should be is right."""
    if args.save and (args.sample is not None or set(args.files) != set(READERS)):
        print("--save keeps the scores of all files: leave out --sample and --files.", file=sys.stderr)
        return 1
    began = time.perf_counter()
    found: dict[str, Found] = {}
    try:
        for name in args.files:
            found[name] = found_in(name, args.sample)
    except DataError as error:
        print(error, file=sys.stderr)
        return 1
    if args.save:
        kept.save("tom", {name: one.scores for name, one in found.items()})
    if args.json:
        print(json.dumps({name: one.as_json() for name, one in found.items()}))
    else:
        print(text(found, each=args.failures))
        print(
            f"{sum(one.stories for one in found.values())} stories, "
            f"{sum(one.events for one in found.values())} events in "
            f"{time.perf_counter() - began:.0f} s."
        )
    missed = below(found, sampled=args.sample is not None)
    for sentence in missed:
        print(f"Below the target: {sentence}", file=sys.stderr)
    return 1 if missed else 0
