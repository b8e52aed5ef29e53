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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from so_mcp import Memory
from so_mcp.capture.spool import Spool
from so_mcp.config import from_environment

COMMAND = str(Path(sys.executable).parent / "so-mcp")
DECIDE = {"description": "decide", "subagent_type": "billing",
          "prompt": "DECIDE.\nso told: refund_4411 = requested"}
COUNT = {"description": "count", "subagent_type": "ledger", "prompt": "COUNT."}


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

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = json.dumps(asked["messages"])
        calls: dict[str, str] | None = None
        text = "ok"
        if "COUNT." in said and "DECIDE." not in said:
            text = "so: budget_4411 = 0"
        elif "DECIDE." in said and "My lamp" not in said:
            text = "so: refund_4411 = approved"
            calls = None if "tool_result" in said else COUNT
        elif "tool_result" in said:
            text = "Good news.\nso told: refund_4411 = approved"
        elif any(tool.get("name") == "Agent" for tool in asked.get("tools", [])):
            calls = DECIDE
        if calls is None:
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": text}
        else:
            block = {"type": "tool_use", "id": f"toolu_{calls['description']}", "name": "Agent",
                     "input": {}}
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


@pytest.fixture
def api() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("background", [True, False])
def test_a_session_of_the_real_host_is_recorded(
    store_path: Path, tmp_path: Path, api: str, background: bool
) -> None:
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
        assert memory.agents() == ["Maya", "Claude", "billing", "ledger"]
        assert memory.truth("refund_4411") == "approved"
        for chain in (["billing"], ["Claude"], ["Maya"], ["Claude", "Maya"], ["Maya", "Claude"],
                      ["Claude", "billing"], ["billing", "Claude"]):
            assert memory.believes(chain, "refund_4411") == "approved", chain
        assert memory.believes(["billing", "Maya"], "refund_4411") is None
        assert memory.believes(["billing", "ledger"], "budget_4411") == "0"
        assert memory.believes(["Claude"], "budget_4411") is None, "a subagent's own subagent"
        assert memory.verify() == []
    assert not left.log_file.exists(), left.log_file.read_text()
