"""The one model of an event as callers give it, and what each kind must and may hold.

The kinds and their fields are those of the specification of belief ("The writing rule"). A wrong
event is refused with the field, what was expected and an example; nothing of its batch is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from .errors import InvalidEventError, InvalidInputError
from .names import brief, checked_text, near_names, normal_name, shown, type_of

EventKind = Literal[
    "enter", "exit", "away", "back", "state", "say", "tell", "report", "announce", "read", "edit",
    "retract", "forward", "void",
]
SETTING = ("state", "say", "announce")  # the kinds that make something so
SPEAKING = (*SETTING, "tell", "report")  # those that give a value to something
BACKWARDS = ("read", "edit", "retract", "forward", "void")  # those about an event before them
History = Literal["none", "since_join", "all"]
Reads = Literal["at_once", "later"]
GROUP = "@"  # the names of groups begin with it
LAST_MILLISECOND = 253_402_300_799_999  # 9999-12-31, the last moment an ISO date can name
# Names in one list of an event. Each is a mind that one transaction writes to, and every mind keeps
# who else was there: a thousand new ones take half a second, in which nobody else is answered.
MOST_NAMES = 1_000

AgentNames = Annotated[
    list[str],
    Field(min_length=1, max_length=MOST_NAMES),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),  # shorter to read
]


class Event(BaseModel):
    """One thing that happened.

    enter, exit, away, back: agents, room. state: entity, value; seen by room, audience or only by.
    say: speaker, room or audience, entity and value (or only text). tell: speaker, entity, value,
    and listeners, everyone or room. report: as tell, and about. announce: speaker, entity, value.
    read: agents, event. edit: speaker, event, value or text. retract, forward: speaker, event, and
    to whom. void: event, which was recorded by mistake.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: EventKind
    agents: AgentNames | None = Field(None, description="who moves, is away or reads")
    speaker: str | None = Field(None, description="who speaks, edits, retracts, forwards")
    by: str | None = Field(None, description="state: who did it; always a witness")
    room: str | None = Field(None, description="where; those in it witness the event")
    audience: AgentNames | None = Field(None, description="the witnesses, instead of room")
    listeners: AgentNames | None = Field(None, description="tell, report, forward: who hears")
    everyone: bool | None = Field(None, description="tell, retract, forward: to every agent")
    about: str | None = Field(None, description="report: whose belief is reported")
    entity: str | None = Field(None, description="what the value is of, e.g. refund_4411")
    value: str | None = Field(
        None,
        description="e.g. approved; null (state, say): no longer known",
        json_schema_extra={"type": ["string", "null"]},
    )
    located_in: str | None = Field(None, description="state: room or container it now lies in")
    event: int | str | None = Field(None, description="number or id of the event it is about")
    distracted: AgentNames | None = Field(None, description="seem to take it in, do not")
    hidden: AgentNames | None = Field(None, description="take it in unseen")
    noticed: AgentNames | None = Field(None, description="saw them talk, heard nothing")
    receipt: bool | None = Field(None, description="read: its witnesses see that it was read")
    place: bool | None = Field(None, description="enter: room is a place, one at a time")
    history: History | None = Field(None, description="enter: what newcomers to room may read")
    reads: Reads | None = Field(None, description="enter: whether being in room is reading it")
    text: str | None = Field(None, description="the words, as they were said")
    happened_at: int | str | None = Field(None, description="ms since 1970, or ISO 8601; default now")
    id: str | None = Field(None, description="yours; the same id is recorded once")


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event as the log holds it: checked, named, numbered.

    ``at`` is when it happened (integer milliseconds), ``seq`` its place in the order of
    recording. Whoever appeared to take it in is *not* stored here: `route.witnesses` says who.
    """

    seq: int
    at: int
    kind: EventKind
    actor: str | None = None
    agents: tuple[str, ...] = ()
    room: str | None = None
    audience: tuple[str, ...] = ()
    everyone: bool = False
    about: str | None = None
    entity: str | None = None
    value: str | None = None
    located_in: str | None = None
    place: bool | None = None
    text: str | None = None
    id: str | None = None
    distracted: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    receipt: bool = False
    history: History | None = None
    reads: Reads | None = None
    target: int | None = None  # of a kind that is about an event before it: that one's seq
    edits: EventKind | None = None  # edit: of which kind the event is that it edits
    aim: int | str | None = None  # what `target` will be, as the caller named it

    @property
    def order(self) -> tuple[int, int]:
        """(at, seq): the order of events, whenever they were recorded."""
        return self.at, self.seq

    @property
    def speaks_as(self) -> EventKind:
        """Its kind, or that of the event that it edits."""
        return self.edits or self.kind

    @property
    def sets_truth(self) -> bool:
        """Whether the world itself is another after it, not only some minds."""
        return self.entity is not None and self.speaks_as in SETTING

    @property
    def actors(self) -> tuple[str, ...]:
        """Who did it: always its witnesses."""
        moved = self.agents if self.kind in _MOVING else ()
        return moved if self.actor is None else (self.actor, *moved)

    def named_agents(self) -> tuple[str, ...]:
        """Every agent the event names, in the order in which it names them; groups are none."""
        named = (self.actor, *self.agents, *self.audience, self.about, *self.distracted,
                 *self.hidden, *self.noticed)
        return tuple(dict.fromkeys(n for n in named if n is not None and not n.startswith(GROUP)))


_MOVING = ("enter", "exit", "away", "back", "read")

# What a kind must have (each inner tuple: exactly one of these) and what else it may have.
_ALWAYS = frozenset({"kind", "id", "happened_at", "text"})
_SEEN = frozenset({"distracted", "hidden"})
_RULES: dict[str, tuple[tuple[tuple[str, ...], ...], frozenset[str]]] = {
    "enter": ((("agents",), ("room",)), frozenset({"place", "history", "reads"}) | _SEEN),
    "exit": ((("agents",),), frozenset({"room"}) | _SEEN),
    "away": ((("agents",),), frozenset({"room"}) | _SEEN),
    "back": ((("agents",),), frozenset({"room"}) | _SEEN),
    "state": (
        (("entity",), ("value",)), frozenset({"by", "room", "audience", "located_in"}) | _SEEN
    ),
    "say": (
        (("speaker",), ("room", "audience")), frozenset({"entity", "value", "noticed"}) | _SEEN
    ),
    "tell": (
        (("speaker",), ("listeners", "everyone", "room"), ("entity",), ("value",)),
        frozenset({"noticed"}) | _SEEN,
    ),
    "report": (
        (("speaker",), ("about",), ("room", "listeners"), ("entity",), ("value",)),
        frozenset({"noticed"}) | _SEEN,
    ),
    "announce": ((("speaker",), ("entity",), ("value",)), _SEEN),
    "read": ((("agents",), ("event",)), frozenset({"receipt", "room", "audience"})),
    "edit": ((("speaker",), ("event",)), frozenset({"value", "room", "audience"}) | _SEEN),
    "retract": ((("speaker",), ("event",), ("room", "audience", "everyone")), _SEEN),
    "forward": ((("speaker",), ("event",), ("listeners", "room", "everyone")), _SEEN),
    "void": ((("event",),), frozenset()),
}
_SOMETHING = {"say": ("entity", "text"), "edit": ("value", "text")}  # of these at least one
# Of these, at most one.
_ONE_OF = {"state": ("room", "audience"), "read": ("receipt", "room", "audience"),
           "edit": ("room", "audience")}
_MAY_BE_NULL = frozenset({("state", "value"), ("say", "value")})

EXAMPLES: dict[str, dict[str, Any]] = {
    "enter": {"kind": "enter", "agents": ["Maya", "Billing"], "room": "chat"},
    "exit": {"kind": "exit", "agents": ["Maya"], "room": "chat"},
    "state": {"kind": "state", "entity": "refund", "value": "rejected", "by": "Finance",
              "room": "chat"},
    "say": {"kind": "say", "speaker": "Billing", "entity": "refund", "value": "approved",
            "room": "chat", "text": "Your refund is approved."},
    "tell": {"kind": "tell", "speaker": "Billing", "listeners": ["Shipping"], "entity": "refund",
             "value": "rejected"},
    "report": {"kind": "report", "speaker": "Billing", "about": "Maya", "entity": "refund",
               "value": "approved", "listeners": ["Shipping"]},
    "announce": {"kind": "announce", "speaker": "Lead", "entity": "launch", "value": "Friday"},
    "away": {"kind": "away", "agents": ["Maya"], "room": "chat"},
    "back": {"kind": "back", "agents": ["Maya"], "room": "chat"},
    "read": {"kind": "read", "agents": ["Maya"], "event": 12, "receipt": True},
    "edit": {"kind": "edit", "speaker": "Billing", "event": 12, "value": "rejected"},
    "retract": {"kind": "retract", "speaker": "Billing", "event": 12, "room": "chat"},
    "forward": {"kind": "forward", "speaker": "Billing", "event": 12, "listeners": ["Shipping"]},
    "void": {"kind": "void", "event": 12, "text": "Recorded by mistake."},
}


def _example(kind: str) -> str:
    """As a caller writes it, in JSON; and what an error always says."""
    return f"{json.dumps(EXAMPLES[kind], ensure_ascii=False)}. Nothing was recorded."


def check_events(events: Iterable[Event | Mapping[str, Any]]) -> list[LoggedEvent]:
    """Turn what a caller gave into events of the log, not yet numbered (``seq`` 0).

    ``at`` is -1 where no time was given. Raises `InvalidEventError` for the first wrong event.
    """
    if isinstance(events, Event | Mapping | str) or not isinstance(events, Iterable):
        raise InvalidEventError(
            f"events: expected a list of events, got {type_of(events)}. "
            f"Example: [{_example('say')}]"
        )
    return [_checked(event, f"events[{index}]") for index, event in enumerate(events)]


def _checked(given: Event | Mapping[str, Any], where: str) -> LoggedEvent:
    event = given if isinstance(given, Event) else _parsed(given, where)
    kind = event.kind
    # `everyone: false` says the same as leaving it out; so does an explicit null, but for a value.
    present = frozenset(
        field
        for field in event.model_fields_set
        if getattr(event, field) not in (None, False) or (kind, field) in _MAY_BE_NULL
    )
    wrong = _misfit(kind, present)
    if wrong is None and event.located_in is not None and event.located_in == event.entity:
        wrong = ("located_in", "is the entity itself", ("a room", "a container"))
    if wrong is None and (who := _inattentive_actor(event)) is not None:
        wrong = ("distracted", f"names {shown(who)}, who did it", ("others",))
    if wrong is not None:
        field, what, instead = wrong
        raise InvalidEventError(
            f"{where}.{field}: {what} (kind '{kind}'); expected {' or '.join(instead)}. "
            f"Example: {_example(kind)}"
        )
    return _logged(event, where)


@cache  # few combinations of fields occur, and every event asks
def _misfit(kind: str, present: frozenset[str]) -> tuple[str, str, tuple[str, ...]] | None:
    """What is wrong with the fields that an event of a kind has: field, what, what instead."""
    required, optional = _RULES[kind]
    allowed = _ALWAYS | optional | {field for group in required for field in group}
    for field in sorted(present - allowed):
        return field, f"does not belong to '{kind}'", tuple(sorted(allowed - _ALWAYS))
    for group in required:
        chosen = [field for field in group if field in present]
        if len(chosen) != 1:
            what = "is missing" if not chosen else "are given together"
            return " and ".join(chosen or group[:1]), what, group
    if kind == "say" and ("entity" in present) != ("value" in present):
        return "value", "goes with entity", ("entity and value", "neither")
    if kind in _SOMETHING and not present & set(_SOMETHING[kind]):
        return "text", "is missing", ("entity and value" if kind == "say" else "value", "text")
    together = [field for field in _ONE_OF.get(kind, ()) if field in present]
    if len(together) > 1:
        return together[-1], f"and {together[0]} are given together", _ONE_OF[kind]
    return None


def _inattentive_actor(event: Event) -> str | None:
    """Who is said to have done it and not to have taken it in."""
    moving = (event.agents or []) if event.kind in _MOVING else []
    did = {name for name in (event.speaker, event.by, *moving) if name is not None}
    return next((name for name in event.distracted or () if name in did), None)


def _parsed(given: object, where: str) -> Event:
    if not isinstance(given, Mapping):
        raise InvalidEventError(
            f"{where}: expected an object, got {type_of(given)}. Example: {_example('say')}"
        )
    try:
        return Event.model_validate(dict(given))
    except ValidationError as error:
        # A field that does not exist explains one that is missing.
        problems = sorted(error.errors(include_url=False), key=lambda p: p["type"] == "missing")
        problem = problems[0]
        # After the field itself, "int" and "str" are types that it may have, not places in it.
        first, *inside = problem["loc"] or ("event",)
        field = ".".join(str(part) for part in (first, *inside) if part not in ("int", "str"))
        kind = given.get("kind")
        kind = kind if isinstance(kind, str) and kind in EXAMPLES else "say"
        if problem["type"] == "extra_forbidden":
            near = near_names(field, Event.model_fields)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            expected = f"no such field; {hint}fields are {', '.join(Event.model_fields)}"
        elif field == "kind":
            expected = f"expected one of {', '.join(get_args(EventKind))}"
        elif problem["type"] == "too_long":
            expected = (
                f"expected at most {MOST_NAMES} names; record it in several events, or let them "
                "enter a room and name that"
            )
        else:
            expected = problem["msg"].replace("Input should be", "expected")
            if problem["type"] == "string_type" and isinstance(problem["input"], int | float):
                expected += f", write {json.dumps(brief(problem['input']))}"
        got = "nothing" if problem["type"] == "missing" else brief(problem["input"])
        if problem["type"] == "too_long":
            got = str(problem["ctx"]["actual_length"])
        raise InvalidEventError(
            f"{where}.{shown(field).strip("'")}: {expected}; got {got}. Example: {_example(kind)}"
        ) from None


def _logged(event: Event, where: str) -> LoggedEvent:
    def name(field: str) -> str | None:
        value = getattr(event, field)
        return None if value is None else normal_name(value, f"{where}.{field}")

    def names(field: str) -> tuple[str, ...]:
        values = getattr(event, field) or ()
        return tuple(
            dict.fromkeys(normal_name(v, f"{where}.{field}", group=True) for v in values)
        )

    def text(field: str) -> str | None:
        value = getattr(event, field)
        return None if value is None else checked_text(value, f"{where}.{field}")

    try:
        return LoggedEvent(
            seq=0,
            at=-1 if event.happened_at is None else milliseconds(event.happened_at, "happened_at"),
            kind=event.kind,
            actor=name("speaker") or name("by"),
            agents=names("agents"),
            room=None if event.room is None else normal_name(
                event.room, f"{where}.room", group=True
            ),
            audience=names("audience") or names("listeners"),
            everyone=bool(event.everyone) or event.kind == "announce",
            about=name("about"),
            entity=name("entity"),
            value=text("value"),
            located_in=name("located_in"),
            place=event.place,
            text=text("text"),
            id=name("id"),
            distracted=names("distracted"),
            hidden=names("hidden"),
            noticed=names("noticed"),
            receipt=bool(event.receipt),
            history=event.history,
            reads=event.reads,
            aim=event.event if isinstance(event.event, int) else name("event"),
        )
    except InvalidInputError as error:
        message = str(error) if str(error).startswith(where) else f"{where}.{error}"
        raise InvalidEventError(f"{message} Example: {_example(event.kind)}") from None


def milliseconds(moment: object, what: str) -> int:
    """A moment as integer milliseconds since 1970: from such a number or from ISO 8601 text.

    Text without a time zone is read as local time, as `datetime.timestamp` does.
    """
    if isinstance(moment, str):
        given = moment
        try:
            moment = round(datetime.fromisoformat(given).timestamp() * 1000)
        except (ValueError, OverflowError):
            raise InvalidInputError(
                f"{what}: expected a time such as 2026-11-29T10:00:00Z, got {shown(given)}."
            ) from None
    if isinstance(moment, bool) or not isinstance(moment, int):
        raise InvalidInputError(f"{what}: expected milliseconds or ISO 8601 text, got {brief(moment)}.")
    if not 0 <= moment <= LAST_MILLISECOND:
        raise InvalidInputError(
            f"{what}: expected milliseconds between 0 and {LAST_MILLISECOND}, got {brief(moment)}."
        )
    return moment
