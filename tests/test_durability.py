"""Disks that fill up, folders that are read-only, files that are damaged, stores of another format.

Each gives one clear error; nothing is overwritten; and once the cause is gone, all that was
acknowledged is there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from so_mcp import AgentView, Memory, store_format
from so_mcp.append_only import mend
from so_mcp.database import client_of
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import StoreError

pytestmark = pytest.mark.runs_on("embedded", why="what kills, full disks and torn files do to the embedded database")

ROOT = Path(__file__).parent.parent


# A disk of our own --------------------------------------------------------------------------------

Run = Callable[..., "dict[str, object]"]


@pytest.fixture
def on_a_small_disk(tmp_path: Path) -> Run:
    """Runs a program with a disk of 8 MB, gone afterwards; it is told where, and prints JSON."""
    own = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-Urm"]
    mount = f"mount -t tmpfs -o size=8m,mode=700 tmpfs {tmp_path}"
    probe = subprocess.run([*own, "sh", "-c", mount], capture_output=True, text=True, check=False)
    if probe.returncode:
        reason = f"no disk of our own can be mounted here: {probe.stderr.strip()}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    def run(program: str, *arguments: str) -> dict[str, object]:
        words = [sys.executable, "-c", PRELUDE + program, str(tmp_path), *arguments]
        done = subprocess.run(
            [*own, "sh", "-c", f'{mount} && exec "$@"', "sh", *words],
            capture_output=True, text=True, check=False, timeout=60, cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    return run


PRELUDE = """
import json, os, subprocess, sys
from pathlib import Path
from eval.faults.processes import servers
from so_mcp import Memory, private_files
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import StoreError
disk = Path(sys.argv[1]); path = disk / "store"
def fill(but):
    (disk / "fill").unlink(missing_ok=True)
    left = os.statvfs(disk)
    (disk / "fill").write_bytes(b"x" * (left.f_bavail * left.f_frsize - but))
def refused(attempt):
    try:
        attempt()
    except StoreError as error:
        return f"{type(error).__name__}: {error}"
"""

FULL = """
private_files._FULL = int(sys.argv[3])
with Memory(path=path) as memory:
    def record(number):
        memory.set("e", f"{number} " + "x" * 2000, audience=["Ann", "Bob"], id=f"event {number}")
    record(0)
    fill(but=private_files._FULL + 300_000)
    acknowledged = 0
    try:
        while acknowledged < 1000:
            record(acknowledged + 1)
            acknowledged += 1
    except StoreError as error:
        first = f"{type(error).__name__}: {error}"
    again = refused(lambda: record(acknowledged + 1))
    if sys.argv[2] == "KILL":
        for server in servers(path):
            os.kill(server, 9)
    if sys.argv[2] == "STOP":
        EmbeddedStore(path).stop()
    readable = memory.believes(["Ann", "Bob"], "e").split()[0]
    verified = memory.verify()
    (disk / "fill").unlink()
    memory.set("f", "after", audience=["Ann"], id="after")
    for server in servers(path):
        os.kill(server, 9)
    newest = int(memory.believes("Bob", "e").split()[0])
    there = memory.step() - 1
    print(json.dumps({
        "acknowledged": acknowledged + 1, "there": there, "first": first, "again": again,
        "readable": int(readable), "verified": [*verified, *memory.verify()], "newest": newest,
    }))
"""


@pytest.mark.parametrize("end", ["KILL", "STOP", "go on"])
def test_on_a_full_disk_events_are_refused_all_can_be_read_and_nothing_acknowledged_is_lost(
    on_a_small_disk: Run, end: str
) -> None:
    found = on_a_small_disk(FULL, end, "4000000")
    assert isinstance(found["acknowledged"], int)
    assert found["acknowledged"] > 10
    assert found["verified"] == []
    assert found["there"] == found["acknowledged"]
    assert found["readable"] == found["newest"] == found["there"] - 1
    for error in (found["first"], found["again"]):
        assert str(error).startswith("StoreError: The disk is full. Nothing of this was recorded")
        assert "Free some space" in str(error)


def test_a_disk_that_others_fill_during_a_commit_costs_nothing_that_was_acknowledged(
    on_a_small_disk: Run,
) -> None:
    """As it is for whoever is not warned in time: Redis ends rather than answer for what it lacks."""
    found = on_a_small_disk(FULL, "go on", "1")
    assert isinstance(found["acknowledged"], int)
    assert found["acknowledged"] > 10
    assert found["verified"] == []
    assert found["there"] == found["acknowledged"]
    assert found["readable"] == found["newest"] == found["there"] - 1
    assert str(found["first"]).startswith("OutcomeUnknownError: The connection broke")


def test_a_store_on_a_full_disk_does_not_start_says_so_and_starts_with_a_little_space(
    on_a_small_disk: Run,
) -> None:
    found = on_a_small_disk("""
