"""The embedded database: who starts it, who shares it, who stops it, and what survives."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from so_mcp import Memory
from so_mcp.embedded import EmbeddedStore, is_answering
from so_mcp.errors import PlatformError, StoreError


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come about"
        time.sleep(0.005)


def server_pid(path: Path) -> int:
    return int((path / "server.pid").read_text())


def kill_database(path: Path) -> None:
    pid = server_pid(path)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_answering(EmbeddedStore(path).socket_path))


def test_a_store_is_private_to_its_user(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        memory.grant("Ann")
        assert stat.S_IMODE(store_path.stat().st_mode) == 0o700
        for file in store_path.rglob("*"):
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_the_last_to_leave_stops_the_database_and_what_was_recorded_stays(store_path: Path) -> None:
    first, second = Memory(path=store_path), Memory(path=store_path)
    first.set("e", "v", by="Ann")
    pid = server_pid(store_path)
    assert second.believes("Ann", "e") == "v"
    first.close()
    assert second.believes("Ann", "e") == "v"
    assert server_pid(store_path) == pid
    second.close()
    assert not is_answering(second.store.socket_path)
    with Memory(path=store_path) as again:
        assert again.believes("Ann", "e") == "v"


def test_a_process_that_ends_without_closing_leaves_no_database_behind(store_path: Path) -> None:
    program = (
        "import sys; from so_mcp import Memory\n"
        "memory = Memory(path=sys.argv[1]); memory.set('e', 'v', by='Ann')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(store_path)], check=True)
    assert not is_answering(EmbeddedStore(store_path).socket_path)


def test_an_acknowledged_event_survives_kill_minus_9_of_the_database(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        for number in range(10):
            memory.set("e", str(number), audience=["Ann", "Bob"])
            kill_database(store_path)
            assert memory.believes(["Ann", "Bob"], "e") == str(number)
        assert memory.verify() == []


def test_a_store_that_takes_a_while_to_load_is_waited_for(store_path: Path) -> None:
    """Redis refuses commands while it reads its file, once that takes more than a moment."""
    with Memory(path=store_path) as memory:
        memory.record([
            {"kind": "say", "speaker": "Ann", "entity": "e", "value": str(number),
             "audience": ["Bob"], "happened_at": number}
            for number in range(2_500)
        ])
    for _ in range(2):
        with Memory(path=store_path) as memory:
            assert memory.believes(["Bob", "Ann"], "e") == "2499"
            kill_database(store_path)
            assert memory.believes(["Ann", "Bob"], "e") == "2499"


@pytest.mark.parametrize("name", ["größe ü", 'a "quoted" one', "李雷"])
def test_a_store_may_lie_in_a_folder_of_any_name(store_path: Path, name: str) -> None:
    with Memory(path=store_path.parent / name) as memory:
        memory.set("e", "v", by="Ann")
        assert memory.believes("Ann", "e") == "v"


def test_a_killed_owner_of_the_store_does_not_stop_the_next(store_path: Path) -> None:
    program = (
        "import os, sys; from so_mcp import Memory\n"
        "memory = Memory(path=sys.argv[1]); memory.set('e', 'v', by='Ann')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(store_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Memory(path=store_path) as memory:
        assert memory.believes("Ann", "e") == "v"
        pid = server_pid(store_path)
    wait_until(lambda: not is_answering(memory.store.socket_path))
    assert pid


def test_processes_that_start_at_one_moment_share_one_database(store_path: Path) -> None:
    program = (
        "import sys; from so_mcp import Memory\n"
        "memory = Memory(path=sys.argv[1]); sys.stdin.readline()\n"
        "memory.set(sys.argv[2], 'v', by='Ann'); print(memory.database.command('INFO', 'server'))\n"
        "sys.stdout.flush(); sys.stdin.readline()\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(store_path), f"e{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(6)
    ]
    pids = set()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                pids.add(line.partition("'process_id': ")[2].partition(",")[0])
                break
            if line.startswith("process_id:"):
                pids.add(line.strip().partition(":")[2])
                break
    for process in started:
        process.communicate("done\n")
        assert process.returncode == 0
    assert len(pids) == 1, pids
    with Memory(path=store_path) as memory:
        assert sorted(memory.entities()) == [f"e{number}" for number in range(6)]


def test_a_file_where_the_store_should_be_is_a_clear_error_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    file = tmp_path / "falkor.db"
    file.write_text("mine")
    with pytest.raises(StoreError, match=r"expected a folder of its own, got the file .*falkor.db"):
        Memory(path=file).set("e", "v", by="Ann")
    assert file.read_text() == "mine"


def test_a_folder_with_other_things_in_it_is_not_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"not a store and not empty \(it holds 'thesis.txt'\)"):
        Memory(path=tmp_path).set("e", "v", by="Ann")
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_store_of_a_newer_format_is_left_alone(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    (store_path / "format.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(StoreError, match="has format 99; this version reads 1"):
        Memory(path=store_path).believes("Ann", "e")


def test_a_store_in_a_deep_folder_has_its_socket_in_a_short_private_one() -> None:
    with tempfile.TemporaryDirectory() as parent:
        path = Path(parent) / ("deep-" * 20) / "store"
        with Memory(path=path) as memory:
            memory.set("e", "v", by="Ann")
            folder = Path(memory.store.socket_path).parent
            assert folder != path
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert memory.believes("Ann", "e") == "v"


def test_stop_ends_the_database_whoever_uses_it(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        assert EmbeddedStore(store_path).stop()
        assert not is_answering(memory.store.socket_path)
        assert memory.believes("Ann", "e") == "v"  # the next call starts it again
    assert not EmbeddedStore(store_path).stop()


def test_without_the_bundled_binaries_the_error_says_how_to_use_a_server(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(PlatformError, match="set FALKORDB_HOST, FALKORDB_PORT"):
        Memory(path=store_path).set("e", "v", by="Ann")


def test_binaries_that_cannot_run_give_an_error_that_says_how_to_use_a_server(
    store_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "redis-server"
    broken.write_text("not a program")
    monkeypatch.setattr("so_mcp.embedded._binaries", lambda: (str(broken), "falkordb.so"))
    with pytest.raises(PlatformError, match=r"does not run on this machine .* Use a FalkorDB"):
        Memory(path=store_path).set("e", "v", by="Ann")


def test_a_server_that_is_slow_is_never_taken_for_dead(store_path: Path) -> None:
    """Stopped for a moment, it answers nobody: a second one must not be started beside it."""
    program = (
        "import sys; from so_mcp import Memory\n"
        "with Memory(path=sys.argv[1]) as memory:\n"
        "    print('ready', flush=True); memory.set('f', 'w', by='Bob')\n"
    )
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        pid = server_pid(store_path)
        os.kill(pid, signal.SIGSTOP)
        with subprocess.Popen(
            [sys.executable, "-c", program, str(store_path)], stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(timeout=1)
            os.kill(pid, signal.SIGCONT)
            assert other.wait(timeout=60) == 0
        assert server_pid(store_path) == pid
        assert memory.believes("Bob", "f") == "w"


def test_a_fork_of_a_process_neither_stops_the_database_nor_holds_anybody_up(
    store_path: Path,
) -> None:
    program = """
