"""Bad input: arguments of every kind for every tool, and lines of every kind for a real server.

A call must end in an answer or in a clear error. An error is *clear* when it says which tool or
which argument is meant, in at most `LONGEST_ERROR` characters, and shows nothing of the inside: no
traceback, no class, no file, no query, no page of a library. A refused call must have written
nothing; nothing may take longer than `SECONDS_A_CALL`; what is answered must be JSON in UTF-8. At the
end every mind must equal a replay of its log, and a scenario beside must answer as before.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import find
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from mcp import Client, MCPError
from mcp.types import PromptReference, ResourceTemplateReference

from eval.asks import AGENTS, asks_of
from eval.faults import hostile
from eval.faults.lines import Server, due, hostile_lines, message, served, spoiled
from so_mcp import AgentView, Memory, scenarios
from so_mcp.calls import ask, tools_of
from so_mcp.embedded import EmbeddedStore
from so_mcp.events import Event
from so_mcp.names import counters_key
from so_mcp.server import build_server
from so_mcp.tools import Mode, Tool

LONGEST_ERROR = 1_000
SECONDS_A_CALL = 20.0
SCENARIO = "support"
BESIDE = "org"
_SPOILED = 0.3  # of the calls
_DRAWN = 10  # arguments of a tool at once
CASES_A_ROUND = 40  # of one tool, before the next
_INSIDE = re.compile(
    r"Traceback|pydantic|validation error for|Input should|\b\w+(?:Error|Exception)\b|\.py\b"
    r"|https?://|<class|object at 0x|NoneType|\b(?:world|mind)/\w+|site-packages"
)
_ARGUMENT = st.fixed_dictionaries({"name": hostile.texts, "value": hostile.texts})


@dataclass(frozen=True, slots=True)
class Crash:
    """What a call led to that it must not, and the smallest input found that does."""

    target: str
    what: str
    given: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was tried, how it ended, and what must not have been."""

    seed: int
    tried: int
    results: int
    refused: int
    crashes: tuple[Crash, ...]
    tools: tuple[str, ...]
    seconds: float


@dataclass(slots=True)
class Tally:
    """The same while it is counted."""

    seed: int
    tried: Counter[str] = field(default_factory=Counter)
    results: int = 0
    refused: int = 0
    crashes: dict[str, Crash] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def crash(self, target: str, what: str, given: object = None) -> None:
        """Count the first of each target."""
        shown = "" if given is None else f"{given!r:.500}"
        self.crashes.setdefault(target, Crash(target, what, shown))

    def done(self) -> Inputs:
        """The figures."""
        return Inputs(
            self.seed, self.tried.total(), self.results, self.refused, tuple(self.crashes.values()),
            tuple(sorted(name for name in self.tried if "-" in name)),
            round(time.monotonic() - self.began, 1),
        )


def fuzz(
    seed: int = 1, *, seconds: float = 60.0, cases: int | None = None, only: Collection[str] = ()
) -> Inputs:
    """Try hostile input on every tool, resource, prompt and completion, in this process.

    ``cases`` of each, or for so many seconds and at least one round; ``only`` of these tools. The
    same seed and number of cases try the same; a target that crashed is not tried again.
    """
    tally = Tally(seed)
    with _store() as path, Memory(BESIDE, path=path) as beside:
        scenarios.play(beside, scenarios.load(BESIDE))
        before = _answers(beside)
        with start_blocking_portal() as portal:
            left, number = cases, 0
            while left is None or left > 0:
                size = CASES_A_ROUND if left is None else min(left, CASES_A_ROUND)
                _round(portal, path, tally, _chance(seed, number), size, only)
                left, number = None if left is None else left - size, number + 1
                if cases is None and time.monotonic() - tally.began > seconds:
                    break
        if _answers(beside) != before:
            tally.crash(BESIDE, "another scenario answers otherwise than before")
    return tally.done()


def fuzz_wire(seed: int = 1, *, seconds: float = 30.0, cases: int | None = None) -> Inputs:
    """The same of a server process, line by line: what no client library would send.

    First every line of `lines.hostile_lines`, then calls from the schemas, half of them spoiled in a
    few bytes: ``cases`` in either mode, or for so many seconds together.
    """
    tally = Tally(seed)
    with _store() as path, Memory(SCENARIO, path=path) as memory, Memory(BESIDE, path=path) as beside:
        scenarios.play(beside, scenarios.load(BESIDE))
        before = _answers(beside)
        for mode, share in (("supervisor", 0.5), ("agent", 1.0)):
            _begin(memory)
            _view(memory).close()
            env = {"SO_AGENT": AGENTS[SCENARIO]} if mode == "agent" else {}
            until = None if cases is not None else tally.began + share * seconds
            with served(path, **env) as server:
                wire = Wire(server, tally, mode, _chance(seed, mode))
                wire.run(cases, until)
            if memory.step() and (differences := memory.verify()):
                tally.crash(mode, f"the store does not verify: {differences[0]}")
        if _answers(beside) != before:
            tally.crash(BESIDE, "another scenario answers otherwise than before")
    return tally.done()


