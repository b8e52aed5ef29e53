"""Which subagent is which, and waits for which: notes between two calls of a hook of Claude Code.

A subagent that runs in the background ends without a word on who started it, and a message to one
names it by a number. Both are noted when it is started, in small files, until the session ends.
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
        """Take a hook's input, and give the type of the other subagent whom it is about, if any.

        Of one that stops that is who started it; of a message, who gets it.
        """
        session, hook = digest(str(given.get("session_id"))), given.get("hook_event_name")
        own, response = given.get("agent_id"), given.get("tool_response")
        started = response.get("agentId") if isinstance(response, Mapping) else None
        pinned = response.get("pin") if isinstance(response, Mapping) else None
        with contextlib.suppress(OSError):
            if hook == "SubagentStart":
                self._note(f"{session}-{digest(str(own))}.type", str(given.get("agent_type")))
            elif hook == "PostToolUse" and isinstance(pinned, Mapping):
                return self._noted(f"{session}-{digest(str(pinned.get('id')))}.type")
            elif hook == "PostToolUse" and own and started:
                self._note(f"{session}-{digest(str(started))}", str(given.get("agent_type")))
            elif hook == "SubagentStop":
                return self._noted(f"{session}-{digest(str(own))}")
            elif hook == "SessionEnd":
                for note in self._folder.glob(f"{session}-*"):
                    note.unlink(missing_ok=True)
        return None

    def _noted(self, name: str) -> str:
        return (self._folder / name).read_text("utf-8")

    def _note(self, name: str, caller: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(caller)
