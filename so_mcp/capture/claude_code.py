"""Claude Code: what a hook is given on standard input, as events. Pure; nothing here may fail.

Written against what Claude Code 2.1.332 itself sent, and its documented fields:

| hook | what becomes of it |
|---|---|
| ``SessionStart``, ``SessionEnd`` | the user and the main agent enter, leave the session's room |
| ``UserPromptSubmit`` | the user says it to the main agent (what the host itself puts there, as the result of a background task, is not the user's) |
| ``PreToolUse`` of ``Agent`` (once ``Task``) | whoever calls it says the prompt to the subagent |
| ``PostToolUseFailure`` of it | it never reached the subagent (a rule denied it): void |
| ``SubagentStart``, ``SubagentStop`` | it enters, leaves a room of its own |
| ``PostToolUse`` of it, with a result | the subagent says the result to whoever called it |
| ``SubagentStop`` of one in the background | the subagent says its last message to whoever called it |
| ``PostToolUse`` of ``SendMessage`` | whoever calls it says the message to the subagent or the main agent named |
| ``Stop`` | the main agent says its last message to the user |

Who hears is exactly who is handed the text: a subagent never sees the session, nor another one.
A subagent is called by its type, so two of one type are one mind, as they share one memory.

Not heard: ``SendMessage`` to another session, of which nothing says whether it is ever read there,
what other sessions send here, and ``SubagentHandback``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .messages import Given, agent_name, digest, enters, event_key, leaves, message

HOST = "claude-code"
AGENT_TOOLS = ("Agent", "Task")  # the second is what it was called before
MESSAGE_TOOL = "SendMessage"
HOOKS = {  # the events to hook, and of which tools
    "SessionStart": None, "SessionEnd": None, "UserPromptSubmit": None, "Stop": None,
    "SubagentStart": None, "SubagentStop": None,
    **dict.fromkeys(("PreToolUse", "PostToolUseFailure"), "|".join(AGENT_TOOLS)),
    "PostToolUse": "|".join((*AGENT_TOOLS, MESSAGE_TOOL)),
}
_GENERAL = "general-purpose"  # who is started when no type is named
_MAIN = "main"  # what subagents call the main agent
_FROM_THE_HOST = (  # it puts these where the user's words are
    "<task-notification>", "<system-reminder>", "<agent-message", "<cross-session-message",
    "<teammate-message",
)


@dataclass(frozen=True, slots=True)
class People:
    """What the two who are in every session are called."""

    user: str = "User"
    main: str = "Claude"


def events_of(
    given: Mapping[str, Any], people: People, now: int, other: str | None = None
) -> list[Given]:
    """The events that one call of a hook reports; ``now``: milliseconds since 1970.

    ``other``: the subagent that started one that stops, or that gets a message (see `callers`); None:
    it is none that this session started.
    """
    return _Report(given, people, now, other).events()


class _Report:
    def __init__(
        self, given: Mapping[str, Any], people: People, now: int, other: str | None
    ) -> None:
        self._given = given
        self._other = None if other is None else agent_name(other, _GENERAL)
        self._people = people
        self._now = now
        self._session = self._text("session_id") or "session"
        # A subagent of its own calls others too: it is named then, with an id.
        inside = self._text("agent_id") is not None
        self._caller = agent_name(given.get("agent_type"), _GENERAL) if inside else people.main

    def events(self) -> list[Given]:
        hook, tool = self._text("hook_event_name"), self._text("tool_name")
        if tool == MESSAGE_TOOL:
            return self._sent() if hook == "PostToolUse" else []
        report = {
            "SessionStart": self._began, "SessionEnd": self._ended, "UserPromptSubmit": self._prompt,
            "Stop": self._answered, "PreToolUse": self._tasked, "PostToolUse": self._returned,
            "PostToolUseFailure": self._undone, "SubagentStart": self._started,
            "SubagentStop": self._stopped,
        }.get(hook or "")
        return [] if report is None or tool not in (None, *AGENT_TOOLS) else report()

    def _began(self) -> list[Given]:
        if self._text("source") == "compact":  # the same two talk on
            return []
        both = [self._people.user, self._people.main]
        return enters(both, self._room(), at=self._now, key=self._key("enter", self._now))

    def _ended(self) -> list[Given]:
        both = [self._people.user, self._people.main]
        return leaves(both, self._room(), at=self._now, key=self._key("exit", self._now))

    def _prompt(self) -> list[Given]:
        text = self._text("prompt") or ""
        if text.lstrip().startswith(_FROM_THE_HOST):
            return []
        return self._message(self._people.user, self._people.main, text, "prompt", self._turn())

    def _answered(self) -> list[Given]:
        text = self._text("last_assistant_message") or ""
        key = ("stop", self._turn(), digest(text))  # a hook may have it go on, and stop again
        return self._message(self._people.main, self._people.user, text, *key)

    def _tasked(self) -> list[Given]:
        key = ("task", self._tool_use())
        return self._message(self._caller, self._called(), self._input("prompt"), *key)

    def _returned(self) -> list[Given]:
        key = ("result", self._tool_use())
        return self._message(self._called(), self._caller, self._result(), *key)

    def _sent(self) -> list[Given]:
        """A message that the host has taken for another agent of this session."""
        response = self._given.get("tool_response")
        taken = isinstance(response, Mapping) and response.get("success") is True
        hearer = self._people.main if self._input("to") == _MAIN else self._other
        if not taken or hearer is None:
            return []
        return self._message(self._caller, hearer, self._input("message"), "sent", self._tool_use())

    def _started(self) -> list[Given]:
        key = self._key("start", self._agent(), self._turn())
        return enters([self._caller], self._own_room(), at=self._now, key=key)

    def _undone(self) -> list[Given]:
        """A call that was denied was prepared all the same: the subagent never heard it.

        One that the user interrupts had been heard.
        """
        if self._given.get("is_interrupt") is True:
            return []
        prepared = self._tasked()
        return [
            {"kind": "void", "event": event["id"], "id": f"{event['id']}!"} for event in prepared
        ]

    def _stopped(self) -> list[Given]:
        """A result in the foreground comes with the tool's call; one in the background only here."""
        said: list[Given] = []
        text = self._text("last_assistant_message") or ""
        tasks = self._given.get("background_tasks")
        running = [task.get("id") for task in tasks] if isinstance(tasks, list) else []
        key = ("stopped", self._agent(), self._turn(), digest(text))
        if self._given.get("agent_id") in running:
            waiting = self._other or self._people.main
            said = self._message(self._caller, waiting, text, "result", *key[1:])
        return said + leaves([self._caller], self._own_room(), at=self._now, key=self._key(*key))

    def _message(self, speaker: str, hearer: str, text: str, *key: object) -> list[Given]:
        return message(speaker, [hearer], text, at=self._now, key=self._key(*key))

    def _result(self) -> str:
        """The text that the tool gave back; "" where it was only started."""
        response = self._given.get("tool_response")
        content = response.get("content") if isinstance(response, Mapping) else response
        if isinstance(content, str):
            return content
        texts = [part.get("text") for part in content] if isinstance(content, list) else []
        return "\n".join(text for text in texts if isinstance(text, str))

    def _called(self) -> str:
        return agent_name(self._input("subagent_type"), _GENERAL)

    def _input(self, field: str) -> str:
        given = self._given.get("tool_input")
        value = given.get(field) if isinstance(given, Mapping) else None
        return value if isinstance(value, str) else ""

    def _room(self) -> str:
        return f"session {self._session[:36]}"

    def _own_room(self) -> str:
        return f"{self._room()} agent {self._agent()[:36]}"

    def _agent(self) -> str:
        return self._text("agent_id") or _GENERAL

    def _turn(self) -> object:
        """What the host calls this turn; one that does not name it is told apart by the moment."""
        return self._text("prompt_id") or self._now

    def _tool_use(self) -> object:
        return self._text("tool_use_id") or self._now

    def _key(self, *parts: object) -> str:
        return event_key(HOST, self._session, *parts)

    def _text(self, field: str) -> str | None:
        value = self._given.get(field)
        return value if isinstance(value, str) and value else None
