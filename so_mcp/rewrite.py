"""Writing what a projection says where the graphs say something else.

Used when an event is recorded late or voided (the projections before and after it differ) and by
`repair` (the graphs differ from a replay of the log). A mind to which beliefs were only added gets
those; one that holds what it should not is made anew. Everything goes into one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import batched
from typing import NamedTuple

from .database import Call
from .events import LoggedEvent
from .names import mind_key, world_key
from .projection import (
    PLAIN,
    Projection,
    Row,
    Table,
    Tables,
    aside,
    belief_values,
    beliefs,
    in_order,
    replaced,
)
from .world import Location, Room, Stay
from .writes import (
    away_call,
    chapter_call,
    enter_call,
    leave_call,
    listeners_of,
    locate_call,
    log_calls,
    room_call,
    settling,
    told_call,
)

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
    for event in new:  # which needs its entity to be there
        calls += log_calls(here, event, [], truth=False)  # whether it is one, the fold says
    calls += what_happened_calls(here, differs)
    calls += _witnesses(here, differs, projection)
    calls += presence_calls(here, differs, projection)
    first, minds = _minds(scenario, differs, projection)
    return Writes(first, calls + minds)


def rebuilt_minds(scenario: str, projection: Projection, minds: Collection[str]) -> list[Call]:
    """Everything of some minds, into graphs that do not exist yet."""
    if not minds:
        return []
    rows: dict[str, list[Row]] = {mind: [] for mind in minds}
    noticed: dict[str, list[Row]] = {mind: [] for mind in minds}
    for seq, done in projection.events.items():
        for mind, row in beliefs(projection, seq):
            if mind in rows:
                rows[mind].append(row)
        for mind in done.asides():
            if mind in noticed:
                noticed[mind].append(aside(done, projection.steps[mind][seq]))
    calls = []
    for mind in minds:
        key = mind_key(scenario, mind)
        calls += [Call(key, "mind/create", {}), *_believing(key, rows[mind])]
        calls += _noticing(key, noticed[mind])
    return calls


def _noticing(key: str, rows: Iterable[Row]) -> Iterator[Call]:
    for step, at, agents, room in rows:
        params = {"step": step, "at": at, "agents": list(agents), "room": room}
        yield Call(key, "mind/notice", params)


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
            yield _believe(key, together, pairs)
            together = []


def _believe(key: str, rows: Sequence[Row], replaced: list[list[int]]) -> Call:
    values = [belief_values(row) for row in rows]
    if all(value is None for row in values for value in row[PLAIN:]):
        query, values = "mind/believe_all", [row[:PLAIN] for row in values]
    else:
        query = "mind/believe_passed_on"
    return Call(key, query, {"beliefs": values, "replaced": replaced})


def left_by(scenario: str, projection: Projection, seq: int) -> list[Call]:
    """What puts into minds what the newest event brought them from earlier ones."""
    rows: dict[str, list[Row]] = {}
    for mind, row in beliefs(projection, seq):
        rows.setdefault(mind, []).append(row)
    calls = []
    for mind, brought in rows.items():
        key = mind_key(scenario, mind)
        step = projection.steps[mind][seq]
        calls += [_believe(key, brought, []), Call(key, "mind/settle_late", {"steps": [step]})]
    return calls


def _minds(
    scenario: str, differs: Difference, projection: Projection
) -> tuple[list[tuple[str, ...]], list[Call]]:
    lost = {mind: rows for (table, mind), rows in differs.lost.items() if table == "belief" and mind}
    asides = {mind: rows for (table, mind), rows in differs.lost.items() if table == "aside" and mind}
    anew = {mind for _, mind in differs.extra if mind is not None}
    first: list[tuple[str, ...]] = [("DEL", mind_key(scenario, mind)) for mind in sorted(anew)]
    calls = rebuilt_minds(scenario, projection, sorted(anew))
    steps = _new_steps(differs)
    for mind in steps | lost | asides:
        if mind not in anew:
            added = lost.get(mind, Counter()).elements()
            seen = sorted(asides.get(mind, Counter()).elements(), key=repr)
            key = mind_key(scenario, mind)
            calls += _added(key, mind, added, seen, steps.get(mind, []), projection)
    return first, calls


def _new_steps(differs: Difference) -> dict[str, list[int]]:
    """Of each mind that events reached anew, its numbers of these, in order."""
    found: dict[str, list[int]] = {}
    for table in ("witnessed", "noticed"):
        for _, agent, step in differs.lost.get((table, None), ()):
            found.setdefault(agent, []).append(step)
    return {agent: sorted(steps) for agent, steps in found.items()}


def _added(
    key: str,
    mind: str,
    rows: Iterable[Row],
    asides: Iterable[Row],
    steps: list[int],
    projection: Projection,
) -> Iterator[Call]:
    """What a mind gets beside what it has, written as by one event after the other.

    So nobody can see by its own mind that something else, which did not reach it, changed the past.
    """
    by_step: dict[int, list[Row]] = {}
    for row in rows:
        by_step.setdefault(row[_STEP], []).append(row)
    noticed = {row[_STEP]: row for row in asides}
    late = _late(projection, mind)
    waiting: list[Row] = []
    every = sorted({*steps, *by_step, *noticed})
    for step in every:
        here = by_step.get(step, [])
        waiting += here
        due = settling(key, mind, [step] if step in steps else [])
        # What competes in an older place may be covered at once; what comes after decides later.
        older = bool(here) and (step in late or any(row[PLAIN] is not None for row in here))
        if waiting and (due or older or step == every[-1] or step in noticed):
            yield from (_believe(key, some, []) for some in batched(waiting, _AT_ONCE))
            waiting = []
        if older:
            yield Call(key, "mind/settle_late", {"steps": [step]})
        if step in noticed:
            yield from _noticing(key, [noticed[step]])
        yield from due


def _late(projection: Projection, mind: str) -> set[int]:
    """A mind's numbers of events that reached it after others which had happened after them."""
    late, newest = set(), (-1, 0)
    for seq, step in sorted(projection.steps.get(mind, {}).items()):
        order = projection.events[seq].event.order
        if order < newest:
            late.add(step)
        newest = max(newest, order)
    return late


