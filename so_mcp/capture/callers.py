"""Which subagent waits for which: a note between two calls of a hook of Claude Code.

A subagent that runs in the background ends without a word on who started it. Where that was not
the main agent, it is noted when it is started, in a small file, until the session ends.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .messages import digest


class Callers:
    """The notes, in a private folder. What cannot be written or read was not noted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def hear(self, given: Mapping[str, Any]) -> str | None:
        """Take a hook's input; of a subagent that stops, who started it, if that was another."""
        session, hook = digest(str(given.get("session_id"))), given.get("hook_event_name")
        with contextlib.suppress(OSError):
            if hook == "PostToolUse" and given.get("agent_id"):
                response = given.get("tool_response")
                started = response.get("agentId") if isinstance(response, Mapping) else None
                if started:
                    self._note(f"{session}-{digest(str(started))}", str(given.get("agent_type")))
            elif hook == "SubagentStop":
                return (self._folder / f"{session}-{digest(str(given.get('agent_id')))}").read_text("utf-8")
            elif hook == "SessionEnd":
                for note in self._folder.glob(f"{session}-*"):
                    note.unlink(missing_ok=True)
        return None

    def _note(self, name: str, caller: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(caller)
