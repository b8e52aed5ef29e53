"""Several at once on one scenario: nobody starves, and nobody reads half an event."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from stores import memory_of

from so_mcp import Memory
from so_mcp.calls import ask
from so_mcp.database import Conflict, Transaction
from so_mcp.errors import StoreError
from so_mcp.forks import forked
from so_mcp.names import counters_key, turn_key, world_key
from so_mcp.tools import Tool, tools_for


@contextmanager
def somebody_else(memory: Memory, does: Callable[[Memory, int], object]) -> Iterator[None]:
    """Another writer on the same scenario, at work for as long as the block lasts."""
    over = threading.Event()

    def work() -> None:
        with memory_of(memory.store, memory.scenario) as other:
            number = 0
            while not over.is_set():
                does(other, number)
                number += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_writer_that_keeps_losing_takes_a_turn_and_gives_it_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.set("e", "v", by="Ann")
    commit, sent, losses = Transaction.commit, [], iter(range(6))

    def lose(self: Transaction, *arguments: object) -> None:
        if next(losses, None) is not None:
            self.unwatch()
            raise Conflict
        commit(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Transaction, "commit", lose)
    memory.database.observers.append(sent.extend)
    memory.set("e", "w", by="Ann")
    key = turn_key(memory.scenario)
    assert [command[0] for command in sent if key in command and command[0] != "GET"] == [
        "SET", "DEL"
    ]
    assert memory.database.command("EXISTS", key) == 0
    assert memory.believes("Ann", "e") == "w"


def test_while_it_is_anothers_turn_nobody_else_writes(memory: Memory) -> None:
    memory.set("e", "v", by="Ann")
    memory.database.command("SET", turn_key(memory.scenario), "another", "PX", 300)
    whose = []

    def note(commands: list[tuple[str, ...]]) -> None:
        if commands[0][0] == "MULTI":
            whose.append(looking.database.command("GET", turn_key(memory.scenario)))

    with memory_of(memory.store, memory.scenario) as looking:
        memory.database.observers.append(note)
        memory.set("e", "w", by="Ann")
    assert len(whose) == 1
    assert whose[0] != "another"  # nobody's, or by then the writer's own
    assert memory.believes("Ann", "e") == "w"


def test_a_question_never_sees_half_an_event(memory: Memory) -> None:
    """Announcements alone: whatever the moment, nobody is wrong about anybody."""
    memory.set("e", "0", audience=["Ann", "Bob", "Cyd"])
    with somebody_else(memory, lambda other, n: other.announce("Ann", "e", str(n))):
        for _ in range(60):
            assert memory.false_beliefs() == []
            assert memory.who_knows("e").up_to_date == ("Ann", "Bob", "Cyd")
            assert memory.verify() == []


def test_what_comes_in_while_a_read_is_answered_is_new_to_its_step(memory: Memory) -> None:
    memory.set("e", "v", by="Ann")
    [who_knows] = [tool for tool in tools_for("supervisor") if tool.name == "who_knows"]

    def slow(source: Memory, entity: str) -> object:
        answer = who_knows.function(source, entity)
        source.set("e", "w", by="Ann")
        return answer

    answer = ask(Tool(slow, "supervisor", "reads", "Slow"), memory, {"entity": "e"})  # type: ignore[arg-type]
    assert answer.step == 1
    assert [event.number for event in memory.timeline(since=answer.step).events] == [2]


def test_a_fork_that_is_copied_again_lives_on_and_one_that_is_gone_is_an_error(
    memory: Memory,
) -> None:
    memory.set("e", "v", by="Ann")
    with forked(memory.database, memory.scenario) as base:
        memory.database.command("EXPIRE", world_key(base), 5)
        with forked(memory.database, base):
            assert memory.database.command("TTL", world_key(base)) > 5
        memory.database.command("DEL", counters_key(base), world_key(base))
        with pytest.raises(StoreError, match="is gone"), forked(memory.database, base):
            pass
