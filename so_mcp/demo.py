"""`make demo`: the support story on the embedded database, told to a person at a terminal.

Everything printed after the story is an answer of the database at that moment, and the refusals
are its own words. The store is a temporary folder; the database has stopped before it is removed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, TextIO

from redis.exceptions import NoPermissionError

from . import scenarios
from .config import store_path
from .cypher import catalogue
from .embedded import EmbeddedStore
from .errors import AccessError
from .memory import Memory
from .names import mind_key, world_key
from .view import AgentView
from .wording import belief, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from .database import Row
    from .events import LoggedEvent
    from .questions import FalseBelief
    from .recorder import Record

WIDTH = 100
_INDENT = "   "
_WORDS = 44  # columns for what is said; what follows from it stands in a column of its own
_UNKNOWN = "-"
_FALSE = " (false)"


class Paint(NamedTuple):
    """Colour where somebody looks at it; the text is the same without."""

    on: bool

    def title(self, text: str) -> str:
        """Set a heading off."""
        return self._in("1", text)

    def false(self, text: str) -> str:
        """Mark what is not so."""
        return self._in("31", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text


class Attempt(NamedTuple):
    """One query with an agent's login, and the answer: rows, or the words of the refusal."""

    command: str
    rows: list[Row] | None
    refusal: str | None


def main(out: TextIO | None = None, path: str | os.PathLike[str] | None = None) -> int:
    """Print the demo to ``out`` (default: standard output); 0 if the database kept minds apart.

    ``path`` names a store to use, which stays; by default one is made and removed again.
    """
    out = out or sys.stdout
    paint = Paint(out.isatty() and not os.environ.get("NO_COLOR"))
    scenario = scenarios.load("support")
    with ExitStack() as stack:
        folder = store_path(path or stack.enter_context(tempfile.TemporaryDirectory(prefix="so-")))
        memory = stack.enter_context(Memory(scenario.name, path=folder))
        record = scenarios.play(memory, scenario)
        attempts = _attempts(memory, folder, "Shipping", "Escalation")
        sections = (
            (f"SecondOrder: {scenario.title}", _wrapped(scenario.summary)),
            ("1. What happened, and who saw it", _story(record)),
            (f"2. Who believes what ({_UNKNOWN}: has not heard of it)", _minds(memory)),
            ("3. What each of them missed, and who could tell them", _gaps(memory)),
            ("4. What a model is told before it talks to somebody", _briefings(memory)),
            ("5. A mind is private, and it is the database that says so", _privacy(attempts)),
            ("6. What to do next", _next_steps()),
        )
        lines = [line for title, body in sections for line in (paint.title(title), *body, "")]
    text = "\n".join(lines).replace(_FALSE, paint.false(_FALSE))
    out.write(text)
    return 0 if [attempt.refusal is None for attempt in attempts] == [True, False, False] else 1


def _story(record: Record) -> Iterator[str]:
    everyone = record.agents
    letters = ", ".join(f"{name[0]} {name}" for name in everyone)
    yield f"{_INDENT}{letters}.  => makes it so, -> says it is."
    for event, witnesses in ((recorded.event, recorded.witnesses) for recorded in record.events):
        seen = "".join(name[0] if name in witnesses else "." for name in everyone)
        yield f"{_INDENT}{_clock(event.at)}  {seen}  {_clause(event)}"


def _clause(event: LoggedEvent) -> str:
    if event.kind in ("enter", "exit"):
        verb = "enter" if event.kind == "enter" else "leave"
        ending = "s" if len(event.agents) == 1 else ""
        where = f" {event.room}" if event.room else ""
        return f"{listed(event.agents)} {verb}{ending}{where}"
    words = f'{event.actor}: "{event.text}"'
    if event.entity is None:
        return words
    whose = f"{event.about} believes " if event.about else ""
    arrow = "=>" if event.sets_truth else "->"
    return f"{words:{_WORDS}} {arrow} {whose}{event.entity}: {event.value}"


