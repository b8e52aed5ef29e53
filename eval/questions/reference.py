"""The model of belief that the answers come from: ``tests/model.py``, which knows no engine."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

from eval.hitom import ROOT


class Reference(Protocol):
    """What is used of it here. Events are numbered from 1, in the order of recording."""

    def record(self, event: Mapping[str, Any]) -> None:
        """Append an event to the log; raises `ValueError` for one that is not valid."""

    def believes(
        self, chain: Sequence[str], entity: str, as_of: int | None = None,
        as_recorded: int | None = None,
    ) -> str | None:
        """What a chain believes; None when it is unknown."""

    def truth(
        self, entity: str, as_of: int | None = None, as_recorded: int | None = None
    ) -> str | None:
        """What is so; None when it is unknown."""

    def truly(self, as_recorded: int | None = None) -> list[frozenset[str]]:
        """Who took in each event."""

    def readable(self, agent: str, as_recorded: int | None = None) -> list[int]:
        """The events that an agent may read."""

    def stays(
        self, agent: str, room: str, as_recorded: int | None = None
    ) -> list[tuple[int, int | None]]:
        """By which events an agent came into a room and left it."""


def new_reference(settings: Mapping[str, str], max_depth: int) -> Reference:
    """A model of a scenario with these settings, for chains to ``max_depth``."""
    folder = str(ROOT / "tests")  # its modules import each other from there
    if folder not in sys.path:
        sys.path.append(folder)
    made = cast("Callable[..., Reference]", import_module("model").Model)
    return made(max_depth=max_depth, **settings)
