"""Several writers on one store: nothing lost, nothing torn, nothing twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from so_mcp import Memory
from so_mcp.database import Call
from so_mcp.names import world_key

RECORDER = """
import sys
from so_mcp import Memory
with Memory("shared", path=sys.argv[1]) as memory:
    sys.stdin.readline()
    for number in range(200):
        memory.set(f"e{number % 5}", f"{sys.argv[2]} {number}", audience=["Ann", "Bob", sys.argv[2]])
"""


def test_two_processes_record_200_events_each_at_once_and_400_are_there(store_path: Path) -> None:
    with Memory("shared", path=store_path) as memory:
        memory.join(["Ann"], "room")
        started = [
            subprocess.Popen(
                [sys.executable, "-c", RECORDER, str(store_path), name],
                stdin=subprocess.PIPE, text=True,
            )
            for name in ("first", "second")
        ]
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in started:
            process.communicate()
            assert process.returncode == 0
        [events] = memory.database.read_all(
            [Call(world_key("shared"), "world/events", {"after": 0})]
        )
        assert len(events) == 401
        assert [event["seq"] for event in events] == list(range(1, 402))
        assert len({event["value"] for event in events if event["value"]}) == 400
        assert memory.verify() == []


def test_racers_recording_one_event_under_one_id_record_it_once(store_path: Path) -> None:
    program = """
import sys
from so_mcp import Memory
with Memory("shared", path=sys.argv[1]) as memory:
    sys.stdin.readline()
    memory.record([{"kind": "state", "entity": "e", "value": "v", "by": "Ann", "id": "one"}])
"""
    with Memory("shared", path=store_path) as memory:
        memory.join(["Ann"], "room")
        started = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(store_path)], stdin=subprocess.PIPE, text=True
            )
            for _ in range(6)
        ]
        for process in started:
            process.communicate("go\n")
            assert process.returncode == 0
        [events] = memory.database.read_all(
            [Call(world_key("shared"), "world/events", {"after": 0})]
        )
        assert [event["id"] for event in events] == [None, "one"]
