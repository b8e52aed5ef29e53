"""The fault run: ten rounds of it find nothing, and an engine that is broken it does not pass.

`python -m eval faults` takes hundreds of rounds, and its other parts; see `eval/faults`.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from eval.__main__ import main
from eval.faults import report
from eval.faults.attack import Attack
from eval.faults.inputs import Crash, Inputs
from eval.faults.kills import Kills, kills
from eval.faults.processes import kill_servers, servers, settled
from eval.faults.report import Report
from eval.faults.starts import Starts, starts
from so_mcp import Memory

pytestmark = pytest.mark.runs_on("embedded", why="it kills databases that must come back by themselves")

DEFECTS = [("no durability", "lost"), ("a witness is skipped", "torn"), ("ids are ignored", "doubled")]


def test_ten_rounds_of_kills_lose_tear_and_double_nothing() -> None:
    found = kills(10)
    assert found.ok, found
    assert set(found.kills) == {"database", "supervisor", "starter"}
    assert sum(found.kills.values()) >= 10
    assert found.mid_batch >= 3
    assert found.acknowledged > 500


@pytest.mark.parametrize(("broken", "what"), DEFECTS)
def test_an_engine_that_is_broken_is_noticed(broken: str, what: str) -> None:
    found = kills(2, broken=broken, targets=("database", "supervisor"))
    assert getattr(found, what) > 0, found
    assert not found.ok


def test_processes_that_start_in_one_instant_share_one_database_round_after_round() -> None:
    found = starts(2, processes=6)
    assert found == Starts(rounds=2, processes=6, servers=1, wrong=0, left_behind=0)
    assert found.ok


def test_a_second_server_on_a_store_is_counted(store_path: Path) -> None:
    """The product prevents it; so it is started here by hand, on the same files."""
    with Memory(path=store_path) as memory:
        memory.step()
        assert len(servers(store_path)) == 1
        [pid] = servers(store_path)
        binary = Path(f"/proc/{pid}/exe").resolve()
        with subprocess.Popen(
            [binary, "--port", "0", "--unixsocket", "second.sock"], cwd=store_path / "data",
            stdout=subprocess.DEVNULL,
        ) as second:
            assert settled(store_path, 2) == 2
            second.send_signal(signal.SIGKILL)
        assert settled(store_path, 1) == 1
        kill_servers(store_path)
        assert settled(store_path, 0) == 0


def test_a_database_that_is_killed_while_it_starts_is_started_again(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    stop = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < 3 and not stop.is_set():
            killed.extend([1] * kill_servers(store_path))

    for _ in range(3):
        killed.clear()
        with Memory(path=store_path) as memory:
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                assert memory.believes("Ann", "e") == "v"
            finally:
                stop.set()
                killer.join()
                stop.clear()
        assert killed


@pytest.mark.skipif(shutil.which("cc") is None, reason="a slow disk is made with a C compiler")
def test_an_acknowledged_event_survives_kill_minus_9_on_a_slow_disk(
    store_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a flush to disk is under way, Redis may answer before it has written at all."""
    library = tmp_path / "slow.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], check=True, text=True,
        input="#include <unistd.h>\n"
              "int fsync(int fd) { usleep(300000); return 0; }\n"
              "int fdatasync(int fd) { usleep(300000); return 0; }\n",
    )
    run = subprocess.run

    def slowly(*arguments: object, **named: object) -> object:
        if "pass_fds" in named:  # it is the database that is started
            named["env"] = {**named["env"], "LD_PRELOAD": str(library)}  # type: ignore[dict-item]
        return run(*arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr("so_mcp.embedded.subprocess.run", slowly)
    with Memory(path=store_path) as memory:
        memory.set("e", "first", by="Ann")
        deadline = time.monotonic() + 1.5  # once a second it begins one, if it does it by itself
        while time.monotonic() < deadline:
            memory.set("e", "another", by="Ann")
            if "aof_pending_bio_fsync:1" in memory.database.command("INFO", "persistence"):
                break
        memory.set("e", "last", by="Ann")
        kill_servers(store_path)
        assert memory.believes("Ann", "e") == "last"
        assert memory.verify() == []


NONE_CRASHED = Inputs(1, 9, 5, 4, (), ("record_event",), 0.1)
CRASHED = replace(NONE_CRASHED, crashes=(Crash("say", "KeyError", "{}"),))
GOOD = Report(
    Kills(1, 1, {"database": 1}, 1, 10, 0, 0, 0, 1, [], []), Starts(1, 12, 1, 0, 0),
    NONE_CRASHED, NONE_CRASHED, Attack("Ann", 9, 9, (), 9, (), 9, 1.0), 1.0,
)
BAD = {
    "lost": replace(GOOD, kills=replace(GOOD.kills, lost=1)),
    "torn": replace(GOOD, kills=replace(GOOD.kills, torn=1)),
    "doubled": replace(GOOD, kills=replace(GOOD.kills, doubled=1)),
    "2 servers": replace(GOOD, kills=replace(GOOD.kills, servers=2)),
    "W1: no answer": replace(GOOD, kills=replace(GOOD.kills, errors=["W1: no answer"])),
    "3 servers": replace(GOOD, starts=replace(GOOD.starts, servers=3)),
    "wrong answers": replace(GOOD, starts=replace(GOOD.starts, wrong=1)),
    "left a server": replace(GOOD, starts=replace(GOOD.starts, left_behind=1)),
    "say: KeyError": replace(GOOD, inputs=CRASHED),
    "KeyError": replace(GOOD, lines=CRASHED),
    "may run keys": replace(GOOD, attack=replace(GOOD.attack, allowed=("keys",))),
    "brief differs": replace(GOOD, attack=replace(GOOD.attack, differing=("brief differs",))),
    "hidden takes 1.20": replace(GOOD, attack=replace(GOOD.attack, ratio=1.2)),
}


def test_a_run_without_findings_exits_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "measure", lambda *_: GOOD)
    assert main(["faults", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failures"] == []


@pytest.mark.parametrize("finding", BAD)
def test_any_finding_is_said_and_makes_the_exit_code_1(
    finding: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "measure", lambda *_: BAD[finding])
    assert main(["faults"]) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert finding in line
