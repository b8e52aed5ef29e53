"""The embedded database: who starts it, who shares it, who stops it, and what survives."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from so_mcp import Memory, private_files, server_process
from so_mcp.embedded import EmbeddedStore, is_answering
from so_mcp.errors import ConnectionLostError, PlatformError, StoreError

pytestmark = pytest.mark.runs_on("embedded", why="how the embedded database starts, is shared and stops")


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come about"
        time.sleep(0.005)


def server_pid(path: Path) -> int:
    return int((path / "server.pid").read_text())


def servers_of(path: Path) -> list[int]:
    """The processes that work in a store's data folder, zombies aside."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").samefile(path / "data"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


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


def test_a_database_that_says_much_while_it_starts_is_not_waited_for_any_longer(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has some lines to say of each mind; of all that, the end is looked at."""
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    log = store_path / "server.log"
    monkeypatch.setattr(server_process, "_END_OF_LOG", 200)
    monkeypatch.setattr(server_process, "_LONG_LOG", log.stat().st_size - 1)
    monkeypatch.setattr("so_mcp.embedded._START_SECONDS", 10.0)
    begun = time.monotonic()
    with Memory(path=store_path) as memory:
        assert memory.believes("Ann", "e") == "v"
    assert time.monotonic() - begun < 10
    assert log.read_text().count("Configuration loaded") == 1  # a long one was begun anew


def test_a_slow_answer_is_waited_for_longer_than_the_client_library_would(
    store_path: Path,
) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        pool = memory.database._connections._client(None).connection_pool
        assert pool.connection_kwargs["socket_timeout"] == 120


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


def test_twelve_processes_that_start_in_one_instant_share_one_database(store_path: Path) -> None:
    program = (
        "import fcntl, sys; from so_mcp import Memory\n"
        "memory = Memory(path=sys.argv[1]); print('ready', flush=True)\n"
        "fcntl.flock(open(sys.argv[3]), fcntl.LOCK_SH)\n"
        "memory.set(sys.argv[2], 'v', by='Ann')\n"
        "print(memory.database.command('CONFIG', 'GET', 'pidfile'), flush=True)\n"
        "sys.stdin.readline(); assert memory.believes('Ann', sys.argv[2]) == 'v'\n"
    )
    barrier = store_path.parent / "barrier"
    with barrier.open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        started = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(store_path), f"e{number}", str(barrier)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
            for number in range(12)
        ]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
    for process in started:  # closing the gate's file let all of them go
        assert process.stdout is not None
        assert "server.pid" in process.stdout.readline()
    # Every one has been answered, and none has left: those that listen are counted now.
    assert servers_of(store_path) == [server_pid(store_path)]
    for process in started:
        process.communicate("done\n", timeout=60)
        assert process.returncode == 0
    assert servers_of(store_path) == []
    with Memory(path=store_path) as memory:
        assert sorted(memory.entities()) == sorted(f"e{number}" for number in range(12))
        assert memory.step() == 12
        assert memory.verify() == []


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


def test_who_finds_a_store_half_made_by_another_looks_again_before_complaining(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look whether there is one and the look into the folder, another makes it."""
    make_folder = EmbeddedStore._make_folder

    def late(store: EmbeddedStore) -> None:
        monkeypatch.setattr(EmbeddedStore, "_make_folder", make_folder)
        with Memory(path=store_path) as first:
            first.set("e", "v", by="Ann")
        make_folder(store)

    monkeypatch.setattr(EmbeddedStore, "_make_folder", late)
    with Memory(path=store_path) as second:
        assert second.believes("Ann", "e") == "v"


def test_a_stale_pid_file_never_costs_a_stranger_its_life(store_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        with Memory(path=store_path) as memory:
            memory.set("e", "v", by="Ann")
            (store_path / "server.pid").write_text(str(stranger.pid))
        assert not is_answering(memory.store.socket_path)
        assert stranger.poll() is None
        stranger.communicate(b"\n")
        assert stranger.returncode == 0


# What a process that died, or lives on, can leave in the way ---------------------------------------

HOLDER = (
    "import sys; from pathlib import Path; from so_mcp.private_files import locked\n"
    "with locked(Path(sys.argv[1]) / 'start.lock'):\n"
    "    print('ready', flush=True); sys.stdin.readline()\n"
)


@contextmanager
def somebody_starting(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the start of a store up."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate("\n", timeout=30)


def test_who_waits_for_a_stopped_starter_is_told_its_number_and_the_way_out(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_files, "_PATIENCE_WITH_A_STOPPED_ONE", 0.1)
    store_path.mkdir()
    with somebody_starting(store_path) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        with pytest.raises(StoreError) as caught:
            Memory(path=store_path).set("e", "v", by="Ann")
        assert f"process {process.pid}" in str(caught.value)
        assert f"which is stopped (to let it go on: kill -CONT {process.pid})" in str(caught.value)
        process.send_signal(signal.SIGCONT)
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")


def test_who_waits_for_a_slow_starter_waits_longer_and_is_told_then(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_files, "_PATIENCE_WITH_A_STOPPED_ONE", 0.0)
    monkeypatch.setattr(private_files, "_PATIENCE", 0.3)
    store_path.mkdir()
    with somebody_starting(store_path) as process:
        begun = time.monotonic()
        with pytest.raises(StoreError, match=rf"held for \d+ seconds by process {process.pid} \("):
            Memory(path=store_path).set("e", "v", by="Ann")
        assert time.monotonic() - begun > 0.3


def test_a_zombie_of_the_database_does_not_stop_the_next_start(store_path: Path) -> None:
    """Where nobody buries the dead, as in a container whose first process is no init."""
    become_a_subreaper, on, off = 36, 1, 0
    libc = ctypes.CDLL(None)
    assert libc.prctl(become_a_subreaper, on, 0, 0, 0) == 0
    try:
        with Memory(path=store_path) as memory:
            memory.set("e", "v", by="Ann")
            dead = server_pid(store_path)
            kill_database(store_path)
            wait_until(lambda: "\nState:\tZ" in Path(f"/proc/{dead}/status").read_text())
            assert memory.believes("Ann", "e") == "v"
            assert server_pid(store_path) != dead
            assert "\nState:\tZ" in Path(f"/proc/{dead}/status").read_text()
            second = server_pid(store_path)
        for pid in (dead, second):
            os.waitpid(pid, 0)
    finally:
        libc.prctl(become_a_subreaper, off, 0, 0, 0)


def test_a_stranger_who_listens_where_the_socket_belongs_does_not_stop_the_next_start(
    store_path: Path,
) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(memory.store.socket_path)
        stranger.listen()
        with Memory(path=store_path) as again:
            assert again.believes("Ann", "e") == "v"


def test_a_folder_where_the_socket_belongs_is_a_clear_error(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    taken = Path(memory.store.socket_path)
    taken.mkdir()
    with pytest.raises(StoreError, match=r"redis\.sock cannot be prepared: Is a directory"):
        Memory(path=store_path).believes("Ann", "e")
    taken.rmdir()
    with Memory(path=store_path) as memory:
        assert memory.believes("Ann", "e") == "v"


def test_a_database_whose_socket_was_removed_is_started_anew_and_loses_nothing(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those who tidy /tmp do it, where the socket of a store in a deep folder is."""
    monkeypatch.setattr("so_mcp.embedded._SOCKET_GONE_SECONDS", 0.1)
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        first = server_pid(store_path)
        Path(memory.store.socket_path).unlink()
        with Memory(path=store_path) as other:
            assert other.believes("Ann", "e") == "v"
            assert server_pid(store_path) != first
            assert memory.believes("Ann", "e") == "v"
            assert servers_of(store_path) == [server_pid(store_path)]


def test_a_child_that_outlives_the_killed_database_for_a_moment_is_waited_for(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis forks to rewrite its file; the child has inherited the lock that says it runs."""
    looked_for, find = threading.Event(), server_process.server_pid

    def found(path: Path, socket_path: str) -> int | None:
        looked_for.set()
        return find(path, socket_path)

    monkeypatch.setattr("so_mcp.embedded._SOCKET_GONE_SECONDS", 0.0)
    monkeypatch.setattr(server_process, "server_pid", found)
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        kill_database(store_path)
    looked_for.clear()
    (store_path / "redis.sock").unlink()
    answers: list[str | None] = []
    with (store_path / "server.lock").open() as child:
        fcntl.flock(child, fcntl.LOCK_EX)

        def ask() -> None:
            with Memory(path=store_path) as other:
                answers.append(other.believes("Ann", "e"))

        thread = threading.Thread(target=ask)
        thread.start()
        assert looked_for.wait(30)
        assert not answers
    thread.join(30)
    assert answers == ["v"]


def test_what_changes_nothing_is_asked_once_more_when_the_connection_is_lost(
    store_path: Path,
) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")

        def kill_once(_: object) -> None:
            """Just before what was packed is sent."""
            memory.database.observers.clear()
            kill_database(store_path)

        asked: list[Callable[[], object]] = [
            memory.step, memory.scenarios, memory.grants, memory.verify,
            lambda: memory.database.command("ACL", "LIST"),
        ]
        for ask in asked:
            expected = ask()
            memory.database.observers.append(kill_once)
            assert ask() == expected
        for change in (("SET", "key", "1"), ("ACL", "SETUSER", "somebody")):
            memory.database.observers.append(kill_once)
            with pytest.raises(ConnectionLostError, match="the next call starts it"):
                memory.database.command(*change)
        assert memory.step() == 1


def test_stopping_a_database_that_does_not_end_says_so(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_process, "_STOP_SECONDS", 0.2)
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        pid = server_pid(store_path)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreError, match=rf"process {pid}, does not end.*kill -CONT"):
                EmbeddedStore(store_path).stop()
        finally:
            os.kill(pid, signal.SIGCONT)


# Leaving while another thread is at work -----------------------------------------------------------


def test_a_thread_at_work_cannot_start_again_what_was_closed_for_good(store_path: Path) -> None:
    for _ in range(3):
        memory = Memory(path=store_path)
        memory.set("e", "v", by="Ann")
        errors: list[Exception] = []

        def work(memory: Memory = memory, errors: list[Exception] = errors) -> None:
            try:
                while True:
                    memory.set("e", "w", by="Ann")
            except StoreError as error:
                errors.append(error)

        before = memory.step()
        thread = threading.Thread(target=work)
        thread.start()
        while memory.step() < before + 3:
            pass
        memory.database.close(for_good=True)
        thread.join(30)
        assert len(errors) == 1
        assert not is_answering(memory.store.socket_path)
        with pytest.raises(ConnectionLostError, match="this process is ending"):
            memory.believes("Ann", "e")
        assert servers_of(store_path) == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_server_told_to_end_while_it_records_leaves_no_database_and_nothing_torn(
    store_path: Path, name: str
) -> None:
    events = [
        {"kind": "say", "speaker": "Ann", "entity": "e", "value": str(number), "audience": ["Bob"],
         "id": str(number)}
        for number in range(3_000)
    ]
    messages = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "record", "arguments": {"events": events}}},
    ]
    command = shutil.which("so-mcp", path=Path(sys.executable).parent)
    assert command is not None
    with subprocess.Popen(
        [command], env={"FALKORDB_LITE_PATH": str(store_path)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    ) as process:
        assert process.stdin is not None
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
        written = store_path / "data" / "appendonlydir" / "appendonly.aof.1.incr.aof"
        wait_until(lambda: written.exists() and written.stat().st_size > 50_000)
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=60)
        assert process.returncode == 128 + getattr(signal, name)
    assert servers_of(store_path) == []
    with Memory(path=store_path) as memory:
        assert 0 < memory.step() < 3_000
        assert memory.verify() == []
