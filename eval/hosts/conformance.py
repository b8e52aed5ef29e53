"""The conformance suite (npm's ``@modelcontextprotocol/conformance``) over HTTP.

Those of its scenarios are run that need no tools, resources or prompts of its own making. Of the
others some pass without theirs (``tools-call-simple-text``): that is no evidence. It cannot present
a token, so `bearer` stands before the server and adds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from eval.hosts.bearer import bearer
from eval.hosts.node import command, run, version
from eval.hosts.served import MODES, Mode, Store, listening, told_store
from eval.hosts.trials import Trial, every

NAME = f"MCP conformance {version('@modelcontextprotocol/conformance')}"
SCENARIOS = {
    "2025-11-25": (
        "server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list",
        "prompts-list", "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "caching", "http-header-validation", "sep-2164-resource-not-found", "tools-list",
        "resources-list", "prompts-list", "dns-rebinding-protection",
    ),
}


def scenario(name: str, protocol: str, url: str, home: Path) -> int:
    """Run one, of a version of the protocol: how many checks it made.

    Raises `AssertionError` with what it printed, if one failed, warned, or none was made.
    """
    words = ["server", "--url", url, "--scenario", name, "--spec-version", protocol]
    done = run([*command("conformance"), *words], home)
    found = re.search(r"^Passed: (\d+)/(\d+), 0 failed, 0 warnings$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found is not None, done.stdout + done.stderr
    assert int(found[1]) == int(found[2]) > 0, done.stdout
    return int(found[1])


def every_scenario(store: Store, mode: Mode, scenarios: Mapping[str, Iterable[str]]) -> str:
    """These, of each version of the protocol: "7 of 7"; raises `AssertionError` with what failed."""
    with listening(store, mode) as server, bearer(server.url, server.token) as url:
        return every({
            f"{mode}, {protocol}, {name}": partial(scenario, name, protocol, url, store.home)
            for protocol, names in scenarios.items() for name in names
        })


def trials(_programs: Path | None) -> Iterator[Trial]:
    """Each version of the protocol, of each mode."""
    for protocol, names in SCENARIOS.items():
        for mode in MODES:
            tried = f"{protocol} over HTTP, {mode}: {', '.join(names)}"
            yield Trial(NAME, tried, partial(_run, mode, {protocol: names}))


def _run(mode: Mode, scenarios: Mapping[str, Iterable[str]]) -> str:
    command("conformance")
    with told_store() as store:
        return every_scenario(store, mode, scenarios)
