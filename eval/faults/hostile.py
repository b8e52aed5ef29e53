"""What a tool may be sent: from its own JSON schema, right and broken; and events likewise.

Strategies of hypothesis, which also shrinks what made something crash to the smallest that does.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from so_mcp.events import EXAMPLES, Event

Values = st.SearchStrategy[Any]

HUGE = 100_000  # entries of a list
# What the support story knows, with which every scenario here begins.
PEOPLE = ("Maya", "Billing", "Shipping", "Finance", "Escalation")
THINGS = ("refund_4411", "address_4411", "order_4411")
ROOMS = ("chat", "dispatch", "internal", "support")
KNOWN = (*PEOPLE, *THINGS, *ROOMS)
TEXTS = (
    "", " ", " Maya", "Maya ", "maya", "M\u0430ya", "\x00", "a\x00b", "\x1f", "\x7f", "\u0085",
    "\u202eayaM", "\u2066x", "\u200b", "\u200d", "\ufeffMaya", "\u2028", "Maya\r\nBilling",
    "\ud800", "Maya\udfff", "\ue000", "\U0010ffff", "é", "e\u0301", "ﷺ" * 200, "\U0001d578\U0001d586\U0001d59e", "👩‍👩‍👧‍👦", "李雷",
    "') RETURN 1 //", '"}) DETACH DELETE n //', "$entity", "CYPHER a=1 RETURN $a", "`", "\\", '\\"',
    "'", '"', "\\u0000", "%", "%00", "%2F%2e%2e", "%ED%A0%80", "so:{support}:world", "{x}", "}{",
    "*", "a?b", "[x]", "a:b", "A>B", "@group", "@", "..", "../../etc/passwd", "/", "#", "?",
    "null", "true", "NaN", "[1]", '{"a": 1}', "__class__", "{0.__class__}", "%s%n",
)
NUMBERS = (
    0, 1, -1, 2, 5, 500, 501, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30,
    10**9, 0.5, 1.0, 2.0, -0.0, 1e308, math.nan, math.inf, -math.inf, True, False,
)
MOMENTS = (
    "2026-03-02T10:00:00Z", "2026-03-02", "2026-03-02T10:00:00.123456789+14:00", "20260302T100000",
    "2026-W10-1", "0001-01-01", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.9999999Z", "2026-02-30", "2026-03-02T24:00:00Z",
    "2026-03-02T23:59:60Z", "10000-01-01", "-0001-01-01", "1969-12-31T23:59:59Z", "now", "1e3",
    0, 1, -1, 1_772_442_660_000, 253_402_300_799_999, 253_402_300_800_000, 2**63, "1772442660000",
)
_POOLS = {
    "entity": THINGS, "room": ROOMS, "speaker": PEOPLE, "by": PEOPLE, "about": PEOPLE,
}
_IDS = ("one", "two", "support-01")  # the same again, mostly with something else
_OF_TIME = ("as_of", "since", "happened_at")


class Large(NamedTuple):
    """A value that is not made before it is sent: as it is written, it can be printed."""

    written: str
    made: Callable[[], Any]

    def __repr__(self) -> str:
        return self.written


def nested(depth: int) -> Any:
    """Lists and objects in one another, so many deep."""
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"entity": value}
    return value


def made(given: Any) -> Any:
    """An input with every `Large` in it made."""
    if isinstance(given, Large):
        return given.made()
    if isinstance(given, dict):
        return {key: made(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return [made(value) for value in given]
    return given


LARGE_TEXTS = (
    Large("'x' * 200", lambda: "x" * 200),
    Large("'x' * 201", lambda: "x" * 201),
    Large("'x' * 1_000_000", lambda: "x" * 1_000_000),
    Large("'é' * 20_000", lambda: "é" * 20_000),
    Large("'x' * 20_001", lambda: "x" * 20_001),
    Large("backslash * 20_000", lambda: "\\" * 20_000),
    Large("'a' with 300 accents", lambda: "a" + "\u0301" * 300),
    Large("'a' with 800 accents", lambda: "a" + "\u0323\u0301" * 400),
    # Of which sorting takes minutes.
    Large("'a' with a million accents", lambda: "a" + "\u0323\u0301" * 500_000),
    Large("'[' * 5000", lambda: "[" * 5_000),
    Large("'[' * 100_000", lambda: "[" * 100_000),
    Large("'9' * 5000", lambda: "9" * 5_000),
)
LARGE = (
    *(Large(f"nested({depth})", partial(nested, depth)) for depth in (10, 100, 190)),
    Large("['Maya'] * 100_000", lambda: ["Maya"] * HUGE),
    Large("['Maya', 'Billing'] * 50_000", lambda: ["Maya", "Billing"] * (HUGE // 2)),
    Large("100_000 names", lambda: [f"agent {number}" for number in range(HUGE)]),
    Large("[7] * 100_000", lambda: [7] * HUGE),
    Large("[[]] * 100_000", lambda: [[]] * HUGE),
    Large("100_000 keys", lambda: {f"key {number}": number for number in range(HUGE)}),
    Large("100_000 exits", lambda: [{"kind": "exit", "agents": ["Maya"]}] * HUGE),
    Large("10**5000", lambda: 10**5000),
)
ODD: tuple[Any, ...] = (None, [], {}, [None], [[]], [""], {"": None}, *NUMBERS, *TEXTS)

def _can_be_sent(text: str) -> bool:
    """Whether a client library takes it as a key or an address: half a character it does not."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


