"""What a message between agents is as events; shared by every host. Pure.

A message is a ``say`` to whom the host gave it. What is in it for the engine, its facts, is only
what a line of its own names, outside code fences:

    so: refund_4411 = approved          declared: it is so, for the speaker and all who hear it (say)
    so: refund_4411 = ?                 declared: no longer known
    so told: refund_4411 = approved     passed on, perhaps wrong: nothing becomes so by it (tell)

Every other message is witnessed, and nobody believes anything by it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from so_mcp.errors import InvalidInputError
from so_mcp.names import MAX_NAME, MAX_TEXT, normal_name

Given = dict[str, Any]  # an event as `Memory.record` takes it
_FACT = re.compile(r"[ \t]*so(?P<told> told)?:[ \t]*(?P<entity>[^=\n]+?)[ \t]*=[ \t]*(?P<value>\S.*?)[ \t]*\r?")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_MOST_FACTS = 50  # in one message
_UNKNOWN = "?"
_LONGEST_ID = MAX_NAME - 8  # room for a number behind it


class Fact(NamedTuple):
    """What a line of a message says; ``value`` None: that it is no longer known."""

    entity: str
    value: str | None
    told: bool
    line: str


def message(
    speaker: str, hearers: Sequence[str], text: str, *, at: int, key: str
) -> list[Given]:
    """The events of one message: one a fact in it, else one without; none for an empty text.

    ``at``: milliseconds since 1970; ``key``: what makes it this message and no other, for the id.
    """
    said = plain_text(text)
    if not said.strip() or not hearers:
        return []
    common = {"speaker": speaker, "happened_at": at}
    found = facts(said)
    if not found:
        return [{"kind": "say", **common, "audience": [*hearers], "text": said, "id": key}]
    events = []
    for number, fact in enumerate(found):
        to = {"listeners": [*hearers]} if fact.told else {"audience": [*hearers]}
        events.append({
            "kind": "tell" if fact.told else "say", **common, **to,
            "entity": fact.entity, "value": fact.value,
            "text": fact.line if number else said,  # once whole, then what each line adds
            "id": f"{key}+{number}" if number else key,
        })
    return events


def enters(agents: Sequence[str], room: str, *, at: int, key: str) -> list[Given]:
    """Agents come to where they can be spoken to."""
    return [{"kind": "enter", "agents": [*agents], "room": room, "happened_at": at, "id": key}]


def leaves(agents: Sequence[str], room: str, *, at: int, key: str) -> list[Given]:
    """Agents go."""
    return [{"kind": "exit", "agents": [*agents], "room": room, "happened_at": at, "id": key}]


def facts(text: str) -> list[Fact]:
    """What the lines of a message name; a line that names nothing usable is only text."""
    found: list[Fact] = []
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        match = None if fenced else _FACT.fullmatch(line)
        if match is None or len(found) == _MOST_FACTS:
            continue
        told, value = match["told"] is not None, match["value"]
        try:
            entity = normal_name(match["entity"], "entity")
        except InvalidInputError:
            continue
        if value != _UNKNOWN:
            found.append(Fact(entity, value, told, line.strip()))
        elif not told:
            found.append(Fact(entity, None, told, line.strip()))
    return found


def plain_text(text: str) -> str:
    """A message as the log can keep it: what cannot be kept is replaced, what is too long is cut."""
    kept = text if text.isprintable() else "".join(
        "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t\r" else char
        for char in text
    )
    return kept if len(kept) <= MAX_TEXT else f"{kept[: MAX_TEXT - 1]}…"


def agent_name(given: object, default: str) -> str:
    """The name of an agent as the host calls it, made one that a mind can have."""
    text = given if isinstance(given, str) else ""
    name = "".join(char for char in text if char.isprintable()).strip().lstrip("@").strip()
    try:
        return normal_name(name[:MAX_NAME].strip(), "agent")
    except InvalidInputError:
        return default


def event_key(*parts: object) -> str:
    """An id from what makes an event this one and no other; the same parts give the same id."""
    key = ":".join(str(part) for part in parts)
    if len(key) <= _LONGEST_ID and key.isprintable() and key == key.strip():
        return key
    return f"{parts[0]}:{digest(key)}"


def digest(text: str) -> str:
    """Short, and another for any other text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