def _minds(memory: Memory) -> Iterator[str]:
    entities = memory.entities()
    false = {(*wrong.chain, wrong.entity) for wrong in memory.false_beliefs(depth=1)}
    yield from _table([
        ["", *entities],
        ["in truth", *(memory.truth(entity) or _UNKNOWN for entity in entities)],
        *(
            [agent, *((memory.believes(agent, entity) or _UNKNOWN)
                      + (_FALSE if (agent, entity) in false else "") for entity in entities)]
            for agent in memory.agents()
        ),
    ])
    yield f"{_INDENT}And who is wrong about another's mind:"
    for wrong in memory.false_beliefs(depth=2):
        thought = belief(wrong.chain, wrong.entity, wrong.believed)
        yield f"{_INDENT}{thought} (really {quoted(wrong.actual)})"


def _gaps(memory: Memory) -> Iterator[str]:
    found = memory.false_beliefs(depth=1, missing=True)
    yield from _table([
        ["", "wrong about", "why", "who knows this"],
        *(
            [wrong.chain[0], wrong.entity, _cause(memory, wrong), _aware(memory, wrong)]
            for wrong in found if wrong.verdict == "wrong"
        ),
    ])
    unaware = [f"{gap.chain[0]} of {gap.entity}" for gap in found if gap.verdict == "missing"]
    yield f"{_INDENT}Has not heard: {', '.join(unaware)}."


def _cause(memory: Memory, wrong: FalseBelief) -> str:
    """Name the missed event that would have put it right; else where the error is from."""
    cures = [event for event in wrong.missed if event.value == wrong.actual]
    event = cures[0] if cures else memory.explain(wrong.chain, wrong.entity).event
    if event is None:
        return ""
    return f"{'missed' if cures else 'heard'} {_clock(event.at)} {event.actor}: {event.value}"


def _aware(memory: Memory, wrong: FalseBelief) -> str:
    """List who knows better, and knows that the other does not."""
    return ", ".join(
        agent
        for agent in memory.agents()
        if memory.believes(agent, wrong.entity) == wrong.actual
        and memory.believes([agent, *wrong.chain], wrong.entity) == wrong.believed
    ) or "nobody"


def _briefings(memory: Memory) -> Iterator[str]:
    for agent, other in (("Escalation", "Maya"), ("Billing", "Shipping")):
        yield f"{_INDENT}{agent}, talking to {other}:"
        for line in memory.context_for(agent, talking_to=other).splitlines():
            yield from _wrapped(line)


def _attempts(memory: Memory, folder: Path, agent: str, other: str) -> list[Attempt]:
    """With ``agent``'s login: its own mind; then, as an attacker would, what is not its own."""
    memory.grant(agent)
    # A store object of its own, as the agent's process has: leaving it does not stop ours.
    with AgentView(agent, memory.scenario, EmbeddedStore(folder)) as view:
        return [
            _attempt(view, mind_key(memory.scenario, agent), "mind/contents"),
            _attempt(view, mind_key(memory.scenario, other), "mind/contents"),
            _attempt(view, world_key(memory.scenario), "world/agents"),
        ]


def _attempt(view: AgentView, key: str, query: str) -> Attempt:
    text = catalogue()[query].text
    command = f"GRAPH.RO_QUERY {key} {text[text.index('MATCH'):]}"
    try:
        return Attempt(command, view.database.read(key, query), None)
    except AccessError as error:
        # The client turns the first word of the database's answer into the class of an error.
        answer = error.__cause__
        word = "NOPERM " if isinstance(answer, NoPermissionError) else ""
        return Attempt(command, None, f"{word}{answer}")


def _privacy(attempts: Sequence[Attempt]) -> Iterator[str]:
    yield f"{_INDENT}Shipping has a login of its own. With it, past every tool, straight to the database:"
    for command, rows, refusal in attempts:
        yield f"{_INDENT}> {textwrap.shorten(command, WIDTH - 5, placeholder=' ...')}"
        about = dict.fromkeys(row.get("entity", "agents") for row in rows or ())
        yield f"{_INDENT}  {refusal or f'{len(rows or ())} beliefs, of {listed(list(about))}'}"


def _next_steps() -> Iterator[str]:
    yield f"{_INDENT}README.md: give it to Claude, Cursor or VS Code over MCP, one login an agent."
    yield f"{_INDENT}In Python: from so_mcp import Memory; every answer above came from it."


def _table(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield _INDENT + "  ".join(cells).rstrip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + "  ")


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%H:%M}"