class Wire:
    """A server process, and lines for it."""

    def __init__(self, server: Server, tally: Tally, mode: str, chance: random.Random) -> None:
        """``server``: greeted."""
        self._server, self._tally, self._mode, self._chance = server, tally, mode, chance
        self._ready: dict[str, list[Any]] = {}  # arguments that are to be sent, by tool

    def run(self, cases: int | None, until: float | None) -> None:
        """Send all; the first that the server does not survive is the last."""
        [listed] = self._server.send(message("tools/list", {}))
        schemas = {tool["name"]: tool["inputSchema"] for tool in listed["result"]["tools"]}
        try:
            for line in hostile_lines():
                self._line("a line", line.replace(b"NAME", next(iter(schemas)).encode()), None, {})
            for number in range(10**9):
                name = self._chance.choice(sorted(schemas))
                self._call(name, schemas[name])
                if number + 1 == cases or (until is not None and time.monotonic() > until):
                    break
            if (code := self._server.leave()) != 0:
                self._tally.crash(f"{self._mode} server", f"it left with exit code {code}")
        except (TimeoutError, ConnectionError, ValueError) as error:
            self._tally.crash(f"{self._mode} server", f"{type(error).__name__}: {error}")
        if "Traceback" in self._server.said():
            self._tally.crash(f"{self._mode} server", f"on stderr: {self._server.said()[-500:]}")

    def _call(self, name: str, schema: Mapping[str, Any]) -> None:
        ready = self._ready.setdefault(name, [])
        if not ready:
            ready += hostile.sample(hostile.arguments(schema), self._chance, _DRAWN)
        given = hostile.made(ready.pop())
        try:
            line = message("tools/call", {"name": name, "arguments": given})
        except ValueError:  # a number that Python does not write: `hostile_lines` has one
            return
        if self._chance.random() < _SPOILED:
            line = spoiled(line, self._chance)
            schema = {"properties": {}}
            name = ""
        self._line(f"{self._mode}-{name or 'spoiled'}", line, name, schema["properties"])

    def _line(self, target: str, line: bytes, name: str | None, about: Mapping[str, Any]) -> None:
        answers = self._server.send(line)
        self._tally.tried[target] += 1
        if len(answers) > max(1, due(line)):
            self._tally.crash(target, f"answered {len(answers)} times", line)
        for answer in answers:
            error = answer.get("error", {}).get("message")
            result = answer.get("result", {})
            if result.get("isError"):
                error = result["content"][0]["text"]
            self._tally.results += error is None
            self._tally.refused += error is not None
            if error is not None and (flaw := flaw_of(error, about, name or None, line)):
                self._tally.crash(target, flaw, line)


def flaw_of(text: str, about: Mapping[str, Any], name: str | None, given: Any = None) -> str | None:
    """Why the text of an error is not clear, None where it is.

    ``about``: the arguments that the tool ``name`` takes (None: of no tool, so no field needs to be
    named); ``given``: what came.
    """
    inside = _INSIDE.search(text)
    words = set(re.findall(r"\w+", text.removeprefix(f"Error executing tool {name}: ")))
    flaws = {
        f"an error of {len(text)} characters": len(text) > LONGEST_ERROR,
        "an error that was not meant": text.strip() == f"Error executing tool {name}",
        # The SDK repeats an address as it came, and anybody's names are repeated.
        "an error with what cannot be printed": not text.replace(str(given), "").isprintable(),
        f"an error that shows the inside ({inside and inside[0]})":
            inside is not None and inside[0] not in str(given),
        "an error that names no field": name is not None
            and not words & {name, *about, *Event.model_fields, "arguments", "scenario"},
    }
    return next((f"{flaw}: {text!a:.400}" for flaw, found in flaws.items() if found), None)


def _chance(seed: int, part: object) -> random.Random:
    return random.Random(f"{seed}/{part}")  # noqa: S311 - the same for the same seed


@contextmanager
def _store() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="so-"))
    try:
        yield parent / "store"
    finally:
        EmbeddedStore(parent / "store").stop()
        shutil.rmtree(parent)


def _answers(memory: Memory) -> list[str]:
    """What every question of the supervisor is answered about a scenario."""
    return [
        ask(tool, memory, arguments).model_dump_json()
        for tool in tools_of(memory).values() if tool.effect == "reads" and tool.name != "scenarios"
        for arguments in asks_of(tool, memory.scenario)
    ]


