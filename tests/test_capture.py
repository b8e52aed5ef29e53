"""Capture: a hook costs its host nothing, and what it heard is recorded once, whatever happens."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stores import Store, environment, memory_of

from so_mcp import Memory
from so_mcp.capture.callers import Callers
from so_mcp.capture.claude_code import People, events_of
from so_mcp.capture.claude_settings import merge, settings
from so_mcp.capture.messages import agent_name, event_key, facts, message
from so_mcp.capture.spool import Spool
from so_mcp.config import Config, from_environment
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import InvalidInputError
from so_mcp.memory import supervising

COMMAND = str(Path(sys.executable).parent / "so-mcp")


@pytest.fixture
def env(own_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a hook with a database and a spool of its own; nobody drains afterwards."""
    spool = tmp_path_factory.mktemp("hooks") / "spool"
    found = {**environment(own_store), "SO_SPOOL": str(spool)}
    yield found
    wait_until(lambda: is_free(spool_of(found)))


def spool_of(env: Mapping[str, str]) -> Spool:
    return Spool.of(from_environment(env), env)


def is_free(spool: Spool) -> bool:
    with spool._turn() as mine:
        return mine


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come about"
        time.sleep(0.005)


def drained(env: Mapping[str, str]) -> None:
    spool = spool_of(env)
    wait_until(lambda: not spool.waiting() and is_free(spool))


def prompt(number: int, text: str | None = None) -> dict[str, Any]:
    return {
        "session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt_id": f"p{number}",
        "prompt": text or f"so: number = {number}",
    }


