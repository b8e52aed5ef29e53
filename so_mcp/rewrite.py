"""Writing what a projection says where the graphs say something else.

Used when an event is recorded late or voided (the projections before and after it differ) and by
`repair` (the graphs differ from a replay of the log). A mind to which beliefs were only added gets
those; one that holds what it should not is made anew. Everything goes into one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import batched
from typing import NamedTuple

from .database import Call
from .events import LoggedEvent
from .names import mind_key, world_key
from .projection import (
    Projection,
    Row,
    Table,
    Tables,
    belief_values,
    beliefs,
    in_order,
    replaced,
)
from .world import Location, Stay
from .writes import chapter_call, enter_call, leave_call, locate_call, log_call, settling, told_call

_AT_ONCE = 2_000  # rows of one query, so that its text stays small
_ENTITY, _STEP = 2, 0


class Difference(NamedTuple):
    """Rows that a projection has and the graphs lack (``lost``), and the other way (``extra``)."""

    lost: Tables
    extra: Tables

    def of(self, table: str) -> Iterator[Row]:
        """Every row of one of the world's tables that differs."""
        for side in (self.lost, self.extra):
            yield from side.get((table, None), ())

    def __bool__(self) -> bool:
        return bool(self.lost or self.extra)


class Writes(NamedTuple):
    """Plain commands that come first, and the calls after them."""

    first: list[tuple[str, ...]]
    calls: list[Call]


def difference(expected: Tables, found: Tables) -> Difference:
    """What has to be added to ``found`` and taken from it to have what is expected."""
    lost: Tables = {}
    extra: Tables = {}
    for table in sorted(expected | found, key=repr):
        mine, theirs = expected.get(table), found.get(table)
        if mine and (rows := mine if theirs is None else mine - theirs):
            lost[table] = rows
        if theirs and (rows := theirs if mine is None else theirs - mine):
            extra[table] = rows
    return Difference(lost, extra)


def rewriting(
    scenario: str, differs: Difference, projection: Projection, new: Iterable[LoggedEvent] = ()
) -> Writes:
    """What makes the graphs what ``projection`` says, with these lines of the log that are new."""
    here = world_key(scenario)
    calls = [*names_calls(here, differs, projection)]
    calls += [log_call(here, event, []) for event in new]  # an event needs its entity to be there
    calls += what_happened_calls(here, differs)
    calls += _witnesses(here, differs, projection)
    calls += presence_calls(here, differs, projection)
    first, minds = _minds(scenario, differs, projection)
    return Writes(first, calls + minds)


def rebuilt_minds(scenario: str, projection: Projection, minds: Collection[str]) -> list[Call]:
    """Everything of some minds, into graphs that do not exist yet."""
    rows: dict[str, list[Row]] = {mind: [] for mind in minds}
    for seq in projection.events:
        for mind, row in beliefs(projection, seq):
            if mind in rows:
                rows[mind].append(row)
    calls = []
    for mind in minds:
        key = mind_key(scenario, mind)
        calls += [Call(key, "mind/create", {}), *_believing(key, rows[mind])]
    return calls


def _believing(key: str, rows: Iterable[Row]) -> Iterator[Call]:
    """Write beliefs, with what replaced what: what is of one entity goes together."""
    by_entity: dict[str, list[Row]] = {}
    for row in in_order(rows):
        by_entity.setdefault(row[_ENTITY], []).append(row)
    together: list[Row] = []
    for number, group in enumerate(by_entity.values(), 1):
        together += group
        if len(together) >= _AT_ONCE or number == len(by_entity):
            pairs = [[new, old] for old, new in enumerate(replaced(together)) if new is not None]
            yield Call(key, "mind/believe_all", {
                "beliefs": [belief_values(row) for row in together], "replaced": pairs,
            })
            together = []


