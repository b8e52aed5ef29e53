"""What is hidden from an agent against what does not exist, asked as a host asks.

The two must answer the same, byte for byte, once the name that was given is put in place of the
other; must send the same to the database; and must take the same time.
"""

from __future__ import annotations

import random
import statistics
import string
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from eval.servers import memory_of
from so_mcp import AgentView, Memory
from so_mcp.calls import ask, parameters, tools_of
from so_mcp.config import ServerAddress
from so_mcp.errors import SecondOrderError
from so_mcp.minds import entities, people
from so_mcp.server import build_server

_OF_ENTITIES, _OF_PEOPLE = ("entity", "exclude"), ("person", "talking_to", "receiver", "chain")
_LISTS = ("chain", "exclude")
_ADDRESS = ResourceTemplateReference(uri="so://{scenario}/minds/{agent}")
_BRIEF, _CORRECT = PromptReference(name="brief"), PromptReference(name="correct")


class Names(NamedTuple):
    """An entity, an agent and a scenario, that the agent must know nothing of."""

    thing: str
    person: str
    scenario: str


class Question(NamedTuple):
    """One tool, asked about what is hidden and about what does not exist."""

    tool: str
    hidden: dict[str, Any]
    absent: dict[str, Any]


Asking = Callable[[Client, Names], Awaitable[Any]]
_BESIDE_TOOLS: dict[str, Asking] = {
    "prompt brief": lambda c, n: c.get_prompt("brief", {"talking_to": n.person}),
    "prompt handoff": lambda c, n: c.get_prompt("handoff", {"receiver": n.person}),
    "prompt correct": lambda c, n: c.get_prompt(
        "correct", {"person": n.person, "entity": n.thing}
    ),
    "completion of a person": lambda c, n: c.complete(_BRIEF, _typed("talking_to", n.person)),
    "completion of an entity": lambda c, n: c.complete(_CORRECT, _typed("entity", n.thing)),
    "completion of an agent": lambda c, n: c.complete(_ADDRESS, _typed("agent", n.person)),
    "completion of a scenario": lambda c, n: c.complete(_ADDRESS, _typed("scenario", n.scenario)),
    "another scenario's state": lambda c, n: c.read_resource(_address(n.scenario, "state")),
    "another scenario's mind": lambda c, n: c.read_resource(
        _address(n.scenario, "minds", n.person)
    ),
    "a tool in another scenario": lambda c, n: c.call_tool("my_beliefs", {"scenario": n.scenario}),
}