import os, sys
from so_mcp import Memory
memory = Memory(path=sys.argv[1])
memory.set("e", "v", by="Ann")
if os.fork() == 0:
    sys.exit(0)  # runs every finaliser
os.wait()
assert memory.believes("Ann", "e") == "v"
if os.fork() == 0:
    assert memory.believes("Ann", "e") == "v"  # a child may use it too
    memory.close()
    os._exit(0)
assert os.wait()[1] == 0
with Memory(path=sys.argv[1]) as other:
    assert other.believes("Ann", "e") == "v"
memory.set("e", "w", by="Ann")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(store_path)], check=False, timeout=60
    )
    assert done.returncode == 0
    assert not is_answering(EmbeddedStore(store_path).socket_path)


def test_one_store_reached_by_two_names_has_one_database(store_path: Path) -> None:
    store_path.mkdir()
    link = store_path.parent / ("long-name-" * 12)
    link.symlink_to(store_path)
    with Memory(path=store_path) as memory, Memory(path=link) as other:
        memory.set("e", "v", by="Ann")
        assert other.believes("Ann", "e") == "v"
        assert memory.store.socket_path == other.store.socket_path


def test_a_stale_pid_file_never_costs_a_stranger_its_life(store_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        with Memory(path=store_path) as memory:
            memory.set("e", "v", by="Ann")
            (store_path / "server.pid").write_text(str(stranger.pid))
        assert not is_answering(memory.store.socket_path)
        assert stranger.poll() is None
        stranger.communicate(b"\n")
        assert stranger.returncode == 0
