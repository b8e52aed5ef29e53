"""A wrong event is refused with the field, what was expected and an example."""

from __future__ import annotations

import pytest

from so_mcp.errors import InvalidEventError
from so_mcp.events import EXAMPLES, check_events, milliseconds


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_example_in_an_error_is_a_right_event(kind: str) -> None:
    [event] = check_events([EXAMPLES[kind]])
    assert event.kind == kind


@pytest.mark.parametrize(
    ("event", "field", "expected"),
    [
        ({"kind": "shout"}, "kind", "expected one of enter, exit"),
        ({}, "kind", "got nothing"),
        ({"kind": "enter", "room": "r"}, "agents", "is missing"),
        ({"kind": "enter", "agents": [], "room": "r"}, "agents", "at least 1 item"),
        ({"kind": "enter", "agents": "Ann", "room": "r"}, "agents", "expected a valid list"),
        ({"kind": "state", "entity": "e"}, "value", "is missing"),
        ({"kind": "state", "entity": "e", "value": 5}, "value", 'expected a valid string, write "5"; got 5'),
        ({"kind": "state", "entity": "e", "value": ""}, "value", "got ''"),
        ({"kind": "state", "entity": "e", "value": "v", "room": "r", "audience": ["A"]},
         "audience", "room or audience"),
        ({"kind": "state", "entity": "e", "value": "v", "located_in": "e"}, "located_in", "itself"),
        ({"kind": "say", "speaker": "A", "room": "r"}, "text", "entity and value or text"),
        ({"kind": "say", "speaker": "A", "room": "r", "entity": "e"}, "value", "goes with entity"),
        ({"kind": "say", "speaker": "A", "text": "hi"}, "room", "room or audience"),
        ({"kind": "tell", "speaker": "A", "entity": "e", "value": "v"}, "listeners", "is missing"),
        ({"kind": "tell", "speaker": "A", "entity": "e", "value": "v", "room": "r",
          "everyone": True}, "everyone and room", "given together"),
        ({"kind": "tell", "speaker": "A", "entity": "e", "value": None, "room": "r"},
         "value", "is missing"),
        ({"kind": "tell", "speaker": "A", "entity": "e", "value": "v", "audience": ["B"]},
         "audience", "does not belong to 'tell'"),
        ({"kind": "announce", "speaker": "A", "entity": "e", "value": "v", "colour": "x"},
         "colour", "no such field"),
        ({"kind": "announce", "speaker": "A", "entity": "e", "value": "v", "happened_at": "noon"},
         "happened_at", "2026-11-29T10:00:00Z"),
        ({"kind": "announce", "speaker": "A", "entity": "e", "value": "v", "happened_at": 2**63},
         "happened_at", "milliseconds between"),
        ("hello", "", "expected an object, got str"),
    ],
)
def test_a_wrong_event_names_field_expectation_and_an_example(
    event: object, field: str, expected: str
) -> None:
    with pytest.raises(InvalidEventError) as caught:
        check_events([EXAMPLES["say"], event])  # type: ignore[list-item]
    message = str(caught.value)
    assert message.startswith(f"events[1]{'.' if field else ''}{field}")
    assert expected in message
    assert 'Example: {"kind": ' in message
    assert message.endswith("Nothing was recorded.")
    assert "pydantic" not in message


def test_a_single_event_instead_of_a_list_is_refused() -> None:
    with pytest.raises(InvalidEventError, match="expected a list of events, got dict"):
        check_events(EXAMPLES["say"])


def test_a_moment_is_milliseconds_or_iso_text() -> None:
    assert milliseconds("1970-01-01T00:00:01.5Z", "t") == 1500
    assert milliseconds("1970-01-01T01:00:00+01:00", "t") == 0
    assert milliseconds(7, "t") == 7
