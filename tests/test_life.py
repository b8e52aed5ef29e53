"""A server's life: it starts soon, and however it ends, nothing is left and nothing is half there.

Real processes, each in a session of its own as a terminal's or a host's are.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eval.faults.processes import servers
from so_mcp import Memory, __version__, diagnostics
from so_mcp.capture.spool import Spool
from so_mcp.config import from_environment
from so_mcp.cypher import catalogue
from so_mcp.database import Call
from so_mcp.log import log_calls, log_of
from so_mcp.private_files import is_free

pytestmark = pytest.mark.runs_on(
    "embedded", why="what may be left behind is the embedded database's process, its locks and files"
)

PYTHON = sys.executable
COMMAND = str(Path(PYTHON).parent / "so-mcp")
TOKEN = "a-token-of-more-than-32-characters"
HELLO = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SECRET = "only-billing-and-maya-know-this"  # nor may anybody read it in a log
Lines = list[dict[str, Any]]


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def say(number: int, value: str = SECRET) -> dict[str, Any]:
    event = {"kind": "say", "speaker": "Billing", "audience": ["Maya"], "entity": "refund",
             "value": value, "id": f"event {number}"}
    return call(number, "record", events=[event])


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come about"
        time.sleep(0.002)


class Host:
    """A server's process, and its host's end of it."""

    def __init__(self, path: Path, *words: str, command: Sequence[str] = (COMMAND,), **env: str) -> None:
        self.process = subprocess.Popen(
            [*command, *words], start_new_session=True, text=True,
            env={"FALKORDB_LITE_PATH": str(path), "SO_SPOOL": str(path.parent / "spool"),
                 "SO_HTTP_TOKEN": TOKEN, **env},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{json.dumps(message)}\n" for message in messages))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        return self.hear()

    def greet(self) -> None:
        assert self.ask(HELLO)["result"]["serverInfo"]["version"] == __version__
        self.send(READY)

    def port(self) -> int:
        """Of one that serves over HTTP, once it does."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return int(line.split(":")[-1].split("/")[0])

    def end(self, how: str) -> int:
        """End it as a terminal or a host does; the code that it is to have."""
        if how == "EOF":
            assert self.process.stdin is not None
            self.process.stdin.close()
            return 0
        if how == "host gone":
            for pipe in (self.process.stdout, self.process.stdin):
                with contextlib.suppress(BrokenPipeError):
                    assert pipe is not None
                    pipe.close()
            return 0
        number = getattr(signal, how)
        os.killpg(self.process.pid, number)  # a terminal sends it to the whole group
        return 128 + int(number)

    def left(self) -> tuple[str, str]:
        """What it still said on both streams, once it is gone with all that it started."""
        self.code = self.process.wait(30)
        out, err = [
            "" if pipe is None or pipe.closed else pipe.read()
            for pipe in (self.process.stdout, self.process.stderr)
        ]
        with pytest.raises(ProcessLookupError):
            os.killpg(self.process.pid, 0)
        self.close()
        return out, err

    def close(self) -> None:
        """Kill what still runs, and close the pipes."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()


@contextmanager
def running(path: Path, *words: str, **options: Any) -> Iterator[Host]:
    host = Host(path, *words, **options)
    try:
        yield host
    finally:
        host.close()


def http(port: int, message: dict[str, Any], *headers: str) -> str:
    """An answer over HTTP."""
    body = json.dumps(message)
    head = [
        f"POST /mcp?key={TOKEN} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}",
        f"Authorization: Bearer {TOKEN}", "Content-Type: application/json", "Connection: close",
        "Accept: application/json, text/event-stream", *headers,
    ]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall("\r\n".join([*head, "", body]).encode())
        with connection.makefile(encoding="utf-8") as answer:
            return answer.read()


def nothing_is_left(path: Path) -> None:
    """Of a store that nobody uses: no process, no lock that is held, no socket, no half of a file."""
    assert servers(path) == []
    assert all(is_free(path / lock) for lock in ("start.lock", "users.lock", "server.lock"))
    assert not (path / "redis.sock").exists()
    assert [file for file in path.rglob("*") if file.name[0] == "." or "temp" in file.name] == []


def lines_of(err: str) -> Lines:
    """What was logged: each line is an object with these three."""
    found = [json.loads(line) for line in err.splitlines()]
    assert all({"time", "level", "what"} <= line.keys() for line in found)
    return found


def logged(lines: Lines, what: str) -> Lines:
    return [line for line in lines if line["what"] == what]


# The end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP", "EOF", "host gone"])
def test_no_end_leaves_anything_behind_idle_or_in_the_middle_of_writes(
    store_path: Path, how: str
) -> None:
    with Memory(path=store_path) as memory:
        memory.say("Billing", "refund", "asked", audience=["Maya"])
        memory.grant("Billing")
    with contextlib.ExitStack() as stack:
        writing = stack.enter_context(running(store_path))
        idle = stack.enter_context(running(store_path, SO_AGENT="Billing"))
        hosts = [writing, idle]
        if how not in ("EOF", "host gone"):
            words = ("serve", "--http", "--port", "0")
            hosts.append(stack.enter_context(running(store_path, *words, SO_AGENT="Billing")))
        for host in (writing, idle):
            host.greet()
        assert "asked" in str(idle.ask(call(1, "my_beliefs")))
        for host in hosts[2:]:
            assert http(host.port(), HELLO).startswith("HTTP/1.1 200 ")
        writing.send(*(say(number) for number in range(1, 41)))
        answers = [writing.hear() for _ in range(5)]
        for host, code in zip(hosts, [host.end(how) for host in hosts], strict=True):
            out, err = host.left()
            assert (host.code, err) == (code, "")
            if host is writing:  # of a signal the last line may be cut off, as it is with the host
                answers += [json.loads(line) for line in out.split("\n")[:-1]]
            else:
                assert out == ""
    nothing_is_left(store_path)
    with Memory(path=store_path) as memory:
        events = log_of(memory.database.read_together(log_calls(memory.scenario)))
        recorded = [event.id for event in events if event.id is not None]
        acknowledged = {f"event {a['id']}" for a in answers if not a["result"]["isError"]}
        assert len(acknowledged) >= 5
        assert acknowledged <= set(recorded)
        assert len(recorded) == len(set(recorded))
        assert memory.verify() == []


def test_who_closed_standard_output_alone_is_not_waited_for(store_path: Path) -> None:
    """The host is gone, and something that it started still holds the other end of the input."""
    with running(store_path) as host:
        host.greet()
        host.ask(say(1))
        assert host.process.stdout is not None
        host.process.stdout.close()
        host.send(say(2))
        assert host.left() == ("", "")
        assert host.code == 0
    nothing_is_left(store_path)


@pytest.mark.parametrize("terminal", ["Ctrl-C", "closed"])
def test_a_terminal_ends_what_runs_in_it(store_path: Path, terminal: str) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
        pid, ours = pty.fork()
        if pid == 0:
            os.execve(COMMAND, [COMMAND, "serve", "--http", "--port", "0"],
                      {"FALKORDB_LITE_PATH": str(store_path), "SO_HTTP_TOKEN": TOKEN})
        with os.fdopen(ours, "rb", buffering=0) as screen:
            shown = b""
            while b"/mcp" not in shown:
                shown += screen.read(1024)
            if terminal == "Ctrl-C":
                os.write(ours, b"\x03")
                rest = b""
                with contextlib.suppress(OSError):  # so a terminal ends
                    while more := screen.read(1024):
                        rest += more
                assert rest.strip() == b"^C"
        number = signal.SIGINT if terminal == "Ctrl-C" else signal.SIGHUP
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + number


def test_who_presses_ctrl_c_again_and_again_gets_no_other_end(store_path: Path) -> None:
    with running(store_path) as host:
        host.greet()
        host.ask(say(1))
        while host.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(host.process.pid, signal.SIGINT)
        assert host.left() == ("", "")
        assert host.code == 128 + signal.SIGINT
    nothing_is_left(store_path)


def test_a_database_that_does_not_end_holds_up_nobody_who_asks_again(store_path: Path) -> None:
    program = "import so_mcp.leaving as l; l._PATIENCE = 0.0; from so_mcp.cli import main; main()"
    with running(store_path, command=(PYTHON, "-c", program)) as host:
        host.greet()
        host.ask(say(1))
        [database] = servers(store_path)
        os.kill(database, signal.SIGSTOP)
        try:
            host.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not is_free(store_path / "start.lock"))  # it waits for the database
            host.process.send_signal(signal.SIGTERM)
            assert host.left() == ("", "")
            assert host.code == 128 + signal.SIGTERM
        finally:
            os.kill(database, signal.SIGCONT)
    with Memory(path=store_path) as memory:
        assert memory.truth("refund") == SECRET


def test_a_signal_while_it_still_starts_ends_it_without_a_word(store_path: Path) -> None:
    """As it is sent, it imports; a signal there would be raised out of any line of any library."""
    with running(store_path) as host:
        loaded = Path(f"/proc/{host.process.pid}/maps")
        wait_until(lambda: "_pydantic_core" in loaded.read_text("utf-8"))
        host.process.send_signal(signal.SIGINT)
        assert host.left() == ("", "")
        assert host.code == 128 + signal.SIGINT
    assert not store_path.exists()


def test_what_is_to_outlive_its_terminal_does(store_path: Path) -> None:
    with running(store_path, COMMAND, command=("nohup",)) as host:
        host.greet()
        host.process.send_signal(signal.SIGHUP)
        assert host.ask(say(1))["result"]["isError"] is False
        host.end("EOF")
        host.left()
        assert host.code == 0


def test_a_command_that_is_terminated_leaves_no_database_and_no_half_of_a_file(
    store_path: Path,
) -> None:
    with Memory(path=store_path) as memory:
        memory.set("e", "v", by="Ann")
    program = (
        "import sys, so_mcp.memory as m; from so_mcp.cli import main\n"
        "def lines(self):\n"
        "    self.step(); yield 'half\\n'; print('ready', flush=True); sys.stdin.readline()\n"
        "m.Memory.export = lines; sys.exit(main())\n"
    )
    file = store_path.parent / "log.jsonl"
    with running(store_path, "export", str(file), command=(PYTHON, "-c", program)) as host:
        assert host.process.stdout is not None
        assert host.process.stdout.readline() == "ready\n"
        host.process.terminate()
        assert host.left() == ("", "")
        assert host.code == 128 + signal.SIGTERM
    assert [each.name for each in store_path.parent.iterdir()] == ["store"]
    nothing_is_left(store_path)


# The start --------------------------------------------------------------------------------------


def imported(program: str) -> set[str]:
    """The modules that a process has after this."""
    done = subprocess.run(
        [PYTHON, "-c", f"{program}\nimport sys\nprint(*sys.modules)"], input="{}", text=True,
        check=True, capture_output=True, env={"SO_SPOOL": "/proc/none"},
    )
    return set(done.stdout.split())


def test_a_hook_imports_next_to_nothing() -> None:
    modules = imported("from so_mcp.cli import main; main(['hook', 'claude-code'])")
    assert "so_mcp.capture.claude_code" in modules
    heavy = {"redis", "falkordb", "pydantic", "mcp", "asyncio", "logging", "so_mcp.memory"}
    assert modules & heavy == set()


def test_serving_imports_only_what_it_needs() -> None:
    modules = imported(
        "from so_mcp.calls import source_of\nfrom so_mcp.config import from_environment\n"
        "from so_mcp.server import build_server\nimport so_mcp.stdio\n"
        "build_server(source_of(from_environment({})))"
    )
    assert "so_mcp.memory" in modules
    needless = {
        "anthropic", "bpe_openai", "langchain_core", "agents", "autogen_agentchat", "so_mcp.http",
        "so_mcp.capture", "so_mcp.demo", "so_mcp.doctor", "so_mcp.cli", "rich",
        "numpy", "sqlite3", "unittest", "pdb", "tkinter",
    }
    assert modules & needless == set()


def test_the_package_gives_what_it_names_and_nothing_else() -> None:
    modules = imported("import so_mcp\nassert {'Memory', 'AgentView'} <= set(dir(so_mcp))\nso_mcp.errors")
    assert "so_mcp.memory" not in modules
    assert "so_mcp.view" in imported("from so_mcp import *\nAgentView, Memory, SecondOrderError")
    with pytest.raises(ImportError, match="cannot import name 'memery'"):
        from so_mcp import memery  # type: ignore[attr-defined]  # noqa: F401, PLC0415


# The spool --------------------------------------------------------------------------------------


def test_a_supervisors_start_has_recorded_what_hooks_left(store_path: Path) -> None:
    env = {"FALKORDB_LITE_PATH": str(store_path), "SO_SPOOL": str(store_path.parent / "spool")}
    spool = Spool.of(from_environment(env), env)
    for number in range(3):
        spool.put("support", [{"kind": "say", "speaker": "Ann", "audience": ["Bob"], "entity": "e",
                               "value": str(number), "id": str(number)}])
    with running(store_path, SO_AGENT="Bob") as host:
        host.greet()
        host.end("EOF")
        assert host.left() == ("", "")
    assert len(spool.waiting()) == 3, "an agent's server may not record"
    with running(store_path, SO_LOG="info") as host:
        host.greet()
        wait_until(lambda: not spool.waiting())
        answer = host.ask(call(1, "believes", chain=["Bob", "Ann"], entity="e"))
        assert answer["result"]["structuredContent"]["value"] == "2"
        wait_until(lambda: is_free(spool.folder / "drain.lock"))
        host.end("EOF")
        assert [line["waiting"] for line in logged(lines_of(host.left()[1]), "spool")] == [3]
    wait_until(lambda: servers(store_path) == [])


def test_a_spool_that_cannot_be_used_does_not_stop_a_start(store_path: Path) -> None:
    (store_path.parent / "spool").write_text("a file where the folder should be")
    with running(store_path) as host:
        host.greet()
        host.end("EOF")
        assert host.left() == ("", "")


# What is logged ---------------------------------------------------------------------------------


def no_secret(err: str) -> None:
    """No value, no name that a caller gave, no token."""
    for never in (SECRET, TOKEN, "Maya", "refund", "Bearer"):
        assert never not in err


@pytest.mark.parametrize("level", ["debug", "info"])
def test_a_log_tells_an_operator_what_happened_and_nobody_what_was_said(
    store_path: Path, level: str
) -> None:
    with running(store_path, SO_LOG=level) as host:
        host.greet()
        host.ask(say(1))
        host.ask(call(2, "believes", chain=["Maya"], entity="refund"))
        host.ask(call(3, "believes", chain=["Nobody"], entity="refund"))
        host.ask(call(4, "believes", chain=["Maya"], refund=SECRET))
        host.ask(call(5, f"tool of {SECRET}"))
        host.end("EOF")
        out, err = host.left()
    assert out == ""
    no_secret(err)
    lines = lines_of(err)
    start, *_, end = lines
    assert {key: start[key] for key in ("what", "version", "mode", "agent", "scenarios", "store")} == {
        "what": "start", "version": __version__, "mode": "supervisor", "agent": None,
        "scenarios": ["support"], "store": str(store_path),
    }
    assert (end["what"], end["why"]) == ("end", "standard input ended")
    tools = logged(lines, "tool")
    assert [(line["tool"], line.get("error")) for line in tools] == [
        ("record", None), ("believes", None), ("believes", "UnknownNameError"),
        ("believes", "InvalidInputError"), (None, "InvalidInputError"),
    ]
    assert all(line["ms"] >= 0 for line in tools)
    assert {line["level"] for line in tools} == {"info"}
    assert [line["store"] for line in logged(lines, "database started")] == [str(store_path)]
    assert logged(lines, "database stopped")
    trips = [name for line in logged(lines, "round trip") for name in line["sent"]]
    assert ({"MULTI", "EXEC", "mind/believe", "mind/belief"} <= set(trips)) is (level == "debug")
    calls = [line["arguments"] for line in logged(lines, "call") if "arguments" in line]
    assert calls == ([["events"], ["chain", "entity"], ["chain", "entity"], ["chain"]]
                     if level == "debug" else [])


def test_a_log_of_http_has_requests_and_no_token(store_path: Path) -> None:
    with Memory(path=store_path) as memory:
        memory.set("refund", SECRET, audience=["Maya"])
        memory.grant("Maya")
    with running(
        store_path, "serve", "--http", "--port", "0", SO_LOG="debug", SO_AGENT="Maya"
    ) as host:
        port = host.port()
        modern = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                  "io.modelcontextprotocol/clientCapabilities": {},
                  "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}
        ask = call(1, "my_beliefs")
        ask["params"]["_meta"] = modern
        told = http(port, ask, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call",
                    "Mcp-Name: my_beliefs")
        assert SECRET in told
        assert http(port, HELLO, "Host: elsewhere").startswith("HTTP/1.1 400 ")
        assert http(port, {"refund": SECRET}).startswith("HTTP/1.1 400 ")
        host.end("SIGTERM")
        err = host.left()[1]
    lines = lines_of(err)
    start, end = lines[0], lines[-1]
    assert (start["mode"], start["agent"]) == ("agent", "Maya")
    assert (end["what"], end["why"]) == ("end", "SIGTERM")
    no_secret(err.replace('"agent": "Maya"', ""))
    requests = logged(lines, "http")
    assert [(line["method"], line["path"], line["status"]) for line in requests] == [
        ("POST", "/mcp", 200), ("POST", "/mcp", 400)
    ]
    assert [line["logger"] for line in logged(lines, "library")] == ["uvicorn.error"]


def test_a_database_that_cannot_be_used_is_said_without_being_asked_for(store_path: Path) -> None:
    store_path.write_text("a file where the folder should be")
    with running(store_path) as host:
        host.greet()
        host.ask(say(1))
        host.end("EOF")
        [line] = lines_of(host.left()[1])
    store_path.unlink()
    assert (line["level"], line["what"], line["error"]) == ("warning", "database", "StoreError")
    assert "expected a folder of its own" in line["why"]


def test_a_defect_is_one_line_with_its_place_and_not_its_words(store_path: Path) -> None:
    program = (
        "import logging, sys, threading, so_mcp.memory as m; from so_mcp.cli import main\n"
        f"def broken(*_, **__): raise RuntimeError('about {SECRET}') from KeyError('{SECRET}')\n"
        "def step(self):\n"
        "    thread = threading.Thread(target=broken); thread.start(); thread.join()\n"
        f"    logging.getLogger('other').error('%s is\\nwrong', '{SECRET}'); broken()\n"
        "m.Memory.step = step; sys.exit(main())\n"
    )
    with running(store_path, command=(PYTHON, "-c", program)) as host:
        host.greet()
        assert "Error executing tool" in str(host.ask(call(1, "scenarios")))
        host.end("EOF")
        err = host.left()[1]
    no_secret(err)
    crash, said, of_sdk = lines_of(err)
    assert {line["level"] for line in (crash, said, of_sdk)} == {"error"}
    assert (crash["what"], of_sdk["what"]) == ("crash", "library")
    assert (said["logger"], said["said"]) == ("other", "%s is")
    for line in (crash, of_sdk["because"]):
        assert line["error"] == "RuntimeError"
        assert line["raised"][-1].endswith("broken")
        assert line["because"]["error"] == "KeyError"


def test_a_round_trip_is_told_by_the_names_of_its_queries(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of what they are given: it may even hold the text of another query."""
    asked = Call("so:{s}:world", "world/events_by_id", {"ids": [catalogue()["mind/step"].text]})
    caplog.set_level(logging.DEBUG, "so_mcp")
    diagnostics.round_trip([("MULTI",), asked.command(), asked.command(), ("EXEC",)], 0.0)
    [record] = caplog.records
    fields = record.__dict__["fields"]
    assert fields.pop("ms") > 0
    assert fields == {"commands": 4, "sent": ["MULTI", "world/events_by_id", "EXEC"]}
    caplog.set_level(logging.INFO, "so_mcp")
    diagnostics.round_trip([asked.command()], 0.0)
    assert len(caplog.records) == 1