def hook(given: Any, env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    text = given if isinstance(given, str) else json.dumps(given)
    done = subprocess.run(
        [COMMAND, "hook", "claude-code", *words], env=env, input=text, capture_output=True,
        text=True, check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done


def so_mcp(*words: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], env=env, capture_output=True, text=True, check=False)


# --- what a message says -------------------------------------------------------------------------


def test_a_fact_is_a_line_of_its_own_outside_code() -> None:
    text = (
        "Done. so: not = this\nso: refund_4411 = approved\n  so told: address = 7 Oak Lane, a=b \r\n"
        "```\nso: quoted = code\n```\nso: order = ?\nSO: shout = x\nso: = nothing\nso: a =\n> so: b = c"
    )
    assert [(f.entity, f.value, f.told) for f in facts(text)] == [
        ("refund_4411", "approved", False), ("address", "7 Oak Lane, a=b", True),
        ("order", None, False),
    ]


def test_a_message_is_always_one_that_can_be_recorded(memory: Memory) -> None:
    for number, text in enumerate(
        ("\x00 bell \x07", "x" * 50_000, "\ud800", "so: @x = y\nso: " + "e" * 900 + " = v", "so: a = \x1b[1m",
         "\n".join(f"so: e{n} = v" for n in range(80)), "so told: a = ?")
    ):
        events = message("A", ["B"], text, at=1, key=event_key("host", "\n" * 500, number))
        memory.record(events)
        assert 1 <= len(events) <= 50
    assert message("A", ["B"], " \n", at=1, key="k") == []
    assert [agent_name(name, "agent") for name in ("@team", "", None, " a\nb ", "x" * 300)] == [
        "team", "agent", "agent", "ab", "x" * 200
    ]


# --- a whole session -----------------------------------------------------------------------------

SESSION = [  # as Claude Code 2.1.332 reports; what is not read is left out
    {"hook_event_name": "SessionStart", "source": "startup"},
    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p1",
     "prompt": "My lamp came broken.\nso: refund_4411 = requested"},
    # In the foreground: the result comes with the call.
    {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t1", "tool_input":
     {"subagent_type": "billing", "prompt": "Decide on it.\nso told: refund_4411 = requested"}},
    {"hook_event_name": "SubagentStart", "prompt_id": "p1", "agent_id": "a1", "agent_type": "billing"},
    {"hook_event_name": "SubagentStop", "prompt_id": "p1", "agent_id": "a1", "agent_type": "billing",
     "last_assistant_message": "so: refund_4411 = approved", "background_tasks": []},
    {"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": "t1", "tool_input":
     {"subagent_type": "billing", "prompt": "…"}, "tool_response":
     {"status": "completed", "agentId": "a1",
      "content": [{"type": "text", "text": "so: refund_4411 = approved"}]}},
    {"hook_event_name": "Stop", "prompt_id": "p1",
     "last_assistant_message": "Good news.\nso told: refund_4411 = approved"},
    # In the background: the result comes as the subagent stops, then as a prompt by the host.
    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p2", "prompt": "Is that final?"},
    {"hook_event_name": "PreToolUse", "tool_name": "Task", "tool_use_id": "t2", "tool_input":
     {"subagent_type": "finance", "prompt": "Sign it.\nso told: refund_4411 = approved"}},
    {"hook_event_name": "PostToolUse", "tool_name": "Task", "tool_use_id": "t2", "tool_input":
     {"subagent_type": "finance", "prompt": "…"},
     "tool_response": {"isAsync": True, "status": "async_launched", "agentId": "a2"}},
    {"hook_event_name": "SubagentStart", "prompt_id": "p2", "agent_id": "a2", "agent_type": "finance"},
    {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t3", "agent_id": "a2",
     "agent_type": "finance", "tool_input": {"subagent_type": "ledger", "prompt": "so: budget = 0"}},
    {"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_use_id": "t3", "agent_id": "a2",
     "agent_type": "finance", "tool_input": {"subagent_type": "ledger", "prompt": "…"},
     "tool_response": {"isAsync": True, "status": "async_launched", "agentId": "a3"}},
    {"hook_event_name": "SubagentStop", "prompt_id": "p2", "agent_id": "a3", "agent_type": "ledger",
     "last_assistant_message": "so: budget = 5", "background_tasks": [{"id": "a2"}, {"id": "a3"}]},
    # Messages between agents of the session; and to another session, which may never read it.
    {"hook_event_name": "SubagentStart", "prompt_id": "p2", "agent_id": "a3", "agent_type": "ledger"},
    {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_use_id": "t6", "tool_input":
     {"to": "nora", "summary": "a limit", "message": "so: limit = 50"}, "tool_response":
     {"success": True, "message": "queued", "pin": {"id": "a2", "name": "nora", "ref": "f5"}}},
    {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_use_id": "t7",
     "agent_id": "a2", "agent_type": "finance", "tool_input":
     {"to": "main", "message": "so: carrier = DHL"}, "tool_response": {"success": True}},
    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p4", "prompt":
     '<agent-message from="nora">\nso: carrier = Maya says so\n</agent-message>'},
    {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_use_id": "t8",
     "tool_input": {"to": "elsewhere", "message": "so: limit = 0"},
     "tool_response": {"success": True, "pin": {"id": "b7", "name": "elsewhere"}}},
    {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_use_id": "t9",
     "tool_input": {"to": "nora", "message": "so: limit = 1"},
     "tool_response": {"success": False, "pin": {"id": "a2"}}},
    {"hook_event_name": "PreToolUse", "tool_name": "SendMessage", "tool_use_id": "t9",
     "tool_input": {"to": "main", "message": "so: limit = 2"}},
    {"hook_event_name": "SubagentStop", "prompt_id": "p2", "agent_id": "a2", "agent_type": "finance",
     "last_assistant_message": "No.\nso: refund_4411 = rejected",
     "background_tasks": [{"id": "a2", "type": "subagent", "status": "running"}]},
    {"hook_event_name": "UserPromptSubmit", "prompt_id": "p3", "prompt":
     "<task-notification>\n<result>No.\nso: refund_4411 = rejected</result>\n</task-notification>"},
    # A rule denies this one: it is never started.
    {"hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_use_id": "t4", "tool_input":
     {"subagent_type": "press", "prompt": "so: refund_4411 = public\nso: secret = out"}},
    {"hook_event_name": "PostToolUseFailure", "tool_name": "Agent", "tool_use_id": "t4", "tool_input":
     {"subagent_type": "press", "prompt": "so: refund_4411 = public\nso: secret = out"},
     "error": "denied by permission rule", "is_interrupt": False},
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t5",
     "tool_input": {"command": "echo 'so: refund_4411 = hacked'"}},
    {"hook_event_name": "SessionEnd", "reason": "other"},
    {"hook_event_name": "TomorrowsHook", "prompt": "so: refund_4411 = unheard"},
]