def names_calls(here: str, differs: Difference, projection: Projection) -> Iterator[Call]:
    """Names that are new to the world, or that no event uses any more. The latter go last."""
    world = projection.world
    for (name,) in differs.lost.get(("agent", None), ()):
        yield Call(here, "world/name_agent", {"name": name})
    for (name,) in differs.lost.get(("entity", None), ()):
        yield Call(here, "world/name_entity", {"name": name})
    known = {name for name, *_ in differs.extra.get(("room", None), ())}
    for name, *room in differs.lost.get(("room", None), ()):
        query = "world/be_room" if name in known else "world/name_room"
        yield room_call(here, query, name, Room(*room))
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
    gone = {seq for _, seq in differs.extra.get(("truth", None), ())}
    gone |= {seq for (seq,) in differs.lost.get(("retracted", None), ())}
    if seqs := sorted(gone):
        yield Call(here, "world/be_no_truth", {"seqs": seqs})
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
            done = projection.events.get(seq)
            if done is not None and listeners_of(done.event, done.routed):
                yield told_call(here, done.event, done.routed)
    yield from links_calls(here, differs)


def links_calls(here: str, differs: Difference) -> Iterator[Call]:
    """Who read what, and who noticed what."""
    for table, off, on in (
        ("read", "world/unread", "world/have_read"), ("noticed", "world/unnotice", "world/noticed")
    ):
        for query, side in ((off, differs.extra), (on, differs.lost)):
            rows = [list(row) for row in sorted(side.get((table, None), ()))]
            if rows:
                yield Call(here, query, {"rows": rows})


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
                elif stay.away:
                    yield away_call(here, stay)
    located = sorted({row[0] for row in differs.of("located")} & world.entities.keys())
    if located:
        yield Call(here, "world/unlocate", {"entities": located})
        places: dict[str, Location] = world.locations
        yield from (locate_call(here, e, places[e]) for e in located if e in places)
    if any(differs.of("chapter")):
        yield chapter_call(here, world)