fill(but=0)
new = refused(lambda: Memory(path=path).set("e", "v", by="Ann"))
(disk / "fill").unlink()
with Memory(path=path) as memory:
    memory.set("e", "v", by="Ann")
[log] = (path / "data" / "appendonlydir").glob("*.incr.aof")
with log.open("ab") as torn:
    torn.write(b"*1\\r\\n$5\\r\\nMULTI\\r\\n*4")
fill(but=0)
old = refused(lambda: Memory(path=path).believes("Ann", "e"))
fill(but=100_000)
with Memory(path=path) as memory:
    full = memory.believes("Ann", "e")
    write = refused(lambda: memory.set("e", "w", by="Ann"))
(disk / "fill").unlink()
with Memory(path=path) as memory:
    print(json.dumps({"new": new, "old": old, "full": full, "write": write, "e": memory.believes("Ann", "e"),
                      "verify": memory.verify(), "left": [f.name for f in path.glob(".*")]}))
""")
    for error in (found["new"], found["old"]):
        assert "Free some space" in str(error)
        assert "nothing was changed" in str(error)
    assert "Nothing of this was recorded" in str(found["write"])
    assert (found["full"], found["e"], found["verify"], found["left"]) == ("v", "v", [], [])


def test_a_read_only_folder_is_a_clear_error_and_all_is_there_when_it_can_be_written(
    on_a_small_disk: Run,
) -> None:
    found = on_a_small_disk("""
with Memory(path=path) as memory:
    memory.set("e", "v", by="Ann")
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
error = refused(lambda: Memory(path=path).believes("Ann", "e"))
new = refused(lambda: Memory(path=disk / "new").believes("Ann", "e"))
subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
with Memory(path=path) as memory:
    print(json.dumps({"error": error, "new": new, "e": memory.believes("Ann", "e"),
                      "verify": memory.verify()}))
