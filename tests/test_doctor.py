"""`so-mcp doctor`: says what is wrong and what to do, writes nothing, shows no secret."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from test_embedded import kill_database, server_pid, servers_of, somebody_starting, wait_until

from so_mcp import Memory, doctor
from so_mcp.cli import main
from so_mcp.config import Config, ServerAddress
from so_mcp.doctor import OK, PROBLEM, WARNING, Check, examine
from so_mcp.embedded import _MODULE_ARGUMENTS, EmbeddedStore, _binaries, is_answering

pytestmark = pytest.mark.runs_on("embedded", why="what doctor looks at of an embedded store, and of servers of its own")


def at(path: Path, agent: str | None = None) -> Config:
    return Config("support", agent, None, path)


def found(checks: list[Check], what: str) -> Check:
    [check] = [check for check in checks if check.what == what]
    return check


@pytest.fixture
def store(store_path: Path) -> Path:
    """A store that was used and left."""
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["Ann", "Bob"])
        memory.grant("Ann")
    return store_path


def everything(path: Path) -> dict[str, str]:
    return {
        str(file): f"{file.lstat().st_mode} {file.lstat().st_mtime_ns} "
        + (hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "")
        for file in (path, *path.rglob("*"))
    }


def test_a_store_at_rest_is_well_and_looking_changes_nothing_and_starts_nothing(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALKORDB_LITE_PATH", str(store))
    before = everything(store)
    assert main(["doctor", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {check["verdict"] for check in said} == {OK}, said
    assert "not running; the first to need it starts it" in json.dumps(said)
    assert main(["doctor"]) == 0
    assert everything(store) == before
    assert servers_of(store) == []


def test_a_running_store_is_looked_into(store: Path) -> None:
    with Memory("李雷", path=store) as memory:
        memory.set("e", "v", by="Ann")
        checks = examine(at(store))
        assert {check.verdict for check in checks} == {OK}, checks
        assert f"process {server_pid(store)}" in found(checks, "database").says
        assert "in use" in found(checks, "database").says
        assert "2 scenarios (support, 李雷), 3 minds" in found(checks, "contents").says
        assert "1 agent can log in" in found(checks, "logins").says
        # An agent's process looks with the agent's own login alone.
        own = examine(at(store, "Ann"))
        assert found(own, "login").verdict == OK
        assert "contents" not in {check.what for check in own}
        assert found(examine(at(store, "Bob")), "login").verdict == PROBLEM
    assert not is_answering(memory.store.socket_path)  # type: ignore[union-attr]


def test_start_starts_it_and_leaves_it_again(store: Path) -> None:
    assert "contents" in {check.what for check in examine(at(store), start=True)}
    assert servers_of(store) == []


def test_a_database_that_nobody_uses_is_told_of(store: Path) -> None:
    """What kill -9 of the last process leaves."""
    program = (
        "import os, sys; from so_mcp import Memory\n"
        "memory = Memory(path=sys.argv[1]); memory.believes('Ann', 'e'); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(store)], check=False)
    check = found(examine(at(store)), "database")
    assert (check.verdict, check.do) == (WARNING, "so-mcp stop")
    assert "though nobody uses it" in check.says
    assert EmbeddedStore(store).stop()


def break_mode(path: Path) -> None:
    path.chmod(0o755)


def break_file_mode(path: Path) -> None:
    (path / "supervisor.json").chmod(0o644)


def break_format(path: Path) -> None:
    (path / "format.json").write_text('{"format": 99}')


def break_format_file(path: Path) -> None:
    (path / "format.json").write_text("{")


def lose_supervisor(path: Path) -> None:
    (path / "supervisor.json").unlink()


def squat(path: Path) -> None:
    for part in path.iterdir():
        shutil.rmtree(part) if part.is_dir() else part.unlink()
    (path / "thesis.txt").write_text("mine")


@pytest.mark.parametrize(("harm", "what", "verdict", "says", "do"), [
    (break_mode, "folder", PROBLEM, "open to other users (mode 755)", "chmod 700 "),
    (break_file_mode, "files", WARNING, "supervisor.json is open to other users", "chmod go= "),
    (break_format, "format", PROBLEM, "this version cannot use the store", "has format 99"),
    (break_format_file, "format", PROBLEM, "this version cannot use the store", "format.json"),
    (lose_supervisor, "files", PROBLEM, "supervisor.json: missing", "so-mcp restore FILE"),
    (squat, "folder", PROBLEM, "is not a store, and not an empty folder", "FALKORDB_LITE_PATH"),
])
def test_what_is_wrong_with_a_folder_is_said_with_what_to_do(
    store: Path, harm: Callable[[Path], None], what: str, verdict: str, says: str, do: str
) -> None:
    harm(store)
    check = found(examine(at(store)), what)
    assert check.verdict == verdict
    assert says in check.says
    assert do in check.do


def test_no_store_and_an_empty_folder_are_no_problem(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        [_, check] = examine(at(path))
        assert (check.what, check.verdict) == ("folder", WARNING)
    assert list(tmp_path.iterdir()) == []


def test_no_room_and_a_network_disk_are_told_of(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "is_short_of_space", lambda _: True)
    monkeypatch.setattr(doctor, "_NETWORK", {doctor._kind_of_disk(store)})
    checks = examine(at(store))
    assert found(checks, "space").verdict == WARNING
    assert "only processes of one machine" in found(checks, "disk").says


def test_a_database_that_does_not_start_is_explained_by_its_log(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALKORDB_LITE_PATH", str(store))
    acl = store / "users.acl"
    kept = acl.read_text()
    acl.write_text(kept.replace("+@all", "+nonsense"))
    assert main(["doctor", "--start"]) == 1
    said = capsys.readouterr().out
    assert "the database did not start" in said
    assert "it was killed, or did not start. Its log ends with: " in said
    assert "users.acl" in said
    acl.write_text(kept)
    assert main(["doctor", "--start"]) == 0


def secrets_of(path: Path) -> list[str]:
    texts = [file.read_text() for file in (path / "agents").iterdir()]
    texts += [(path / name).read_text() for name in ("supervisor.json", "users.acl")]
    return [secret for text in texts for secret in re.findall(r"[0-9a-f]{64}", text)]


def test_no_secret_is_shown_even_where_the_log_holds_one(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALKORDB_LITE_PATH", str(store))
    secrets = secrets_of(store)
    assert len(secrets) >= 4
    with (store / "server.log").open("a") as log:
        log.write("# error in user x >hunter2 #" + " ".join(secrets) + "\n")
    main(["doctor"])
    main(["doctor", "--start"])
    said = capsys.readouterr().out
    assert "error in user x" in said
    for secret in [*secrets, "hunter2"]:
        assert secret not in said


def test_a_database_that_is_stopped_or_held_up_is_told_of_with_its_number(store: Path) -> None:
    with somebody_starting(store) as process:
        check = found(examine(at(store)), "locks")
        assert f"process {process.pid} (" in check.says
    with Memory(path=store) as memory:
        assert memory.believes("Ann", "e") == "v"
        pid = server_pid(store)
        os.kill(pid, signal.SIGSTOP)
        try:
            check = found(examine(at(store)), "database")
        finally:
            os.kill(pid, signal.SIGCONT)
    assert check.verdict == PROBLEM
    assert f"process {pid} has the store but does not answer" in check.says
    assert f"kill -CONT {pid}" in check.do


def test_a_killed_database_and_a_stranger_on_its_socket_are_told_of(store: Path) -> None:
    with Memory(path=store) as memory:
        assert memory.believes("Ann", "e") == "v"
        kill_database(store)
        wait_until(lambda: servers_of(store) == [])
        check = found(examine(at(store)), "database")
        assert check.verdict == WARNING
        assert "it was killed" in check.says
    path = EmbeddedStore(store).socket_path
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(path)
        stranger.listen()
        check = found(examine(at(store)), "socket")
        assert f"another program, process {os.getpid()}" in check.says


# A server -----------------------------------------------------------------------------------------


@contextmanager
def falkordb(*settings: str, module: bool = True) -> Iterator[ServerAddress]:
    """A server on a loopback port."""
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program, library = _binaries()
    lines = [f"port {port}", "bind 127.0.0.1", f"dir {folder}", 'save ""', f"logfile {folder}/log",
             *(line.format(folder=folder) for line in settings)]
    if module:
        lines.append(f"loadmodule {library} {_MODULE_ARGUMENTS}")
    (folder / "users.acl").touch()
    (folder / "redis.conf").write_text("\n".join(lines) + "\n")
    with subprocess.Popen([program, folder / "redis.conf"]) as process:
        client = redis.Redis(port=port)

        def up() -> bool:
            try:
                client.ping()
            except redis.AuthenticationError:
                return True
            except (redis.ConnectionError, redis.BusyLoadingError):
                return False
            return True

        wait_until(up)
        client.close()
        yield ServerAddress("127.0.0.1", port)
        process.terminate()
    shutil.rmtree(folder)


def on(address: ServerAddress, password: str | None = None) -> Config:
    address = ServerAddress(address.host, address.port, None, password)
    return Config("support", None, address, Path("/nowhere"))


def test_a_server_as_it_comes_out_of_the_box_is_told_what_it_lacks() -> None:
    with falkordb("maxmemory 100mb", "maxmemory-policy allkeys-lru") as address:
        checks = examine(on(address))
        assert found(checks, "server").verdict == OK
        assert "FalkorDB 4." in found(checks, "module").says
        assert found(checks, "default user").verdict == PROBLEM
        assert "ACL SETUSER default" in found(checks, "default user").do
        assert found(checks, "writing").verdict == WARNING
        assert "appendonly yes" in found(checks, "writing").do
        assert "until the server is restarted" in found(checks, "logins").says
        assert "throws minds away" in found(checks, "memory").says


def test_a_server_that_is_set_up_well_is_well_and_a_wrong_password_is_named() -> None:
    with falkordb("appendonly yes", "aclfile {folder}/users.acl") as address:
        with redis.Redis(port=address.port) as client:
            client.execute_command("ACL", "SETUSER", "default", "resetpass", ">right")
        checks = examine(on(address, "right"))
        assert {check.verdict for check in checks} == {OK}, checks
        [check] = examine(on(address, "wrong"))
        assert check.verdict == PROBLEM
        assert "FALKORDB_PASSWORD" in check.do
        assert "wrong" not in f"{check}"


def test_a_server_that_is_no_falkordb_or_not_there_is_told_of() -> None:
    with falkordb(module=False) as address:
        assert "it is not a FalkorDB" in found(examine(on(address)), "module").says
    [check] = examine(on(address))
    assert check.verdict == PROBLEM
    assert "Check FALKORDB_HOST and FALKORDB_PORT" in check.do
