"""Claude Code itself, in front of a scripted stand-in for its API on loopback; no model, no account.

The program comes with the package `claude-agent-sdk`; SO_CLAUDE may name another.
"""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from so_mcp import Memory
from so_mcp.capture.spool import Spool
from so_mcp.config import from_environment

COMMAND = str(Path(sys.executable).parent / "so-mcp")
DECIDE = {"description": "decide", "subagent_type": "billing",
          "prompt": "DECIDE.\nso told: refund_4411 = requested"}
COUNT = {"description": "count", "subagent_type": "ledger", "prompt": "COUNT."}


Call = tuple[str, dict[str, str]]  # a tool, and what it is given


def tools_of(asked: dict[str, Any]) -> set[str]:
    return {str(tool.get("name")) for tool in asked.get("tools", [])}


def claude() -> Path | None:
    if named := os.environ.get("SO_CLAUDE"):
        return Path(named)
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return None
    program = Path(found.origin).parent / "_bundled" / "claude"
    return program if program.is_file() else None


pytestmark = pytest.mark.skipif(
    claude() is None, reason="Claude Code is not here: pip install claude-agent-sdk, or set SO_CLAUDE"
)


class Scripted(http.server.BaseHTTPRequestHandler):
    """Answers as the script says: the main agent calls the subagent once, then sums up."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, asked: dict[str, Any]) -> str | Call:
        """Words, or the call of a tool."""
        said = json.dumps(asked["messages"])
        if "COUNT." in said and "DECIDE." not in said:
            return "so: budget_4411 = 0"
        if "DECIDE." in said and "My lamp" not in said:
            return "so: refund_4411 = approved" if "tool_result" in said else ("Agent", COUNT)
        if "tool_result" in said:
            return "Good news.\nso told: refund_4411 = approved"
        return ("Agent", DECIDE) if "Agent" in tools_of(asked) else "ok"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.answer(asked)
        if isinstance(answer, str):
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": answer}
        else:
            name, calls = answer
            block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(calls)}
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {
                "id": "m", "type": "message", "role": "assistant", "model": asked["model"],
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "usage": usage,
             "delta": {"stop_reason": stop, "stop_sequence": None}},
            {"type": "message_stop"},
        ]
        body = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Talking(Scripted):
    """The main agent and a subagent that still works send each other a message."""

    sent: ClassVar[dict[str, threading.Event]] = {}

    def answer(self, asked: dict[str, Any]) -> str | Call:
        if "Bash" not in tools_of(asked):
            return "ok"
        me, other = ("main", "bill") if "My lamp" in json.dumps(asked["messages"]) else ("bill", "main")
        made = [block["name"] for message in asked["messages"] for block in message["content"]
                if isinstance(block, dict) and block.get("type") == "tool_use"]
        script: list[Call] = [
            ("ToolSearch", {"query": "select:SendMessage"}),
            ("SendMessage", {"to": other, "summary": "news", "message": f"so: said_by_{me} = yes"}),
        ]
        if me == "main":
            script.insert(0, ("Agent", {**DECIDE, "name": "bill"}))
        if len(made) < len(script):
            return script[len(made)]
        self.sent[me].set()
        assert self.sent[other].wait(60)  # neither ends before it has heard the other
        return "done"


@pytest.fixture
def api(request: pytest.FixtureRequest) -> Iterator[str]:
    script = getattr(request, "param", Scripted)
    Talking.sent = {"main": threading.Event(), "bill": threading.Event()}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), script)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def session_of(
    store_path: Path, tmp_path: Path, api: str, *, background: bool
) -> Iterator[Memory]:
    """What is remembered of a session of the real host, once all that it left is recorded."""
    project = tmp_path / "project"
    (project / ".claude" / "agents").mkdir(parents=True)
    for name in ("billing", "ledger"):
        (project / ".claude" / "agents" / f"{name}.md").write_text(
            f"---\nname: {name}\ndescription: Works in {name}.\n---\nYou work in {name}.\n"
        )
    store = {"FALKORDB_LITE_PATH": str(store_path), "SO_SPOOL": str(store_path.parent / "spool")}
    subprocess.run(
        [COMMAND, "hook", "install", "claude-code", "--write", "--user", "Maya"],
        cwd=project, env=store, check=True, stdout=subprocess.DEVNULL,
    )
    env = {
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ANTHROPIC_BASE_URL": api,
        "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
    }
    if not background:
        env["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] = "1"
    done = subprocess.run(
        [str(claude()), "-p", "My lamp came broken.\nso: refund_4411 = requested"],
        cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with Memory(path=store_path) as memory:
        left = Spool.of(from_environment(store), store)
        while left.waiting():  # whoever started to drain it has the turn
            left.drain(lambda _: memory)
        yield memory
    assert not left.log_file.exists(), left.log_file.read_text()


@pytest.mark.runs_on("embedded", why="it is about Claude Code's hooks")
@pytest.mark.parametrize("background", [True, False])
def test_a_session_of_the_real_host_is_recorded(
    store_path: Path, tmp_path: Path, api: str, background: bool
) -> None:
    with session_of(store_path, tmp_path, api, background=background) as memory:
        assert memory.agents() == ["Maya", "Claude", "billing", "ledger"]
        assert memory.truth("refund_4411") == "approved"
        for chain in (["billing"], ["Claude"], ["Maya"], ["Claude", "Maya"], ["Maya", "Claude"],
                      ["Claude", "billing"], ["billing", "Claude"]):
            assert memory.believes(chain, "refund_4411") == "approved", chain
        assert memory.believes(["billing", "Maya"], "refund_4411") is None
        assert memory.believes(["billing", "ledger"], "budget_4411") == "0"
        assert memory.believes(["Claude"], "budget_4411") is None, "a subagent's own subagent"
        assert memory.verify() == []


@pytest.mark.runs_on("embedded", why="it is about Claude Code's hooks")
@pytest.mark.parametrize("api", [Talking], indirect=True)
def test_messages_between_agents_of_the_real_host_are_recorded(
    store_path: Path, tmp_path: Path, api: str
) -> None:
    with session_of(store_path, tmp_path, api, background=True) as memory:
        assert memory.believes(["billing", "Claude"], "said_by_main") == "yes"
        assert memory.believes(["Claude", "billing"], "said_by_bill") == "yes"
        assert memory.believes(["Maya"], "said_by_bill") is None, "the host's words are not the user's"
        assert memory.verify() == []
