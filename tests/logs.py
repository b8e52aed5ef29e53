"""Random logs for the property tests: every kind of event, built without the engine."""

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