""")
    for error in (found["error"], found["new"]):
        assert "Read-only file system" in str(error)
        assert "make it writable again, or name another folder in FALKORDB_LITE_PATH" in str(error)
    assert (found["e"], found["verify"]) == ("v", [])


# The append-only file -----------------------------------------------------------------------------


@pytest.fixture
def log(store_path: Path) -> Path:
    """The file of a store with twenty events, that is not running."""
    with Memory(path=store_path) as memory:
        for number in range(20):
            memory.set("e", f"value {number:02}", audience=["Ann", "Bob"])
    [file] = (store_path / "data" / "appendonlydir").glob("*.incr.aof")
    return file


def last_event(content: bytes) -> int:
    return content.rindex(b"*1\r\n$5\r\nMULTI\r\n")


@pytest.mark.parametrize("missing", [1, 16, 400])
def test_an_end_that_a_kill_tore_is_cut_off_and_what_is_before_it_loads(
    store_path: Path, log: Path, missing: int
) -> None:
    content = log.read_bytes()
    assert last_event(content) < len(content) - missing
    os.truncate(log, len(content) - missing)
    with Memory(path=store_path) as memory:
        assert memory.believes(["Ann", "Bob"], "e") == "value 18"
        assert memory.verify() == []
        memory.set("e", "after", audience=["Ann", "Bob"])
    with Memory(path=store_path) as memory:
        assert memory.believes(["Ann", "Bob"], "e") == "after"
        assert memory.step() == 20


def test_every_length_of_a_torn_last_event_is_cut_at_its_beginning(log: Path) -> None:
    content = log.read_bytes()
    begin = last_event(content)
    assert not mend(log.parent.parent)
    for end in range(begin + 1, len(content), 3):
        log.write_bytes(content[:end])
        assert mend(log.parent.parent)
        assert log.stat().st_size == begin


def changed(content: bytes, at: int, to: bytes) -> bytes:
    assert content[at : at + len(to)] != to
    return content[:at] + to + content[at + len(to) :]


def longer(content: bytes, after: int, digits: bytes) -> bytes:
    at = content.index(b"$", content.index(b"GRAPH.EFFECT", after)) + 1
    return content[:at] + digits + content[at:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a length": lambda c: changed(c, c.index(b"$4\r\nHSET", len(c) // 2) + 1, b"9"),
    # What these announce reaches past the end: to Redis it is a torn end, and all of it would go.
    "a length past the end": lambda c: longer(c, len(c) // 2, b"999"),
    "a length past the end, in the last event": lambda c: changed(
        c, re.compile(rb"\$\d{3}\r\n").search(c, last_event(c)).start() + 1, b"9"  # type: ignore[union-attr]
    ),
    "a count": lambda c: changed(c, c.index(b"*3\r\n", len(c) // 2) + 1, b"7"),
    "a sign": lambda c: changed(c, c.index(b"*3\r\n", len(c) // 2), b"?"),
    "zeros": lambda c: changed(c, len(c) // 2, bytes(512)),
}


def test_damage_in_the_middle_is_never_taken_for_a_torn_end(store_path: Path, log: Path) -> None:
    content = log.read_bytes()
    for name, damage in DAMAGES.items():
        broken = damage(content)
        log.write_bytes(broken)
        with pytest.raises(StoreError, match=r"damaged after byte \d+ of \d+.*so-mcp restore"):
            Memory(path=store_path).believes("Ann", "e")
        assert log.read_bytes() == broken, name
    log.write_bytes(content)
    with Memory(path=store_path) as memory:
        assert memory.believes(["Ann", "Bob"], "e") == "value 19"
        assert memory.verify() == []


def test_the_way_out_of_damage_that_the_error_names_works(store_path: Path, log: Path) -> None:
    log.write_bytes(DAMAGES["a length past the end"](log.read_bytes()))
    with pytest.raises(StoreError) as caught:
        Memory(path=store_path).believes("Ann", "e")
    subprocess.run(str(caught.value).partition("run: ")[2], shell=True, check=True)
    with Memory(path=store_path) as memory:
        assert 5 < memory.step() < 15
        assert memory.verify() == []


def test_a_byte_changed_within_a_value_is_found_by_verify(store_path: Path, log: Path) -> None:
    """No sum is kept over the file. But the log and every mind hold a value each by itself."""
    content = log.read_bytes()
    log.write_bytes(changed(content, content.index(b"value 10") + 6, b"9"))
    with Memory(path=store_path) as memory:
        assert memory.verify() != []


def test_a_damaged_base_file_is_a_clear_error_and_stays_as_it_is(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "value", audience=["Ann", "Bob"])
        memory.database.command("BGREWRITEAOF")
        base = store_path / "data" / "appendonlydir" / "appendonly.aof.2.base.rdb"
        while not base.exists():
            memory.database.command("PING")
    content = base.read_bytes()
    broken = changed(content, content.index(b"value"), b"VALUE")
    base.write_bytes(broken)
    with pytest.raises(StoreError, match=r"did not start\. Its log ends with: .*checksum"):
        Memory(path=store_path).believes("Ann", "e")
    assert base.read_bytes() == broken
    base.write_bytes(content)
    with Memory(path=store_path) as memory:
        assert memory.believes("Ann", "e") == "value"


def test_a_store_that_lost_its_logins_is_not_taken_for_a_new_one(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    acl = store_path / "users.acl"
    kept, supervisor = acl.read_bytes(), (store_path / "supervisor.json").read_bytes()
    acl.unlink()
    with pytest.raises(StoreError, match=r"has lost its file users\.acl.*so-mcp restore"):
        Memory(path=store_path).believes("Ann", "e")
    assert (store_path / "supervisor.json").read_bytes() == supervisor
    acl.write_bytes(kept)
    with Memory(path=store_path) as memory:
        assert memory.believes("Ann", "e") == "v"


# The format ---------------------------------------------------------------------------------------


def every_file(path: Path) -> dict[str, str]:
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for part in store_format.parts(path)
        for file in ([part] if part.is_file() else part.rglob("*")) if file.is_file()
    }


def test_a_store_of_a_newer_format_is_left_alone_running_or_not(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        (store_path / "format.json").write_text('{"format": 99}')
        with pytest.raises(StoreError, match="has format 99; this version reads 1"):
            Memory(path=store_path).believes("Ann", "e")
    before = every_file(store_path)
    with pytest.raises(StoreError, match="has format 99; this version reads 1"):
        Memory(path=store_path).believes("Ann", "e")
    assert every_file(store_path) == before


# Format 0, made up: the supervisor's file had another name, and values were written backwards.
OLD_STORE = """
import json, sys
from pathlib import Path
from so_mcp import Memory
path = Path(sys.argv[1])
with Memory(path=path) as memory:
    memory.set("e", "eulav", audience=["Ann", "Bob"])
    memory.grant("Ann")