def check_session(memory: Memory) -> None:
    def believes(*chain: str) -> str | None:
        return memory.believes(list(chain), "refund_4411")

    assert memory.truth("refund_4411") == "rejected"
    assert believes("finance") == believes("Desk") == believes("Desk", "finance") == "rejected"
    assert believes("Maya") == "approved", "she was told before, and not since"
    assert believes("Desk", "Maya") == "approved", "and the desk can know that"
    assert believes("billing") == believes("Desk", "billing") == "approved"
    assert believes("billing", "Maya") is None, "a subagent never sees the session"
    assert believes("finance", "billing") is None
    assert sorted(f.chain for f in memory.false_beliefs(1, "refund_4411")) == [("Maya",), ("billing",)]
    assert memory.believes(["ledger"], "budget") == memory.believes(["finance"], "budget") == "5"
    assert memory.believes(["Desk"], "budget") is None, "a subagent's own subagent"
    assert memory.believes(["finance", "Desk"], "limit") == memory.truth("limit") == "50"
    assert memory.believes(["Maya"], "limit") is None
    assert memory.believes(["Desk", "finance"], "carrier") == memory.truth("carrier") == "DHL"
    assert memory.believes(["Maya"], "carrier") is None, "the host's words are not the user's"
    assert "press" not in memory.agents(), "it was never asked"
    assert memory.truth("secret") is None
    assert memory.verify() == []


def heard(given: dict[str, Any], at: int, notes: Path) -> list[dict[str, Any]]:
    given = {"session_id": "s1", **given}
    return events_of(given, People("Maya", "Desk"), at, Callers(notes).hear(given))


def test_a_session_of_claude_code_gives_who_believes_what(memory: Memory, tmp_path: Path) -> None:
    for number, given in enumerate(SESSION):
        if events := heard(given, number, tmp_path):
            memory.record(events)
    check_session(memory)
    assert not [*tmp_path.iterdir()], "the session is over"


def test_a_session_through_the_hooks_and_twice_of_each_is_recorded_once(
    env: dict[str, str], tmp_path: Path
) -> None:
    """As with hooks in the user's settings and in the project's: each comes at a moment of its own."""
    spool, config = spool_of(env), from_environment(env)
    with supervising(config) as memory:
        for number, given in enumerate(SESSION):
            for again in range(2):
                if events := heard(given, 1_000 + 10 * number + again, tmp_path):
                    spool.put(config.scenario, events)
        assert spool.drain(lambda _: memory) > len(SESSION)
    with supervising(config) as memory:
        check_session(memory)
        texts = [event.text for event in memory.timeline(limit=100).events if event.kind == "say"]
        assert len(texts) == len(set(texts))
    assert not (spool.folder / "refused").exists()


