"""Random logs for the property tests: every kind of event, built without the engine.

``logs`` holds what reaches all who are there; ``attentive_logs`` all the rest too: who was
distracted, hidden, away or reading later, groups, edits, retractions, forwards, voids, late events.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

AGENTS = ("Ann", "Bob", "Cyd", "Dee")
ROOMS = ("hall", "yard")
ENTITIES = ("ball", "box", "news")
VALUES = ("red", "blue", "green")

agents = st.sampled_from(AGENTS)
some_agents = st.lists(agents, min_size=1, max_size=3, unique=True)
rooms = st.sampled_from(ROOMS)
entities = st.sampled_from(ENTITIES)
values = st.sampled_from(VALUES)
maybe_value = st.one_of(values, values, values, st.none())


def _where(audience: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.fixed_dictionaries({"room": rooms}), st.fixed_dictionaries({audience: some_agents})
    )


def _merged(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A dictionary of the fields, with those called `_…` (dictionaries themselves) spread in."""

    def spread(drawn: dict[str, Any]) -> dict[str, Any]:
        event = {k: v for k, v in drawn.items() if not k.startswith("_")}
        for key, fields in drawn.items():
            if key.startswith("_"):
                event |= fields
        return event

    return st.fixed_dictionaries(parts).map(spread)


def _no_self(event: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in event.items() if (k, v) != ("located_in", event["entity"])}


_nothing: st.SearchStrategy[dict[str, Any]] = st.just({})

_EVENTS = {
    "enter": _merged(kind=st.just("enter"), agents=some_agents, room=rooms),
    "exit": _merged(
        kind=st.just("exit"), agents=some_agents,
        _room=st.one_of(_nothing, st.fixed_dictionaries({"room": rooms})),
    ),
    "state": _merged(
        kind=st.just("state"), entity=entities, value=maybe_value,
        _where=st.one_of(_nothing, _where("audience")),
        _by=st.one_of(_nothing, st.fixed_dictionaries({"by": agents})),
        _in=st.one_of(
            _nothing, st.fixed_dictionaries({"located_in": st.sampled_from((*ROOMS, "box"))})
        ),
    ).map(_no_self),
    "say": _merged(
        kind=st.just("say"), speaker=agents, _where=_where("audience"),
        _what=st.one_of(
            st.fixed_dictionaries({"entity": entities, "value": maybe_value}),
            st.just({"text": "hello"}),
        ),
    ),
    "tell": _merged(
        kind=st.just("tell"), speaker=agents, entity=entities, value=values,
        _to=st.one_of(_where("listeners"), st.just({"everyone": True})),
    ),
    "report": _merged(
        kind=st.just("report"), speaker=agents, about=agents, entity=entities, value=values,
        _to=_where("listeners"),
    ),
    "announce": _merged(
        kind=st.just("announce"), speaker=agents, entity=entities, value=values
    ),
}


@st.composite
def logs(draw: st.DrawFn, max_size: int = 14) -> list[dict[str, Any]]:
    """A log in the order of recording; several events may share a moment."""
    kinds = st.sampled_from(
        ("enter", "enter", "exit", "state", "state", "say", "tell", "tell", "report", "announce")
    )
    chosen = draw(st.lists(kinds.flatmap(_EVENTS.__getitem__), min_size=1, max_size=max_size))
    at, log = 1_000, []
    for event in chosen:
        at += draw(st.integers(0, 2))
        log.append(event | {"happened_at": at})
    return log


settings = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(("credulous", "exit-order")),
        "rooms": st.sampled_from(("channel", "place", "place")),
    }
)


CREW = "@crew"

crowds = st.lists(st.sampled_from((*AGENTS, *AGENTS, CREW)), min_size=1, max_size=3, unique=True)
whereabouts = st.sampled_from((*ROOMS, *ROOMS, CREW))
listeners = st.one_of(
    st.fixed_dictionaries({"room": whereabouts}),
    st.fixed_dictionaries({"listeners": crowds}),
    st.just({"everyone": True}),
)
audience = st.one_of(
    _nothing,
    st.fixed_dictionaries({"room": whereabouts}),
    st.fixed_dictionaries({"audience": crowds}),
)

SAID = ("state", "say", "announce", "tell", "report", "edit", "forward")
ATTENDED = ("enter", "exit", "away", "back", "retract", *SAID)
SEEN = ("say", "tell", "report")