texts: Values = st.sampled_from(TEXTS) | st.sampled_from(LARGE_TEXTS) | st.text(max_size=30)
odd: Values = (
    st.sampled_from(ODD) | st.sampled_from(MOMENTS) | st.sampled_from(LARGE + LARGE_TEXTS)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
)
_keys = (st.sampled_from(TEXTS) | st.text(max_size=30)).filter(_can_be_sent)
names: Values = st.one_of(*[st.sampled_from(PEOPLE)] * 6, st.sampled_from(KNOWN), texts)
_things: Values = st.one_of(*[st.sampled_from(THINGS)] * 6, st.sampled_from(KNOWN), texts)
_moments: Values = st.sampled_from(MOMENTS)


_changes: st.SearchStrategy[int] = st.sampled_from((0, 0, 0, 1, 1, 2, 3))


@st.composite
def arguments(draw: st.DrawFn, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for a tool by its schema as it is served: half of them right in every shape."""
    properties, required = schema.get("properties", {}), schema.get("required", ())
    given = {
        name: draw(fitting(name, of))
        for name, of in properties.items()
        if name in required or draw(st.booleans())
    }
    for _ in range(draw(_changes)):
        _break(draw, given, tuple(properties))
    return given


def fitting(name: str, schema: Mapping[str, Any]) -> Values:
    """What has the shape that a schema asks for, whatever it says."""
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if name in _OF_TIME:
        return _moments
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    low = schema.get("minimum", 0)
    within: dict[str, Values] = {
        "string": _things if name == "entity" else names,
        "integer": st.integers(low, schema.get("maximum", low + 50)),
        "boolean": st.booleans(),
    }
    if kind == "array":
        items = events() if name == "events" else fitting("", schema.get("items", {}))
        return st.lists(items, min_size=1, max_size=4)
    return within.get(kind, st.dictionaries(names, names, max_size=2))


@st.composite
def events(draw: st.DrawFn) -> Any:
    """An event of any kind: a good one of the names that are known, and then up to three changes."""
    kind = draw(st.sampled_from(sorted(EXAMPLES)))
    event = dict(EXAMPLES[kind])
    for field, value in event.items():
        if field != "kind" and isinstance(value, str):
            event[field] = draw(st.sampled_from(_POOLS.get(field, KNOWN)))
        elif isinstance(value, list):
            event[field] = draw(st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=4))
    if draw(st.booleans()):
        event["id"] = draw(st.sampled_from(_IDS))
    if draw(st.booleans()):
        event["happened_at"] = draw(_moments)
    for _ in range(draw(_changes)):
        _break(draw, event, tuple(Event.model_fields))
    return draw(odd) if draw(st.integers(0, 19)) == 0 else event


def _break(draw: st.DrawFn, given: dict[str, Any], known: tuple[str, ...]) -> None:
    """Drop, add or replace something, anywhere."""
    name: str = draw(st.one_of(*[st.sampled_from(known)] * 4, _keys) if known else _keys)
    match draw(st.integers(0, 4)):
        case 0:
            given.pop(name, None)
        case 1:
            given[name] = draw(names)
        case 2 if isinstance(given.get(name), list) and given[name]:
            at = draw(st.integers(0, len(given[name]) - 1))
            given[name] = [*given[name][:at], draw(odd), *given[name][at + 1 :]]
        case _:
            given[name] = draw(odd)


addresses: Values = st.one_of(
    st.sampled_from(("", "so:", "so://", "so:///", "file:///etc/passwd", "so://support", "so://*/state")),
    st.builds(
        "{}://{}/{}".format, st.sampled_from(("so", "SO", "http", "")), names | st.just("support"),
        st.sampled_from(("state", "timeline", "cypher", "minds", "minds/", "state/", "nothing")),
    ),
    st.builds("so://support/minds/{}".format, _keys | names.filter(lambda name: isinstance(name, str))),
).filter(_can_be_sent)


def search(cases: int) -> settings:
    """So many cases, and nothing remembered of earlier runs."""
    checks = list(HealthCheck)
    return settings(database=None, deadline=None, suppress_health_check=checks, max_examples=cases)


def sample(values: Values, chance: random.Random, number: int) -> list[Any]:
    """About so many values, the same for the same ``chance``."""
    drawn: list[Any] = []

    def keep(value: Any) -> bool:
        drawn.append(value)
        return False

    with contextlib.suppress(NoSuchExample):
        find(values, keep, settings=search(number), random=chance)
    return drawn