def test_writers_that_met_are_told_of(
    store_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Memory(path=store_path) as one, Memory(path=store_path) as two:
        def meanwhile(commands: list[tuple[str, ...]]) -> None:
            if commands[0] == ("MULTI",):
                one.database.observers.clear()
                two.set("e", "v", by="Ann")

        one.database.observers.append(meanwhile)
        caplog.set_level(logging.DEBUG, "so_mcp")
        one.set("e", "w", by="Bob")
        assert one.step() == 2
    met = [record.__dict__["fields"] for record in caplog.records if record.message == "conflict"]
    assert met == [{"tries": 1, "turn": False}]


def test_another_level_than_there_is_is_refused_and_a_refusal_is_structured_too(
    store_path: Path,
) -> None:
    for words in ((), ("grants",)):
        with running(store_path, *words, SO_LOG="loud") as host:
            assert host.left() == ("", (
                "so-mcp: SO_LOG: expected one of debug, info, warning, error, got 'loud'.\n"
            ))
            assert host.code == 1
    with running(store_path, "serve", "--rate", "3", SO_LOG="error") as host:
        [line] = lines_of(host.left()[1])
        assert line["why"].startswith("serve: --rate is for serving over HTTP.")
        assert host.code == 1


def test_a_command_is_logged_as_a_server_is(store_path: Path) -> None:
    with running(store_path, "call", "who_knows", "entity=refund", SO_LOG="debug") as host:
        out, err = host.left()
    assert "refund" in out
    no_secret(err)
    lines = lines_of(err)
    assert [line["tool"] for line in logged(lines, "tool")] == ["who_knows"]
    assert logged(lines, "round trip")


def test_a_hook_says_nothing_at_any_level(store_path: Path) -> None:
    with running(store_path, "hook", "claude-code", SO_LOG="debug") as host:
        host.send({"hook_event_name": "Nothing"})
        host.end("EOF")
        assert host.left() == ("", "")