def test_input_that_nobody_expected_is_no_error() -> None:
    odd: list[dict[str, Any]] = [
        {}, {"hook_event_name": 7}, {"hook_event_name": "PreToolUse", "tool_name": "Agent"},
        {"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_response": "done"},
        {"hook_event_name": "PostToolUse", "tool_name": "Agent", "tool_response": {"content": {}}},
        {"hook_event_name": "SubagentStop", "background_tasks": "none"},
        {"hook_event_name": "SubagentStop", "agent_id": 7, "background_tasks": [{}]},
        {"hook_event_name": "UserPromptSubmit", "prompt": None},
        {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_response": {"pin": 7}},
        {"hook_event_name": "PostToolUse", "tool_name": "SendMessage", "tool_input": {"to": "main",
         "message": {"type": "shutdown_request"}}, "tool_response": {"success": True}},
        {"hook_event_name": "SessionStart", "source": "compact"},
    ]
    for given in odd:
        for event in events_of(given, People(), 1):
            assert event["kind"] in ("say", "exit")


# --- a host is never held up ---------------------------------------------------------------------


@contextmanager
def stopped_database(path: Path) -> Iterator[None]:
    with Memory(path=path) as memory:
        memory.step()
        pid = int((path / "server.pid").read_text())
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def held_start(path: Path) -> Iterator[None]:
    EmbeddedStore(path).attach()
    EmbeddedStore(path).stop()
    locks = [file for file in path.iterdir() if file.suffix == ".lock"]
    assert locks
    files = [file.open("r+") for file in locks]
    for file in files:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        for file in files:
            file.close()


@contextmanager
def no_folder(path: Path) -> Iterator[None]:
    path.write_text("a file where the store should be")
    yield
    path.unlink()


def fastest(run: Callable[[], object], times: int = 2) -> float:
    found = []
    for _ in range(times):
        start = time.monotonic()
        run()
        found.append(time.monotonic() - start)
    return min(found)


@pytest.mark.runs_on("embedded", why="what is wrong with an embedded store")
@pytest.mark.parametrize("wrong", [stopped_database, held_start, no_folder])
def test_a_hook_takes_no_longer_when_the_store_cannot_be_used_and_nothing_is_lost(
    env: dict[str, str], own_store: Store, wrong: Callable[[Path], Any]
) -> None:
    start = fastest(lambda: so_mcp("--version", env=env))
    assert isinstance(own_store, EmbeddedStore)
    with wrong(own_store.path):
        numbers = iter(range(2))
        took = fastest(lambda: hook(prompt(next(numbers)), env))
        assert took < 2 * start + 0.5, "about as long as it takes to start; a busy machine varies"
        assert len(spool_of(env).waiting()) == 2
    with memory_of(own_store) as memory:
        wait_until(lambda: is_free(spool_of(env)))
        assert so_mcp("hook", "drain", env=env).returncode == 0
        assert memory.step() == 2
        assert memory.believes(["User", "Claude"], "number") == "1"


def test_a_hook_ends_though_its_input_does_not(env: dict[str, str]) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as endless:
        done = subprocess.run(
            [COMMAND, "hook", "claude-code"], env=env, stdin=endless, timeout=30, check=False,
            capture_output=True,
        )
    os.close(write)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_hook_ends_well_though_every_stream_of_it_is_closed(env: dict[str, str]) -> None:
    words = [COMMAND, "hook", "claude-code"]
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)} <&- >&- 2>&-"], env=env, timeout=30, check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize("given", ["", "[1]"])
def test_what_is_no_hooks_input_is_kept_aside(env: dict[str, str], given: str) -> None:
    hook(given, env)
    spool = spool_of(env)
    [kept] = (spool.folder / "refused").iterdir()
    assert kept.read_text() == given
    assert "a hook's input" in spool.log_file.read_text()


@pytest.mark.parametrize("wrong", [
    {"FALKORDB_PORT": "x", "FALKORDB_HOST": "h"}, {"SO_SCENARIO": " "}, {"SO_SPOOL": "/proc/none"},
])
def test_wrong_settings_are_no_hosts_business(env: dict[str, str], wrong: dict[str, str]) -> None:
    assert hook(prompt(1), {**env, **wrong}).stderr.startswith("so-mcp hook: ")


