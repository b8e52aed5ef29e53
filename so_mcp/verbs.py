"""What happened, as calls in Python: one verb a kind of event, each recorded by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .events import Event

if TYPE_CHECKING:
    from .recorder import Record


class Verbs(ABC):
    """The verbs of `Memory`; further fields of the event are given by name."""

    @abstractmethod
    def record(self, events: Iterable[Event | Mapping[str, Any]]) -> Record:
        """Record events in order."""

    def join(self, agents: str | Sequence[str], room: str, **fields: Any) -> Record:
        """Agents enter a room; ``place=True`` for a room that one can be in only one of."""
        return self._one("enter", agents=names_of(agents), room=room, **fields)

    def leave(self, agents: str | Sequence[str], room: str | None = None, **fields: Any) -> Record:
        """Agents leave a room, or every room they are in."""
        return self._one("exit", agents=names_of(agents), room=room, **fields)

    def set(self, entity: str, value: str | None, **fields: Any) -> Record:
        """Something becomes so (``value=None``: no longer known), seen by ``room`` or ``audience``.

        Also ``by``, who always witnesses it, and ``located_in``.
        """
        return self._one("state", entity=entity, value=value, **fields)

    def say(
        self, speaker: str, entity: str | None = None, value: str | None = None, **fields: Any
    ) -> Record:
        """A declaration in a ``room`` or to an ``audience``: it makes it so. Or only ``text``."""
        if entity is not None:
            fields |= {"entity": entity, "value": value}
        return self._one("say", speaker=speaker, **fields)

    def tell(
        self,
        speaker: str,
        listeners: str | Sequence[str] | None,
        entity: str,
        value: str,
        **fields: Any,
    ) -> Record:
        """Testimony, true or not, to ``listeners`` (or None with ``everyone=True`` or ``room``)."""
        if listeners is not None:
            fields["listeners"] = names_of(listeners)
        return self._one("tell", speaker=speaker, entity=entity, value=value, **fields)

    def report(self, speaker: str, about: str, entity: str, value: str, **fields: Any) -> Record:
        """Testimony about another's mind, in a ``room`` or to ``listeners``."""
        return self._one(
            "report", speaker=speaker, about=about, entity=entity, value=value, **fields
        )

    def announce(self, speaker: str, entity: str, value: str, **fields: Any) -> Record:
        """A declaration to every agent named so far: nobody is left mistaken about anybody."""
        return self._one("announce", speaker=speaker, entity=entity, value=value, **fields)

    def away(self, agents: str | Sequence[str], room: str | None = None, **fields: Any) -> Record:
        """Agents are away from a room, or from all: what happens there does not reach them."""
        return self._one("away", agents=names_of(agents), room=room, **fields)

    def back(self, agents: str | Sequence[str], room: str | None = None, **fields: Any) -> Record:
        """Agents are back; nothing is read by that."""
        return self._one("back", agents=names_of(agents), room=room, **fields)

    def read(self, agents: str | Sequence[str], event: int | str, **fields: Any) -> Record:
        """Agents read an earlier event (number or id); ``receipt=True``: its witnesses see it.

        With a ``room`` or an ``audience`` it is an acknowledgement, which those see.
        """
        return self._one("read", agents=names_of(agents), event=event, **fields)

    def edit(self, speaker: str, event: int | str, **fields: Any) -> Record:
        """What an event said is changed to a ``value``, a ``text`` or both; later readers see it."""
        return self._one("edit", speaker=speaker, event=event, **fields)

    def retract(self, speaker: str, event: int | str, **fields: Any) -> Record:
        """What an event said was wrong, says one to a ``room``, an ``audience`` or everyone."""
        return self._one("retract", speaker=speaker, event=event, **fields)

    def forward(
        self, speaker: str, event: int | str, listeners: str | Sequence[str] | None, **fields: Any
    ) -> Record:
        """What an event said is passed on to ``listeners`` (or None with a room, or everyone)."""
        if listeners is not None:
            fields["listeners"] = names_of(listeners)
        return self._one("forward", speaker=speaker, event=event, **fields)

    def void(self, event: int | str, **fields: Any) -> Record:
        """An event, by its number or its id, was recorded by mistake: it never happened.

        Every mind is projected without it. Voiding the event that voids takes that back.
        """
        return self._one("void", event=event, **fields)

    def _one(self, kind: str, **fields: Any) -> Record:
        keep_null = {"value"} if kind in ("state", "say") else set()
        given = {k: v for k, v in fields.items() if v is not None or k in keep_null}
        return self.record([{"kind": kind, **given}])


def names_of(agents: str | Sequence[str]) -> list[str]:
    """One name or several, as a list."""
    return [agents] if isinstance(agents, str) else list(agents)