def _minds(
    scenario: str, differs: Difference, projection: Projection
) -> tuple[list[tuple[str, ...]], list[Call]]:
    lost = {mind: rows for (_, mind), rows in differs.lost.items() if mind is not None}
    anew = {mind for _, mind in differs.extra if mind is not None}
    first: list[tuple[str, ...]] = [("DEL", mind_key(scenario, mind)) for mind in sorted(anew)]
    calls = rebuilt_minds(scenario, projection, sorted(anew))
    for mind, rows in lost.items():
        if mind not in anew:
            key, steps = mind_key(scenario, mind), sorted({row[_STEP] for row in rows})
            for some in batched(rows.elements(), _AT_ONCE):
                calls.append(Call(key, "mind/believe_all", {
                    "beliefs": [belief_values(row) for row in some], "replaced": [],
                }))
            calls.append(Call(key, "mind/settle_late", {"steps": steps}))
            calls += settling(key, mind, steps)
    return first, calls


def names_calls(here: str, differs: Difference, projection: Projection) -> Iterator[Call]:
    """Names that are new to the world, or that no event uses any more. The latter go last."""
    world = projection.world
    for (name,) in differs.lost.get(("agent", None), ()):
        yield Call(here, "world/name_agent", {"name": name})
    for (name,) in differs.lost.get(("entity", None), ()):
        yield Call(here, "world/name_entity", {"name": name})
    known = {name for name, _ in differs.extra.get(("room", None), ())}
    for name, kind in differs.lost.get(("room", None), ()):
        query = "world/room_kind" if name in known else "world/name_room"
        yield Call(here, query, {"name": name, "kind": kind})
    gone = {
        "agent": sorted({n for (n,) in differs.extra.get(("agent", None), ())} - set(world.agents)),
        "entity": sorted(
            {n for (n,) in differs.extra.get(("entity", None), ())} - set(world.entities)
        ),
        "room": sorted(known - set(world.rooms)),
    }
    for kind, names in gone.items():
        if names:
            yield Call(here, f"world/unname_{kind}", {"names": names})


def what_happened_calls(here: str, differs: Difference) -> Iterator[Call]:
    """Which lines of the log are events, and which of them say what is so."""
    table: Table = ("void", None)
    for query, side in (("world/unvoid", differs.extra), ("world/void", differs.lost)):
        if seqs := sorted(seq for (seq,) in side.get(table, ())):
            yield Call(here, query, {"seqs": seqs})
    if seqs := sorted(seq for _, seq in differs.lost.get(("truth", None), ())):
        yield Call(here, "world/be_truth", {"seqs": seqs})


def _witnesses(here: str, differs: Difference, projection: Projection) -> Iterator[Call]:
    extra = sorted({row[0] for row in differs.extra.get(("witnessed", None), ())})
    lost = differs.lost.get(("witnessed", None), Counter())
    if extra:
        yield Call(here, "world/unwitness", {"seqs": extra})
    anew = set(extra) & projection.events.keys()
    rows = [
        [seq, agent, projection.steps[agent][seq]]
        for seq in sorted(anew)
        for agent in projection.events[seq].routed.witnesses
    ]
    rows += [list(row) for row in sorted(lost) if row[0] not in anew]
    for some in batched(rows, _AT_ONCE):
        yield Call(here, "world/witness", {"rows": list(some)})
    told = sorted({row[0] for row in differs.of("told")})
    if told:
        yield Call(here, "world/untell", {"seqs": told})
        for seq in told:
            if (done := projection.events.get(seq)) is not None and done.event.kind == "tell":
                yield told_call(here, done.event, done.routed)


def presence_calls(here: str, differs: Difference, projection: Projection) -> Iterator[Call]:
    """Who is and was where, what lies where, and the chapter."""
    world = projection.world
    agents = sorted({row[0] for row in differs.of("stay")})
    if agents:
        yield Call(here, "world/unstay", {"agents": agents})
        ended = [s for done in projection.events.values() for s in done.changes.left]
        lasting = [s for present in world.present.values() for s in present.values()]
        for stay in (*ended, *lasting):
            if stay.agent in agents:
                yield enter_call(here, Stay(stay.agent, stay.room, stay.since,
                                            since_at=stay.since_at))
                if stay.until is not None:
                    yield leave_call(here, stay)
    located = sorted({row[0] for row in differs.of("located")} & world.entities.keys())
    if located:
        yield Call(here, "world/unlocate", {"entities": located})
        places: dict[str, Location] = world.locations
        yield from (locate_call(here, e, places[e]) for e in located if e in places)
    if any(differs.of("chapter")):
        yield chapter_call(here, world)
