"""Servers beyond the embedded database, started here: one behind TLS, a cluster, one with a replica.

What is tried is what the embedded database does too: all of Hi-ToM, answer by answer, and the test
suite (``pytest --database``), of which the tests that are about the embedded database itself, or about
none, are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from eval import hitom
from eval.hosts.trials import NotRun, Trial
from eval.servers import MissingProgramError, memory_of, node, replica, stunnel
from so_mcp import AgentView
from so_mcp.errors import AccessError
from so_mcp.names import mind_key

ROOT = Path(__file__).resolve().parents[2]
WHO = {
    "server": "FalkorDB server behind TLS (stunnel), with a password",
    "cluster": "FalkorDB cluster of three nodes",
}


def trials(_: Path | None) -> Iterator[Trial]:
    """What is tried of each."""
    for kind, who in WHO.items():
        yield Trial(who, "Hi-ToM, every answer as embedded", partial(_hitom, kind))
        yield Trial(who, "the test suite", partial(_suite, kind))
    yield Trial(
        "FalkorDB server with a replica", "an agent reads its mind there, and nothing else", _replica
    )


def _hitom(kind: str) -> str:
    _needs(kind)
    items, embedded = _embedded()
    found = hitom.answer(items, on=kind)
    same = sum(
        all(found[reader][number] == embedded[reader][number] for reader in found)
        for number in range(len(items))
    )
    said = f"{same:,} of {len(items):,}"
    assert same == len(items), said
    correct, asked = hitom.scores(items, found["full"])["reference"]["all"]
    return f"{said}, and {correct:,} of {asked:,} as the authors' own code answers"


@cache
def _embedded() -> tuple[list[hitom.Item], dict[str, hitom.Answers]]:
    try:
        items = hitom.load(hitom.data_file())
    except hitom.MissingDataError as missing:
        raise NotRun(f"{missing}") from missing
    return items, hitom.answer(items)


def _suite(kind: str) -> str:
    _needs(kind)
    if not (ROOT / "tests").is_dir():
        raise NotRun("the tests are not here: they come with a checkout")
    ours = ("SO_", "FALKORDB_", "PYTEST_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", "-q", "--database", kind, "-n", "logical", "--dist", "worksteal",
         "-p", "no:cacheprovider", "tests"],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False,
    )
    counted = {what: int(number) for number, what in
               re.findall(r"(\d+) (passed|failed|errors?|skipped)\b", done.stdout.splitlines()[-1])}
    failed = re.findall(r"^(?:FAILED|ERROR) .*", done.stdout, re.MULTILINE)
    assert done.returncode == 0, "\n".join([f"{counted}", *failed])
    left_out = sum(map(int, re.findall(r"^ *(\d+)  \S", _section(done.stdout), re.MULTILINE)))
    return f"{counted['passed']:,} passed, {counted.get('skipped', 0)} skipped, {left_out:,} left out"


def _section(printed: str) -> str:
    """What it says of the tests that it left out."""
    return printed.partition("left out on this database")[2].partition("====\n")[2].partition("\n===")[0]


def _replica() -> str:
    with node() as primary, replica(primary) as follower, memory_of(primary.address, "desk") as memory:
        memory.set("parcel", "packed", audience=["Shipping"])
        memory.set("plan", "secret", audience=["Escalation"])
        password = memory.grant("Shipping").password
        assert primary.client.wait(1, 10_000) == 1
        own = replace(follower.address, password=password)
        with AgentView("Shipping", "desk", own) as view:
            assert [held.value for held in view.my_beliefs()] == ["packed"]
            try:
                view.database.read(mind_key("desk", "Escalation"), "mind/contents")
            except AccessError:
                return "it does: its own mind as at the primary; another's is refused"
    raise AssertionError("it read another's mind")


def _needs(kind: str) -> None:
    if kind == "server":
        try:
            stunnel()
        except MissingProgramError as missing:
            raise NotRun(f"{missing}") from missing
