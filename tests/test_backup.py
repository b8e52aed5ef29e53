"""Backup of a running store, and a store from it: consistent, complete, private, all or nothing."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from so_mcp import AgentView, Memory
from so_mcp.backup import backup, restore
from so_mcp.cli import main
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import InvalidInputError, StoreError

pytestmark = pytest.mark.runs_on("embedded", why="backup and restore of the embedded store; a server has its own")

COMMAND = str(Path(sys.executable).parent / "so-mcp")


def so_mcp(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copy_path(store_path: Path) -> Iterator[Path]:
    """Where a backup is restored to; its server is stopped afterwards."""
    path = store_path.parent / "copy"
    yield path
    EmbeddedStore(path).stop()


@pytest.fixture
def saved(store_path: Path) -> Path:
    """A backup of a small store."""
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["Ann", "Bob"])
        memory.grant("Ann")
    file = store_path.parent / "backup.tar"
    backup(EmbeddedStore(store_path), file)
    return file


WRITER = """
import sys
from so_mcp import Memory
with Memory(sys.argv[2], path=sys.argv[1]) as memory:
    for number in range(1_000_000):
        memory.say("Ann", "e", str(number), audience=["Bob", sys.argv[2]])
        if number == 20:
            print("ready", flush=True)
"""


def test_a_backup_taken_while_others_write_is_one_moment_and_every_mind_fits_the_log(
    store_path: Path, copy_path: Path
) -> None:
    file = store_path.parent / "backup.tar"
    names = ["desk", "chat", "李雷 *"]
    with Memory("desk", path=store_path) as memory:
        memory.set("secret", "held", audience=["Shipping"])
        memory.grant("Shipping")
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(store_path), name],
                stdout=subprocess.PIPE, text=True,
            )
            for name in names
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        before = memory.step()
        size = backup(EmbeddedStore(store_path), file)
        after = memory.step()
        for writer in writers:
            assert writer.poll() is None, "it went on all the while"
            writer.kill()
            writer.communicate()
    assert size == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restore(file, EmbeddedStore(copy_path))
    for name in names:
        with Memory(name, path=copy_path) as memory:
            assert memory.verify() == []
            assert memory.step() >= 20
    with Memory("desk", path=copy_path) as memory:
        assert before <= memory.step() <= after
        assert {found.name for found in memory.scenarios()} == set(names)
        # Its login works there, and for no more than it did.
        with AgentView("Shipping", "desk", EmbeddedStore(copy_path)) as view:
            assert [held.value for held in view.my_beliefs("secret")] == ["held"]
        username, password = memory.store.agent_login("Shipping")  # type: ignore[union-attr]
        client = redis.Redis(
            unix_socket_path=memory.store.socket_path,  # type: ignore[union-attr]
            username=username, password=password, protocol=2,
        )
        with client, pytest.raises(redis.exceptions.NoPermissionError):
            client.execute_command("GRAPH.RO_QUERY", "so:{desk}:world", "RETURN 1")
        memory.set("secret", "told", audience=["Shipping"])
    with Memory("desk", path=copy_path) as memory:
        assert memory.believes("Shipping", "secret") == "told"
        assert memory.verify() == []


def test_the_store_that_was_backed_up_is_as_before_and_what_was_made_for_it_is_gone(
    store_path: Path, saved: Path
) -> None:
    assert [file.name for file in (store_path / "data").iterdir()] == ["appendonlydir"]
    assert sorted(file.name for file in saved.parent.iterdir()) == ["backup.tar", "store"]
    with Memory(path=store_path) as memory:
        memory.set("e", "w", audience=["Ann", "Bob"])
        assert memory.verify() == []


def test_a_restored_store_is_private_and_may_be_backed_up_again(
    saved: Path, copy_path: Path
) -> None:
    copy_path.mkdir()  # an empty folder will do
    restore(saved, EmbeddedStore(copy_path))
    for file in (copy_path, *copy_path.rglob("*")):
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
    again = saved.parent / "again.tar"
    backup(EmbeddedStore(copy_path), again)
    with tarfile.open(saved) as one, tarfile.open(again) as other:
        assert one.getnames() == other.getnames()


def test_nothing_that_exists_is_replaced(saved: Path, store_path: Path, copy_path: Path) -> None:
    content = saved.read_bytes()
    with pytest.raises(InvalidInputError, match=r"backup\.tar exists"):
        backup(EmbeddedStore(store_path), saved)
    assert saved.read_bytes() == content
    with pytest.raises(InvalidInputError, match="is not empty, and nothing is ever replaced"):
        restore(saved, EmbeddedStore(store_path))
    copy_path.write_text("mine")
    with pytest.raises(InvalidInputError, match="nothing is ever replaced"):
        restore(saved, EmbeddedStore(copy_path))
    assert copy_path.read_text() == "mine"
    copy_path.unlink()


def rewritten(file: Path, change: Callable[[str, bytes], tuple[str, bytes] | None]) -> None:
    """Write the archive again, with some of its files changed, renamed or left out."""
    made = io.BytesIO()
    with tarfile.open(file) as old, tarfile.open(fileobj=made, mode="w") as new:
        for entry in old:
            stream = old.extractfile(entry)
            assert stream is not None
            changed = change(entry.name, stream.read())
            if changed is not None:
                added = tarfile.TarInfo(changed[0])
                added.size = len(changed[1])
                new.addfile(added, io.BytesIO(changed[1]))
    file.write_bytes(made.getvalue())


def leading_out(name: str, content: bytes) -> tuple[str, bytes]:
    if name == "manifest.json":
        contents = json.loads(content)
        contents["sha256"]["../outside"] = contents["sha256"].pop("format.json")
        return name, json.dumps(contents).encode()
    return ("../outside" if name == "format.json" else name), content


def newer(name: str, content: bytes) -> tuple[str, bytes]:
    if name == "manifest.json":
        return name, json.dumps(json.loads(content) | {"format": 99}).encode()
    return name, content


CHANGES: dict[str, tuple[Callable[[str, bytes], tuple[str, bytes] | None], str]] = {
    "a byte of the data": (
        lambda name, content: (name, content[:-9] + b"x" + content[-8:] if "base.rdb" in name else content),
        r"base\.rdb is not as it was written",
    ),
    "a login": (
        lambda name, content: (name, content.replace(b"resetkeys", b"allkeys") + b"\n"
                               if name == "users.acl" else content),
        r"users\.acl is not as it was written",
    ),
    "a file too few": (
        lambda name, content: None if name == "supervisor.json" else (name, content),
        r"it ends before supervisor\.json",
    ),
    "a file under another name": (
        lambda name, content: ("stranger" if name == "users.acl" else name, content),
        "stranger does not belong there",
    ),
    "a path that leads out": (leading_out, "its list of files is wrong"),
    "a newer format": (newer, "a store of format 99"),
    "no list": (
        lambda name, content: None if name == "manifest.json" else (name, content),
        "is not a backup that so-mcp made",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_backup_that_was_changed_is_refused_before_anything_is_in_place(
    saved: Path, copy_path: Path, change: str
) -> None:
    what, message = CHANGES[change]
    rewritten(saved, what)
    with pytest.raises(InvalidInputError, match=message):
        restore(saved, EmbeddedStore(copy_path))
    assert sorted(file.name for file in saved.parent.iterdir()) == ["backup.tar", "store"]


def test_a_backup_cut_off_anywhere_is_refused(saved: Path, copy_path: Path) -> None:
    content = saved.read_bytes()
    with tarfile.open(saved) as tar:
        end = max(entry.offset_data + entry.size for entry in tar)
    for length in range(0, end, 499):
        saved.write_bytes(content[:length])
        with pytest.raises(InvalidInputError, match="restore: "):
            restore(saved, EmbeddedStore(copy_path))
        assert not copy_path.exists()
    with pytest.raises(StoreError, match="No such file"):
        restore(saved.parent / "none.tar", EmbeddedStore(copy_path))


def test_backup_and_restore_from_the_command_line(store_path: Path, copy_path: Path) -> None:
    file = store_path.parent / "kept.tar"
    with Memory(path=store_path) as memory:
        memory.set("e", "v", audience=["Ann"])
    env = {"FALKORDB_LITE_PATH": str(store_path)}
    done = so_mcp("backup", str(file), **env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "keep it as safe as the store" in done.stdout
    assert so_mcp("backup", str(file), **env).returncode == 1
    other = {"FALKORDB_LITE_PATH": str(copy_path)}
    done = so_mcp("restore", str(file), **other)
    assert (done.returncode, done.stderr) == (0, "")
    assert so_mcp("verify", **other).returncode == 0
    assert "nothing is ever replaced" in so_mcp("restore", str(file), **other).stderr


def test_an_agent_and_a_server_have_no_backup_and_are_told_what_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FALKORDB_LITE_PATH", str(tmp_path / "store"))
    file = str(tmp_path / "x.tar")
    for command in ("backup", "restore"):
        for name, value, told in (
            ("SO_AGENT", "Ann", "SO_AGENT is set"), ("FALKORDB_HOST", "db.example", "so-mcp export")
        ):
            with monkeypatch.context() as env:
                env.setenv(name, value)
                assert main([command, file]) == 1
            assert told in capsys.readouterr().err
    assert main(["backup", file]) == 1
    assert "there is no store" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