(path / "supervisor.json").rename(path / "boss.json")
(path / "format.json").write_text(json.dumps({"format": 0}))
"""
TURN = "MATCH (n:{label} {{value: 'eulav'}}) SET n.value = 'value' RETURN count(n)"


def step_from_0(store: EmbeddedStore) -> None:
    """The made-up step: moves a file, then changes graphs through the database."""
    (store.path / "boss.json").rename(store.path / "supervisor.json")
    with store.serving(), client_of(store, *store.supervisor_login()) as client:
        for label, key in (("Event", "world"), ("Belief", "mind:Ann"), ("Belief", "mind:Bob")):
            reply = client.execute_command("GRAPH.QUERY", f"so:{{support}}:{key}", TURN.format(label=label))
            assert reply[1] == [[1]], "run twice on the same data"
            if os.environ.get("DIE_AT") == key:
                os._exit(9)


MIGRATE = """
import sys
sys.path.insert(0, "tests")
import test_durability as t
from so_mcp import AgentView, Memory, store_format
store_format.STEPS = {0: t.step_from_0}
with Memory(path=sys.argv[1]) as memory:
    assert memory.believes(["Bob", "Ann"], "e") == "value"
"""


def python(program: str, path: Path, **env: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", program, str(path)], cwd=ROOT, env=os.environ | env, check=False,
        timeout=60,
    ).returncode


@pytest.fixture
def old_store(store_path: Path) -> Iterator[Path]:
    """A store of format 0."""
    assert python(OLD_STORE, store_path) == 0
    return store_path


def test_an_older_store_without_a_way_here_is_left_alone(old_store: Path) -> None:
    before = every_file(old_store)
    with pytest.raises(StoreError, match=r"cannot migrate from 0\. Nothing was changed"):
        Memory(path=old_store).believes("Ann", "e")
    assert every_file(old_store) == before


def test_the_supervisor_migrates_an_older_store_and_an_agent_says_who_does(
    old_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_format, "STEPS", {0: step_from_0})
    before = every_file(old_store)
    with (
        AgentView("Ann", "support", EmbeddedStore(old_store)) as view,
        pytest.raises(StoreError, match=r"an older format .* so-mcp migrate"),
    ):
        view.my_beliefs()
    assert every_file(old_store) == before
    with Memory(path=old_store) as memory:
        assert memory.believes(["Bob", "Ann"], "e") == "value"
        assert memory.verify() == []
        with AgentView("Ann", "support", EmbeddedStore(old_store)) as view:
            assert [held.value for held in view.my_beliefs()] == ["value"]
        memory.set("e", "new", by="Ann")
    with Memory(path=old_store) as memory:  # and only once
        assert memory.believes("Ann", "e") == "new"
    # The copy is a store of format 0 still.
    copy = old_store / "before-format-1"
    assert every_file(copy) == before


@pytest.mark.parametrize("place", ["world", "mind:Bob"])
def test_a_migration_that_is_killed_is_begun_again_from_the_copy(
    old_store: Path, place: str
) -> None:
    assert python(MIGRATE, old_store, DIE_AT=place) == 9
    assert store_format.is_migrating(old_store)
    assert python(MIGRATE, old_store) == 0
    assert not store_format.is_migrating(old_store)
    with Memory(path=old_store) as memory:
        assert memory.verify() == []


@pytest.mark.parametrize("place", ["copying", "putting back", "naming"])
def test_a_migration_cut_off_around_its_steps_loses_nothing(
    old_store: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut by an error at that moment, which leaves the files as a kill does."""
    monkeypatch.setattr(store_format, "STEPS", {0: step_from_0})
    before = every_file(old_store)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        if place == "copying":
            original, copies = store_format._copy, iter(range(100))
            broken.setattr(store_format, "_copy",
                           lambda *files: die() if next(copies) == 2 else original(*files))
        elif place == "putting back":
            store_format._copied(old_store, old_store / "migrating-from-0")
            broken.setattr(store_format, "_copy", die)
        else:
            broken.setattr(store_format, "_free_name", die)
        with pytest.raises(KeyboardInterrupt):
            Memory(path=old_store).believes("Ann", "e")
    if place == "copying":
        assert every_file(old_store) == before
    with Memory(path=old_store) as memory:
        assert memory.believes(["Bob", "Ann"], "e") == "value"
        assert memory.verify() == []
    assert every_file(old_store / "before-format-1") == before


def test_a_store_that_an_older_version_uses_is_not_migrated_under_it(
    store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        (store_path / "format.json").write_text('{"format": 0}')
        monkeypatch.setattr(store_format, "STEPS", {0: step_from_0})
        with pytest.raises(StoreError, match=r"an older so-mcp uses it.*so-mcp stop"):
            Memory(path=store_path).believes("Ann", "e")
        (store_path / "format.json").write_text('{"format": 1}')
        assert memory.believes("Ann", "e") == "v"