def test_what_is_kept_is_for_its_owner_alone(env: dict[str, str]) -> None:
    hook("no JSON", env)
    spool_of(env).put("support", events_of(prompt(1), People(), 1))
    for file in [Path(env["SO_SPOOL"]), *Path(env["SO_SPOOL"]).rglob("*")]:
        assert file.stat().st_mode & 0o077 == 0, file
    assert so_mcp("hook", "drain", env=env).stdout == "Recorded 1; 0 wait.\n"


# --- once, whatever happens ----------------------------------------------------------------------


def test_ten_hooks_at_once_are_recorded_once_each_by_themselves(
    env: dict[str, str], own_store: Store
) -> None:
    with memory_of(own_store) as memory:
        memory.step()
        running = [
            subprocess.Popen([COMMAND, "hook", "claude-code"], env=env, stdin=subprocess.PIPE)
            for _ in range(10)
        ]
        for number, process in enumerate(running):
            assert process.stdin is not None
            process.stdin.write(json.dumps(prompt(number, f"so: e{number} = v")).encode())
            process.stdin.close()
        assert [process.wait() for process in running] == [0] * 10
        drained(env)
        assert memory.step() == 10
        assert all(memory.believes("Claude", f"e{number}") == "v" for number in range(10))
        assert memory.verify() == []
    assert not spool_of(env).log_file.exists()


def test_a_killed_drainer_loses_and_doubles_nothing(env: dict[str, str], own_store: Store) -> None:
    spool, count = spool_of(env), 300
    for number in range(count):
        spool.put("support", events_of(prompt(number, f"so: e{number % 7} = {number}"), People(), number))
    with memory_of(own_store) as memory:
        memory.step()
        kills = 0
        while before := len(spool.waiting()):
            process = subprocess.Popen(
                [sys.executable, "-m", "so_mcp", "hook", "drain"], env=env, stdout=subprocess.DEVNULL
            )
            if kills < 4:  # in the midst of it, at a moment of its own each time
                target = before - (1, 9, 32, 40)[kills]
                wait_until(lambda target=target: len(spool.waiting()) <= target)
                process.kill()
                kills += 1
            process.wait()
        assert kills == 4
        assert memory.step() == count
        assert [memory.believes("Claude", f"e{n}") for n in range(7)] == [
            str(max(m for m in range(count) if m % 7 == n)) for n in range(7)
        ]
        assert memory.verify() == []


def test_what_was_recorded_but_not_removed_is_not_recorded_again(
    env: dict[str, str], own_store: Store, tmp_path: Path
) -> None:
    spool = spool_of(env)
    for number in range(5):
        spool.put("support", events_of(prompt(number), People(), number))
    kept = shutil.copytree(spool.folder / "waiting", tmp_path / "kept")
    with memory_of(own_store) as memory:
        assert spool.drain(lambda _: memory) == 5
    shutil.copytree(kept, spool.folder / "waiting", dirs_exist_ok=True)
    with memory_of(own_store) as memory:
        assert spool.drain(lambda _: memory) == 5
        assert (memory.step(), spool.waiting()) == (5, [])


def test_one_event_that_cannot_be_recorded_holds_up_no_other(
    env: dict[str, str], own_store: Store
) -> None:
    spool = spool_of(env)
    spool.put("support", events_of(prompt(1), People(), 1))
    spool.put("support", [{"kind": "void", "event": "never recorded"}, {"kind": "dance"}])
    spool.put("other", events_of(prompt(3), People(), 3))
    spool.put("support", events_of(prompt(2), People(), 2))
    (spool.folder / "waiting" / "0-broken.json").write_text("{")
    assert so_mcp("hook", "drain", env=env).stdout == "Recorded 5; 0 wait.\n"
    with memory_of(own_store) as memory, memory_of(own_store, "other") as other:
        assert (memory.step(), other.step()) == (2, 1)
    assert len(list((spool.folder / "refused").iterdir())) == 3
    assert spool.log_file.read_text().count("kept in") == 3


