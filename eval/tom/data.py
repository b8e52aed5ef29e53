"""Where the data sets are. They are used inside the team only and never come into this repository."""

import gzip
import json
import os
import random
from pathlib import Path

from eval.hitom import ROOT, DataError, MissingDataError

from .told import Row, Story

_SEED = "theory of mind"


def folder() -> Path:
    """The folder with the files: ``SO_TOM_PATH``, else ``shared/tom`` beside the checkout."""
    own = os.environ.get("SO_TOM_PATH")
    path = Path(own) if own else ROOT.parent / "shared/tom"
    if not path.is_dir():
        raise MissingDataError(
            f"The belief-tracking data sets are not here: {path} does not exist. They are not "
            "public files of this project; name a folder with NAME.json.gz in SO_TOM_PATH."
        )
    return path


def load(name: str) -> list[Row]:
    """The items of a data set, in the file's order; raises `DataError`."""
    path = folder() / f"{name}.json.gz"
    if not path.is_file():
        raise MissingDataError(f"The data set {name} is not here: {path} does not exist.")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path}: expected gzipped JSON, got something else ({error}).") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: expected a list of items, got something else.")
    return rows


def sample(stories: list[Story], number: int | None) -> list[Story]:
    """So many of the stories, the same ones every time, in their order; None: all of them."""
    if number is None or number >= len(stories):
        return stories
    chosen = random.Random(_SEED).sample(range(len(stories)), number)  # noqa: S311 - no secret
    return [stories[index] for index in sorted(chosen)]
