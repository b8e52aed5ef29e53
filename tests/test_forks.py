"""Forks: tried on, and gone; the scenario they come from never notices."""

from __future__ import annotations

import subprocess
import sys

import pytest
from stores import Store, every_key, inherited, memory_of

from so_mcp import Memory
from so_mcp.forks import SECONDS_TO_LIVE


def keys(memory: Memory) -> set[str]:
    return every_key(memory, f"so:{{{memory.scenario}}}:*")


def test_what_happens_on_a_fork_stays_there_and_it_is_gone_afterwards(memory: Memory) -> None:
    memory.set("e", "v", audience=["Ann", "Bob"])
    before = keys(memory)
    with memory.fork() as fork:
        fork.set("e", "w", audience=["Ann", "Cyd"])
        assert fork.believes(["Cyd", "Ann"], "e") == "w"
        assert fork.believes("Bob", "e") == "v"
        assert fork.verify() == []
        assert memory.believes("Ann", "e") == "v"
        assert len(keys(memory)) == len(before) * 2 + 1
    assert keys(memory) == before
    memory.set("e", "x", by="Ann")
    assert memory.verify() == []


def test_a_fork_is_deleted_when_trying_fails(memory: Memory) -> None:
    memory.set("e", "v", audience=["Ann"])
    before = keys(memory)
    with pytest.raises(ZeroDivisionError), memory.fork():
        raise ZeroDivisionError
    assert keys(memory) == before


def test_a_fork_of_nothing_is_nothing(memory: Memory) -> None:
    with memory.fork() as fork:
        assert fork.agents() == []


def test_a_fork_that_a_crash_left_has_a_time_to_live(own_store: Store) -> None:
    program = """
import os
from so_mcp import Memory
memory = Memory()
with memory.fork() as fork:
    os.kill(os.getpid(), 9)
"""
    with memory_of(own_store) as memory:
        memory.set("e", "v", audience=["Ann"])
        subprocess.run([sys.executable, "-c", program], env=inherited(own_store), check=False)
        left = [key for key in keys(memory) if ":fork:" in key]
        assert len(left) == 3
        for key in left:
            assert 0 < memory.database.command("TTL", key) <= SECONDS_TO_LIVE