def _moving(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return _merged(
        kind=st.just(kind), agents=crowds,
        _room=st.one_of(_nothing, st.fixed_dictionaries({"room": whereabouts})),
    )


_ATTENTIVE = _EVENTS | {
    "enter": _merged(kind=st.just("enter"), agents=crowds, room=whereabouts),
    "exit": _moving("exit"),
    "away": _moving("away"),
    "back": _moving("back"),
    "state": _merged(
        kind=st.just("state"), entity=entities, value=maybe_value, _where=audience,
        _by=st.one_of(_nothing, st.fixed_dictionaries({"by": agents})),
        _in=st.one_of(
            _nothing, st.fixed_dictionaries({"located_in": st.sampled_from((*ROOMS, "box"))})
        ),
    ).map(_no_self),
    "say": _merged(
        kind=st.just("say"), speaker=agents,
        _where=st.one_of(
            st.fixed_dictionaries({"room": whereabouts}),
            st.fixed_dictionaries({"audience": crowds}),
        ),
        _what=st.one_of(
            st.fixed_dictionaries({"entity": entities, "value": maybe_value}),
            st.fixed_dictionaries({"entity": entities, "value": values}),
            st.just({"text": "hello"}),
        ),
    ),
    "tell": _merged(
        kind=st.just("tell"), speaker=agents, entity=entities, value=values, _to=listeners
    ),
    "report": _merged(
        kind=st.just("report"), speaker=agents, about=agents, entity=entities, value=values,
        _to=st.one_of(
            st.fixed_dictionaries({"room": whereabouts}),
            st.fixed_dictionaries({"listeners": crowds}),
        ),
    ),
}
_REFERRING = {
    "read": _merged(
        kind=st.just("read"), agents=crowds,
        _shown=st.one_of(_nothing, _nothing, st.just({"receipt": True}), audience),
    ),
    "edit": _merged(kind=st.just("edit"), speaker=agents, _where=audience),
    "forward": _merged(kind=st.just("forward"), speaker=agents, _to=listeners),
    "retract": _merged(
        kind=st.just("retract"), speaker=agents,
        _to=st.one_of(
            st.fixed_dictionaries({"room": whereabouts}),
            st.fixed_dictionaries({"audience": crowds}),
            st.just({"everyone": True}),
        ),
    ),
    "void": st.just({"kind": "void"}),
}
_KINDS = (
    *("enter",) * 4, "exit", "away", "away", "back", "state", "state", *("say",) * 4, "tell",
    "tell", "report", "announce", *("read",) * 5, "edit", "edit", "forward", "forward",
    "retract", "retract", "void",
)


@st.composite
def attentive_logs(draw: st.DrawFn, max_size: int = 14) -> list[dict[str, Any]]:
    """A valid log in the order of recording, some events late; it refers back by id or number."""
    now, log = 1_000, []
    some, more = (
        st.lists(st.sampled_from(_KINDS), min_size=size, max_size=max_size)
        for size in (1, max(1, max_size // 2))
    )
    for seq, kind in enumerate(draw(st.one_of(some, more)), 1):
        event, earliest = _attentive_event(draw, kind, log)
        now += draw(st.integers(0, 2))
        late = draw(st.integers(0, 5)) == 5
        event["happened_at"] = draw(st.integers(earliest, now)) if late else now
        if draw(st.integers(0, 3)):
            event["id"] = f"e{seq}"
        log.append(event)
    for room in (*ROOMS, CREW):
        _declare(draw, room, log)
    return log


def _attentive_event(
    draw: st.DrawFn, kind: str, log: list[dict[str, Any]]
) -> tuple[dict[str, Any], int]:
    """An event of this kind (a say, where it has nothing to refer to), and when it can be at all."""
    targets = _targets(kind, log)
    if kind in _REFERRING and not targets:
        kind = "say"
    event, earliest = dict(draw((_ATTENTIVE | _REFERRING)[kind])), 1_000
    if kind in _REFERRING:
        seq = draw(st.sampled_from(targets))
        target = log[seq - 1]
        event["event"] = target.get("id", seq) if draw(st.integers(0, 3)) else seq
        earliest = 1_000 if kind == "void" else target["happened_at"]
        if kind == "edit":
            words, value = {"text": "or so"}, {"value": draw(values)}
            has_value = "entity" in _first(target, log)
            event |= draw(st.sampled_from((value, value | words, words))) if has_value else words
    actors = {event.get("speaker"), event.get("by"), *event.get("agents", ())}
    for key, kinds in (("distracted", ATTENDED), ("hidden", ATTENDED), ("noticed", SEEN)):
        if kind in kinds and draw(st.integers(0, 3)) == 3:
            names = [n for n in draw(crowds) if key != "distracted" or n not in actors]
            event |= {key: names} if names else {}
    return event, earliest


def _targets(kind: str, log: list[dict[str, Any]]) -> list[int]:
    """The numbers of the events that one of this kind can refer to."""
    if kind == "void":
        return list(range(1, len(log) + 1))
    said = [seq for seq, event in enumerate(log, 1) if event["kind"] in SAID]
    return [seq for seq in said if kind != "edit" or log[seq - 1]["kind"] != "forward"]


def _first(event: dict[str, Any], log: list[dict[str, Any]]) -> dict[str, Any]:
    """What an edit edits in the end; any other event itself."""
    while event["kind"] == "edit":
        name = event["event"]
        event = next(e for seq, e in enumerate(log, 1) if name in (seq, e.get("id")))
    return event


def _declare(draw: st.DrawFn, room: str, log: list[dict[str, Any]]) -> None:
    """Say what a room is, in the first event that names it, and only if that is an entrance."""
    naming = [event for event in log if room in str(event)]
    first = min(naming, key=lambda event: event["happened_at"], default=None)
    if first is not None and first["kind"] == "enter" and first["room"] == room:
        place = {"place": st.booleans()} if room != CREW else {}
        spec = st.fixed_dictionaries({}, optional=place | {"history": histories, "reads": reads})
        first.update(draw(spec))


histories = st.sampled_from(("none", "since_join", "all"))
reads = st.sampled_from(("at_once", "later"))

attentive_settings = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(("credulous", "credulous", "exit-order")),
        "rooms": st.sampled_from(("channel", "place")),
        "history": histories,
        "reads": st.sampled_from(("at_once", "at_once", "later")),
    }
)