def _round(
    portal: BlockingPortal, path: Path, tally: Tally, chance: random.Random, size: int,
    only: Collection[str],
) -> None:
    """Every target in turn, ``size`` cases of each, in either mode."""
    for mode in ("supervisor", "agent"):
        with Memory(SCENARIO, path=path) as memory:
            _begin(memory)
            source = memory if mode == "supervisor" else _view(memory)
            server = build_server(source)
            with portal.wrap_async_context_manager(Client(server)) as client:
                target = Target(portal, client, memory, tally, mode, chance, size)
                for served in portal.call(client.list_tools).tools:
                    if not only or served.name in only:
                        target.tool(tools_of(source)[served.name], served.input_schema)
                if not only:
                    target.others()
                portal.call(client.list_tools)  # it lives
            target.verify()


def _begin(memory: Memory) -> None:
    """The support story, from its start."""
    if memory.step():
        memory.reset_scenario(memory.scenario)
    scenarios.play(memory, scenarios.load(SCENARIO))


def _view(memory: Memory) -> AgentView:
    agent = AGENTS[SCENARIO]
    memory.grant(agent)
    return AgentView(agent, memory.scenario, memory.store)


class Target:
    """One server in this process, and a client that can be told to send anything."""

    def __init__(
        self, portal: BlockingPortal, client: Client, memory: Memory, tally: Tally, mode: Mode,
        chance: random.Random, size: int,
    ) -> None:
        """``memory``: a supervisor's look at what the calls did."""
        self._portal, self._client, self._memory = portal, client, memory
        self._tally, self._mode, self._chance, self._size = tally, mode, chance, size

    def tool(self, tool: Tool, schema: Mapping[str, Any]) -> None:
        """Try one tool; what it is asked for comes from its schema as it is served."""
        properties = schema.get("properties", {})

        def call(arguments: dict[str, Any]) -> tuple[str | None, str]:
            result = self._portal.call(self._client.call_tool, tool.name, arguments)
            sent = result.model_dump_json()  # as the wire would: it must be possible
            if not result.is_error:
                return None, sent
            return str(result.content[0].text), sent

        self._try(f"{self._mode}-{tool.name}", hostile.arguments(schema), call, properties, tool.name)
        if tool.effect != "reads":
            self.verify()
            _begin(self._memory)

    def others(self) -> None:
        """Resources, prompts and completions."""
        for prompt in self._portal.call(self._client.list_prompts).prompts:
            names = [argument.name for argument in prompt.arguments or ()]
            given = st.fixed_dictionaries(dict.fromkeys(names, hostile.names))
            self._try(
                f"{self._mode} prompt {prompt.name}", given,
                self._protocol(partial(self._portal.call, self._client.get_prompt, prompt.name)),
                dict.fromkeys(names), prompt.name,
            )
        self._try(
            f"{self._mode} resources", hostile.addresses,
            self._protocol(partial(self._portal.call, self._client.read_resource)),
            {"resource": None}, "resource",
        )
        template = ResourceTemplateReference(uri="so://{scenario}/minds/{agent}")
        for ref in (PromptReference(name="brief"), template):
            self._try(
                f"{self._mode} completions of {ref.type}", _ARGUMENT,
                self._protocol(partial(self._portal.call, self._client.complete, ref)),
                {"argument": None}, "completion",
            )

    def verify(self) -> None:
        """Every mind must equal a replay of its log."""
        differences = self._memory.verify() if self._memory.step() else []
        if differences:
            self._tally.crash(self._mode, f"the store does not verify: {differences[0]}")

    def _protocol(self, send: Callable[[Any], Any]) -> Callable[[Any], tuple[str | None, str]]:
        def call(given: Any) -> tuple[str | None, str]:
            try:
                return None, str(send(given).model_dump_json())
            except MCPError as error:
                return str(error), json.dumps(str(error), ensure_ascii=False)

        return call

    def _try(
        self, target: str, values: hostile.Values, call: Callable[[Any], tuple[str | None, str]],
        about: Mapping[str, Any], name: str,
    ) -> None:
        if target in self._tally.crashes:
            return

        def flaw(given: Any) -> str | None:
            before, began = self._marks(), time.monotonic()
            try:
                error, sent = call(hostile.made(given))
                sent.encode()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
                return f"{type(error).__name__}: {error!s:.300}"
            self._tally.tried[target] += 1
            spent = time.monotonic() - began
            if spent > SECONDS_A_CALL:
                return f"it took {spent:.0f} seconds"
            if error is None:
                self._tally.results += 1
                return None
            self._tally.refused += 1
            if self._marks() != before:
                return f"it was refused and has written: {error:.300}"
            return flaw_of(error, about, name, given)

        try:
            smallest = find(values, lambda given: flaw(given) is not None,
                            settings=hostile.search(self._size), random=self._chance)
        except NoSuchExample:
            return
        self._tally.crash(target, flaw(smallest) or "not when tried again", smallest)

    def _marks(self) -> list[Any]:
        """What changes whenever anything is written to the scenario."""
        return list(self._memory.database.command("HMGET", counters_key(SCENARIO), "seq", "epoch"))