# --- the settings --------------------------------------------------------------------------------


@pytest.mark.runs_on("embedded", why="a hook's command names no password of a server")
def test_what_install_prints_runs_as_written_from_an_empty_environment(env: dict[str, str]) -> None:
    done = so_mcp("hook", "install", "claude-code", "--user", "Mary Ann", "--main", "it's *", env={
        **env, "SO_SCENARIO": "tom's desk"})
    hooks = json.loads(done.stdout)["hooks"]
    assert {event: groups[0].get("matcher") for event, groups in hooks.items()} == {
        "SessionStart": None, "SessionEnd": None, "UserPromptSubmit": None, "Stop": None,
        "SubagentStart": None, "SubagentStop": None, "PreToolUse": "Agent|Task",
        "PostToolUse": "Agent|Task|SendMessage", "PostToolUseFailure": "Agent|Task",
    }
    [command] = {hook["command"] for groups in hooks.values() for g in groups for hook in g["hooks"]}
    assert Path(next(w for w in shlex.split(command) if w.endswith("so-mcp"))).is_absolute()
    subprocess.run(
        ["sh", "-c", command], input=json.dumps(prompt(1)), text=True, check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    drained(env)
    with supervising(from_environment(env), "tom's desk") as memory:
        assert memory.believes(["it's *", "Mary Ann"], "number") == "1"


def test_even_an_so_mcp_that_is_gone_or_knows_no_hooks_does_not_block(env: dict[str, str]) -> None:
    hooks = json.loads(so_mcp("hook", "install", "claude-code", env=env).stdout)["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    for instead in ("/nowhere/so-mcp", "sh -c 'exit 2'"):
        done = subprocess.run(["sh", "-c", command.replace(COMMAND, instead)], env=env, input="{}",
                              text=True, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")


def test_install_merges_once_and_keeps_everything_else(env: dict[str, str], tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "settings.json"
    mine = {"type": "command", "command": "mine.sh"}
    before = {"model": "opus", "hooks": {
        "Stop": [{"hooks": [mine]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [mine, {
            "type": "command", "command": "/old/so-mcp hook claude-code || true"}]}],
    }}
    real.write_text(json.dumps(before))
    real.chmod(0o640)
    link.symlink_to(real)
    words = ("hook", "install", "claude-code", "--write", "--file", str(link))
    assert "has the hooks" in so_mcp(*words, env=env).stdout
    after = json.loads(real.read_text())
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert after["model"] == "opus"
    assert after["hooks"]["Stop"][0] == {"hooks": [mine]}
    assert after["hooks"]["PreToolUse"][0] == {"matcher": "Bash", "hooks": [mine]}
    assert [len(groups) for groups in after["hooks"].values()] == [2, 2, *[1] * 7]
    text = real.read_text()
    assert "already had" in so_mcp(*words, env=env).stdout
    assert real.read_text() == text


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": [{}]}}', '"x"'])
def test_install_leaves_alone_what_is_no_settings_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match="Nothing was changed"):
        merge(file, settings(Config("s", None, None, Path("/x")), People()))
    assert file.read_text() == text


def test_a_password_is_never_in_the_settings(env: dict[str, str]) -> None:
    server = {**env, "FALKORDB_HOST": "db.example", "FALKORDB_PASSWORD": "hunter2"}
    done = so_mcp("hook", "install", "claude-code", env=server)
    assert "FALKORDB_HOST=db.example" in done.stdout
    assert "hunter2" not in done.stdout
    assert Spool.of(from_environment(server), server).folder != spool_of(env).folder


def test_a_spool_lies_apart_from_the_store() -> None:
    config = Config("s", None, None, Path("/some/store"))
    folder = Spool.of(config, {}).folder
    assert not folder.is_relative_to("/some")
    assert folder.is_relative_to(Path.home())
