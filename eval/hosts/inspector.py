"""The MCP Inspector (npm's ``@modelcontextprotocol/inspector``), as it is run on a command line.

``--strict`` looks at every tool's schemas for what some host does not take; `CALLS` are all else that
a host asks for, each with the exit code and the words that it must end with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from subprocess import CompletedProcess
from typing import Literal

from eval.hosts.node import command, run, version
from eval.hosts.served import (
    AGENT,
    COMMAND,
    MODES,
    WAYS,
    Listening,
    Mode,
    Store,
    Way,
    listening,
    told_store,
)
from eval.hosts.trials import Trial, every

NAME = f"MCP Inspector {version('@modelcontextprotocol/inspector')}"
Era = Literal["legacy", "modern"]
ERAS: tuple[Era, ...] = ("legacy", "modern")
LOAD = 500
# The one thing it warns of: a type that is a list. It is legal, and half as long as what would be
# proposed instead; hosts that turn schemas into a narrower dialect may drop the constraint.
ACCEPTED = "`type` is an array"
TOOL_FAILED, FAILED, NO_TOKEN = 5, 1, 3  # exit codes


@dataclass(frozen=True)
class Call:
    """Something to ask for; ``has`` stands in what is printed, whether an answer or an error."""

    words: tuple[str, ...]
    has: str
    code: int = 0

    def __str__(self) -> str:
        return " ".join(self.words)


def _tool(name: str, has: str, code: int = 0, **arguments: object) -> Call:
    words = ("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
    return Call(words, has, code)


def _read(uri: str, has: str, code: int = 0) -> Call:
    return Call(("resources/read", "--uri", uri), has, code)


def _prompt(name: str, has: str, code: int = 0, **arguments: str) -> Call:
    given = [f"{key}={value}" for key, value in arguments.items()]
    return Call(("prompts/get", "--prompt-name", name, *(["--prompt-args"] if given else []), *given), has, code)


OF_BOTH = (
    Call(("initialize",), '"serverInfo":{"name":"so-mcp'),
    Call(("resources/templates/list",), '"uriTemplate":"so://{scenario}/minds/{agent}"'),
    Call(("prompts/list",), '"name":"handoff"'),
    _tool("nonesuch", "Tool 'nonesuch' not found", TOOL_FAILED),
    _read(f"so://support/minds/{AGENT}", "12 Elm Street"),
    _read("so://elsewhere/state", "Unknown resource", FAILED),
    _prompt("handoff", "is missing. Arguments: ", FAILED),
)
CALLS: dict[Mode, tuple[Call, ...]] = {
    "supervisor": (
        *OF_BOTH,
        _tool("believes", '"value":"12 Elm Street"', chain=[AGENT], entity="address_4411"),
        _tool("record", '"isError":false', events=[
            {"kind": "tell", "speaker": "Maya", "listeners": ["Finance"], "entity": "mood", "value": "fine"}
        ]),
        _tool("believes", "no event has named 'Nobody'", TOOL_FAILED, chain=["Nobody"], entity="x"),
        _tool("believes", "there is no argument 'who'", TOOL_FAILED, who=AGENT),
        Call(("resources/list",), '"uri":"so://support/state"'),
        _read("so://support/state", '\\"room\\"'),
        _prompt("handoff", "You are Billing and hand over to Maya", sender="Billing", receiver="Maya"),
    ),
    "agent": (
        *OF_BOTH,
        _tool("my_beliefs", '"value":"12 Elm Street"'),
        _tool("my_beliefs", "there is no argument 'agent'", TOOL_FAILED, agent="Maya"),
        _tool("my_beliefs", "as_of", TOOL_FAILED, as_of="once upon a time"),
        _tool("record", "Tool 'record' not found", TOOL_FAILED, events=[]),
        Call(("resources/list",), f'"uri":"so://support/minds/{AGENT}"'),
        _read("so://support/minds/Maya", "Unknown resource", FAILED),
        _prompt("handoff", f"You are {AGENT} and hand over to Maya", receiver="Maya"),
    ),
}


@dataclass(frozen=True)
class Inspector:
    """It, in front of one server."""

    mode: Mode
    way: Way
    era: Era
    store: Store
    server: Listening | None  # where the way is HTTP

    def __str__(self) -> str:
        return f"{self.mode}, {self.way}, {self.era} era"

    def ask(self, *words: str) -> CompletedProcess[str]:
        """Run it once; of HTTP with the token."""
        program = command("mcp-inspector")
        options = ["--protocol-era", self.era, "--format", "json", "--stored-auth-only",
                   "--connect-timeout", "60000"]
        if self.server is None:
            given = [f"{key}={value}" for key, value in self.store.environment(self.mode).items()]
            target = [*COMMAND, *(word for pair in given for word in ("-e", pair))]
        else:
            header = f"Authorization: Bearer {self.server.token}"
            target = [self.server.url, "--transport", "http", "--header", header]
        return run([*program, "--cli", *target, "--method", *words, *options], self.store.home)

    def strict(self) -> None:
        """List the tools; raises `AssertionError` for any finding but what is `ACCEPTED`."""
        done = self.ask("tools/list", "--strict")
        _expect(done, 0, '"tools":')
        issues = re.findall(r"^  Issue: (.*)$", done.stderr, re.MULTILINE)
        counted = re.search(r"^0 errors, (\d+) warnings? across", done.stderr, re.MULTILINE)
        assert len(issues) == int(counted[1] if counted else 0), done.stderr
        assert all(issue.startswith(ACCEPTED) for issue in issues), issues

    def call(self, call: Call) -> None:
        """Ask for it; raises `AssertionError` where it ends otherwise."""
        _expect(self.ask(*call.words), call.code, call.has)

    def load(self, requests: int = LOAD) -> str:
        """Call one tool many times at once, and say how that went."""
        call = next(c for c in CALLS[self.mode] if c.words[0] == "tools/call" and not c.code)
        done = self.ask(*call.words, "--load", "--load-requests", f"{requests}")
        _expect(done, 0, '"requests"')
        found = json.loads(done.stdout)["result"]
        assert found["ok"] == requests, found
        took = found["latencyMs"]
        return f"{found['ok']} of {requests}, p50 {took['p50']:.0f} ms, p99 {took['p99']:.0f} ms"


def _expect(done: CompletedProcess[str], code: int, has: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode == code, f"expected exit code {code}, got {done.returncode}: {said}"
    assert has in said, f"expected {has!r} in {said}"


@contextmanager
def inspectors(
    modes: Iterable[Mode] = MODES, ways: Iterable[Way] = WAYS, eras: Sequence[Era] = ERAS
) -> Iterator[list[Inspector]]:
    """One for each mode, way and era, on one store."""
    command("mcp-inspector")
    with told_store() as store, ExitStack() as servers:
        made = []
        for mode, way in product(modes, ways):
            server = servers.enter_context(listening(store, mode)) if way == "HTTP" else None
            made += [Inspector(mode, way, era, store, server) for era in eras]
        yield made


def every_list(found: Iterable[Inspector]) -> str:
    """The strict list of each: "8 of 8"; raises `AssertionError` with what failed."""
    return every({f"{inspector}": inspector.strict for inspector in found})


def every_call(found: Iterable[Inspector], calls: Mapping[Mode, Iterable[Call]] = CALLS) -> str:
    """All of its mode's from each: "108 of 108"; raises `AssertionError` with what failed."""
    return every({
        f"{inspector}: {call}": partial(inspector.call, call)
        for inspector in found for call in calls[inspector.mode]
    })


def trials(_programs: Path | None) -> Iterator[Trial]:
    """The strict list and every call in every combination, then load."""
    eras = "both protocol eras, supervisor and agent"
    for way in WAYS:
        yield Trial(NAME, f"`tools/list --strict`, {way}, {eras}", partial(_strict, way))
    for way in WAYS:
        yield Trial(NAME, f"tools, resources, prompts, errors, {way}, {eras}", partial(_calls, way))
    for way in WAYS:
        yield Trial(NAME, f"`--load`: {LOAD} reads, ten at a time, {way}", partial(_load, way))


def _strict(way: Way) -> str:
    with inspectors(ways=[way]) as found:
        return f"{every_list(found)} without an error; it warns of types that are a list, and of nothing else"


def _calls(way: Way) -> str:
    with inspectors(ways=[way]) as found:
        return every_call(found)


def _load(way: Way) -> str:
    with inspectors(["supervisor"], [way], ["modern"]) as [inspector]:
        return inspector.load()