class Hidden:
    """What there is in a scenario of which one agent must learn nothing."""

    def __init__(self, memory: Memory, agent: str, password: str | None = None) -> None:
        """Find what has not reached the agent; ``password`` where the database is a server."""
        store = memory.store
        if isinstance(store, ServerAddress):
            store = replace(store, username=None, password=password)
        self._store, self._memory, self._agent = store, memory, agent
        mind = (memory.database, memory.scenario, agent)
        things, persons = entities(*mind), [*people(*mind), agent]
        self._known = Names(things[0] if things else "nothing", persons[0], memory.scenario)
        others = {stored.name for stored in memory.scenarios()} - {
            scenario for login in memory.grants() if login.agent == agent
            for scenario in login.scenarios
        }
        self.hidden = Names(
            self._one_of({*memory.entities()} - {*things}, things, "entity"),
            self._one_of({*memory.agents()} - {*persons}, persons, "agent"),
            self._one_of(others, [memory.scenario], "other scenario"),
        )
        self.absent = Names(*(absent(name) for name in self.hidden))

    def _one_of(self, hidden: set[str], known: Sequence[str], what: str) -> str:
        # One that is part of a known name is completed to that, whether it exists or not.
        names = [
            name for name in hidden if not any(name.casefold() in k.casefold() for k in known)
        ]
        if not names:
            raise ValueError(
                f"attack: there is no {what} hidden from {self._agent!r} in the store of scenario "
                f"{self._memory.scenario!r}, so nothing to look for: call eval.faults.hidden.hide."
            )
        return max(sorted(names), key=len)

    def _told(self, answer: str) -> str:
        """An answer about what does not exist, as if it did."""
        for missing, name in zip(self.absent, self.hidden, strict=True):
            answer = answer.replace(missing, name)
            answer = answer.replace(quote(missing, safe=""), quote(name, safe=""))
        return answer

    def view(self, scenario: str | None = None) -> AgentView:
        """The agent's own view."""
        return AgentView(self._agent, scenario or self._memory.scenario, self._store)

    def try_tools(self) -> tuple[int, list[str]]:
        """How many questions were asked, and those that tell what is hidden from what is not."""
        return anyio.run(self._try_tools)

    async def _try_tools(self) -> tuple[int, list[str]]:
        sent: list[tuple[str, ...]] = []
        view = self.view()
        with suppress(SecondOrderError):
            view.step()  # the first question of all finds out which node of a cluster to ask
        view.database.observers.append(sent.extend)
        asked, differing = 0, []

        async def compare(what: str, ask_hidden: Awaitable[Any], ask_absent: Awaitable[Any]) -> None:
            nonlocal asked
            sides = []
            for asking in (ask_hidden, ask_absent):
                sent.clear()
                answer = await _said(asking)
                sides.append("\n".join([answer, *("\0".join(command) for command in sent)]))
            asked += 1
            if sides[0] != self._told(sides[1]):
                differing.append(what)

        async with Client(build_server(view)) as client:
            for tool, hidden, missing in self.questions():
                await compare(
                    f"tool {tool}, {hidden}",
                    client.call_tool(tool, hidden), client.call_tool(tool, missing),
                )
            for what, asking in _BESIDE_TOOLS.items():
                await compare(what, asking(client, self.hidden), asking(client, self.absent))
        refusals = [self._refusal(names.scenario) for names in (self.hidden, self.absent)]
        if refusals[0] != self._told(refusals[1]):
            differing.append("a view of another scenario")
        return asked + 1, differing

    def _refusal(self, scenario: str) -> str:
        """What the agent gets that claims another scenario: the database itself answers."""
        with self.view(scenario) as view:
            try:
                return str(view.my_beliefs())
            except SecondOrderError as error:
                return f"{type(error).__name__}: {error}"

    def questions(self) -> list[Question]:
        """Every tool that takes a name, about a hidden entity, a hidden person, and both."""
        view, found = self.view(), []
        for tool in tools_of(view).values():
            for hide_thing, hide_person in ((True, False), (False, True), (True, True)):
                sides = []
                for names in (self.hidden, self.absent):
                    chosen = {
                        **dict.fromkeys(_OF_ENTITIES, names.thing if hide_thing else self._known.thing),
                        **dict.fromkeys(_OF_PEOPLE, names.person if hide_person else self._known.person),
                    }
                    sides.append({
                        name: [chosen[name]] if name in _LISTS else chosen[name]
                        for name in parameters(tool) if name in chosen
                    })
                question = Question(tool.name, *sides)
                if sides[0] != sides[1] and question not in found:
                    found.append(question)
        return found

    def ratio(self, calls: int) -> float:
        """Time of what is hidden to time of what does not exist, over ``calls`` of each kind.

        Of each question the median, summed; both kinds of all questions in random order.
        """
        questions = self.questions()
        order = [(number % len(questions), side) for number in range(calls) for side in (0, 1)]
        random.Random(1).shuffle(order)  # noqa: S311 - the same at every run
        took: dict[tuple[int, int], list[float]] = {}
        with self.view() as view:
            tools = tools_of(view)

            def timed(number: int, side: int) -> float:
                tool, *sides = questions[number]
                start = time.perf_counter()
                with suppress(SecondOrderError):  # an error takes its time too
                    ask(tools[tool], view, sides[side]).model_dump_json()
                return time.perf_counter() - start

            for number in range(len(questions)):  # plans, models and the connection are warm then
                timed(number, 0), timed(number, 1)
            for number, side in order:
                took.setdefault((number, side), []).append(timed(number, side))
        totals = [
            sum(statistics.median(times) for (_, of), times in took.items() if of == side)
            for side in (0, 1)
        ]
        return round(totals[0] / totals[1], 3)


def hide(memory: Memory) -> None:
    """Put something there to look for: an entity, an agent and a scenario of which nobody hears."""
    event = {"kind": "state", "entity": "hidden plan", "value": "secret", "audience": ["Hidden agent"]}
    memory.record([event])
    with memory_of(memory.store, "hidden scenario") as elsewhere:
        elsewhere.record([event])


def absent(name: str) -> str:
    """A name as long as this one that nobody has."""
    made = random.Random(name)  # noqa: S311 - the same at every run
    letters = made.choices(string.ascii_letters, k=max(8, len(name)))
    if quote(name, safe="") != name:
        letters[len(letters) // 2] = " "  # it, too, looks otherwise in an address
    return "".join(letters)


def _typed(argument: str, name: str) -> dict[str, str]:
    return {"name": argument, "value": name}


def _address(*parts: str) -> str:
    return "so://" + "/".join(quote(part, safe="") for part in parts)


async def _said(asking: Awaitable[Any]) -> str:
    """The answer as the host gets it, an error too."""
    try:
        return str((await asking).model_dump_json())
    except MCPError as error:
        return f"{error.code} {error}"
