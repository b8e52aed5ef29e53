"""What has happened so far, folded and kept at hand by who writes: for events that are about it.

Kept as the copy of the world is: for writing only, and current exactly while that copy is. So that
a reading, an edit or a forward costs what any event does, and not the fold of the whole log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .events import LoggedEvent
from .projection import BETWEEN, Projection, project
from .world import Settings, World
from .writes import Done

AT_MOST = 20_000  # events kept at hand: some 50 MB


class NeedsFoldError(Exception):
    """An event changes what is already there, if only the order among what shares a moment."""


class Past:
    """A log and what it gives, to which events are added that come after all of it in order."""

    def __init__(self, log: Iterable[LoggedEvent], settings: Settings) -> None:
        """Fold the log, which is in any order."""
        self.lines = {event.seq: event for event in log}
        self.ids = {event.id: event.seq for event in self.lines.values() if event.id is not None}
        self._take(project(self.lines.values(), settings))

    def replaced(self, lines: Iterable[LoggedEvent], projection: Projection) -> None:
        """The log was written on, and folded anew."""
        self.lines = {event.seq: event for event in lines}
        self.ids = {event.id: event.seq for event in self.lines.values() if event.id is not None}
        self._take(projection)

    def _take(self, projection: Projection) -> None:
        self.projection = projection
        self._moments: dict[int, list[int]] = {}
        for seq, done in projection.events.items():
            self._moments.setdefault(done.event.at, []).append(seq)
        self._borrowed: dict[tuple[str, int], list[int]] = {}
        for mind, seq, of in projection.places:
            self._borrowed.setdefault((mind, of), []).append(seq)

    def add(self, line: LoggedEvent, done: Done, world: World) -> None:
        """Take in the newest event; ``world`` is as just after it.

        Raises `NeedsFoldError` where what it brings from an earlier one moves what others brought.
        """
        self.projection = replace(self.projection, world=world)
        events, steps = self.projection.events, self.projection.steps
        self.lines[line.seq] = line
        if line.id is not None:
            self.ids[line.id] = line.seq
        places: dict[tuple[str, int], int] = {}
        for belief in done.routed.beliefs:
            if belief.of is not None:
                places[belief.mind, belief.of] = self._place(belief.mind, belief.of)
        events[line.seq] = done
        self.projection.past[line.seq] = done.event, done.routed
        self._moments.setdefault(line.at, []).append(line.seq)
        for agent in done.reached():
            steps.setdefault(agent, {})[line.seq] = world.agents[agent]
        for (mind, of), place in places.items():
            self.projection.places[mind, line.seq, of] = place
            self._borrowed.setdefault((mind, of), []).append(line.seq)

    def _place(self, mind: str, of: int) -> int:
        """After what reached the mind before the event, and after what took its place already."""
        steps = self.projection.steps.get(mind, {})
        together = self._moments[self.projection.events[of].event.at]
        step = max((steps[seq] for seq in together if seq < of and seq in steps), default=0)
        number = 1
        for other in together:
            for seq in self._borrowed.get((mind, other), ()):
                if self.projection.places[mind, seq, other] // BETWEEN == step:
                    if other > of:
                        raise NeedsFoldError
                    number += 1
        return step * BETWEEN + number
