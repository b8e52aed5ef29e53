"""Several writers on one store: nothing lost, nothing torn, nothing twice, nothing in two scenarios."""

from __future__ import annotations

import subprocess
import sys

from stores import Store, inherited, memory_of

from so_mcp import Memory
from so_mcp.events import LoggedEvent
from so_mcp.log import log_calls, log_of

RECORDER = """
import sys
from so_mcp import Memory
with Memory("shared") as memory:
    sys.stdin.readline()
    for number in range(200):
        memory.set(f"e{number % 5}", f"{sys.argv[1]} {number}", audience=["Ann", "Bob", sys.argv[1]])
"""
# Threads of one process, each with a memory of its own, that go on in one instant.
AT_ONCE = """
import sys
from threading import Barrier, Thread
from so_mcp import Memory

def run(writers):
    sys.stdin.readline()
    together, failed = Barrier(len(writers)), []

    def work(scenario, event):
        try:
            with Memory(scenario) as memory:
                memory.step()
                together.wait()
                memory.record([event])
        except BaseException as error:
            failed.append(error)
            together.abort()

    threads = [Thread(target=work, args=writer) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.exit("\\n".join(map(repr, failed)) or None)

"""
MANY = AT_ONCE + """
def said(scenario, writer):
    return {
        "kind": "say", "speaker": writer, "audience": ["Ann", "Bob", "Cyd"], "entity": "e",
        "value": f"{scenario} {writer}", "id": f"{scenario} {writer}",
    }

names = [f"{sys.argv[1]} {number}" for number in range(25)]
run([(scenario, said(scenario, name)) for scenario in sys.argv[2:] for name in names])
"""
RACERS = AT_ONCE + """
event = {"kind": "say", "speaker": "Ann", "audience": ["Bob"], "entity": "e", "value": "v", "id": "one"}
run([("shared", event)] * 10)
"""


def at_once(store: Store, program: str, *arguments: list[str]) -> None:
    """Run a program as often as there are arguments, in processes that begin in one instant."""
    started = [
        subprocess.Popen([sys.executable, "-c", program, *given], env=inherited(store), stdin=subprocess.PIPE,
                         text=True)
        for given in arguments
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate()
    assert [process.returncode for process in started] == [0] * len(arguments)


def log(memory: Memory) -> list[LoggedEvent]:
    return log_of(memory.database.read_together(log_calls(memory.scenario)))


def test_two_processes_record_200_events_each_at_once_and_400_are_there(own_store: Store) -> None:
    with memory_of(own_store, "shared") as memory:
        memory.join(["Ann"], "room")
        at_once(own_store, RECORDER, ["first"], ["second"])
        events = log(memory)
        assert [event.seq for event in events] == list(range(1, 402))
        assert len({event.value for event in events if event.value}) == 400
        assert memory.verify() == []


def test_fifty_writers_in_each_of_eight_scenarios_lose_nothing_and_never_cross(
    own_store: Store,
) -> None:
    scenarios = [f"scenario {number}" for number in range(8)]
    with memory_of(own_store) as memory:
        memory.step()
        at_once(own_store, MANY, *([process, *scenarios] for process in ("one", "two")))
    writers = [f"{process} {number}" for process in ("one", "two") for number in range(25)]
    for scenario in scenarios:
        with memory_of(own_store, scenario) as memory:
            events = log(memory)
            said = [f"{scenario} {writer}" for writer in writers]
            assert sorted(str(event.id) for event in events) == sorted(said)
            assert {event.value for event in events} == set(said)
            assert [event.seq for event in events] == list(range(1, len(said) + 1))
            assert sorted(memory.agents()) == sorted(["Ann", "Bob", "Cyd", *writers])
            assert memory.verify() == []


def test_twenty_racers_recording_one_event_under_one_id_record_it_once(own_store: Store) -> None:
    with memory_of(own_store, "shared") as memory:
        memory.join(["Ann"], "room")
        at_once(own_store, RACERS, [], [])
        assert [event.id for event in log(memory)] == [None, "one"]
        assert memory.verify() == []
