"""OpenAI Agents SDK: run hooks; each `Agent` is an agent.

    from so_mcp.capture.openai_agents import SecondOrderHooks

    await Runner.run(triage, "Where is my refund?", hooks=SecondOrderHooks(thread="ticket-4411"))

Read is what each agent's model is given: the user's messages, and what other agents said in this
run. A handoff is a handoff: who hands over leaves, and knows that the other is given what it said.
Nothing of it waits for the database or raises. Tried with openai-agents 0.24.
"""

# ruff: noqa: ARG002 - the framework gives its methods more than is needed here

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from so_mcp.config import from_environment

from .conversation import Conversation, Message, Sink
from .messages import agent_name, digest
from .spool import spooling

try:
    from agents import ItemHelpers, RunHooks
except ImportError as error:  # pragma: no cover - where it is not installed
    raise ImportError(
        "The OpenAI Agents SDK is not installed. Run: pip install 'so-mcp[openai-agents]'"
    ) from error

HOST = "openai-agents"


class SecondOrderHooks(RunHooks[Any]):
    """Records who says what in a run, and which agent is given it.

    ``sink``: where events go; default: the spool of the store that the environment names.
    ``user``: who the user's messages are of. ``thread``: the name of the conversation. Make one
    object for each conversation, and give each run what was said before (a session, or
    ``to_input_list()``), as messages are told apart by their place in it.
    """

    def __init__(
        self, sink: Sink | None = None, *, user: str = "User", thread: str | None = None
    ) -> None:
        self._user = user
        self._talk = Conversation(
            sink or spooling(from_environment()), HOST, thread or uuid.uuid4().hex
        )
        self._times: Counter[str] = Counter()  # how often agents said a text
        self._newest: Message | None = None

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """An agent is about to be asked."""
        await asyncio.to_thread(self._talk.answers, _name(agent), self._user)

    async def on_llm_start(
        self, context: Any, agent: Any, system_prompt: str | None, input_items: list[Any]
    ) -> None:
        """An agent's model is given what was said so far."""
        await asyncio.to_thread(self._given, _name(agent), [*input_items])

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """An agent's model has said something; what it calls is not said."""
        texts = [
            ItemHelpers.extract_last_text(item) or ""
            for item in response.output if getattr(item, "type", None) == "message"
        ]
        await asyncio.to_thread(self._spoke, _name(agent), texts)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """One agent hands over to another."""
        await asyncio.to_thread(self._handed, _name(from_agent), _name(to_agent))

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """An agent has the final answer: the user is given it."""
        await asyncio.to_thread(self._answered)

    def _given(self, agent: str, items: list[Any]) -> None:
        handed = list(_said(items))
        for said, is_users in handed:
            if is_users:
                self._talk.says(self._user, said)
        # What an agent said is known by its text: in the list it has no name of its own any more.
        self._talk.starts(agent, [said for said, is_users in handed
                                  if is_users or self._talk.knows(said.key)])

    def _spoke(self, agent: str, texts: Iterable[str]) -> None:
        for text in texts:
            if text:
                said = self._newest = Message(_key("assistant", text, self._times[text]), text)
                self._times[text] += 1
                self._talk.says(agent, said)

    def _handed(self, speaker: str, to: str) -> None:
        self._talk.hands_over(speaker, to)
        self._talk.leaves([speaker])

    def _answered(self) -> None:
        if self._newest is not None:
            self._talk.answered(self._user, self._newest)
        self._talk.leaves()
        self._talk.asks(self._user)


def _said(items: Iterable[Any]) -> Iterator[tuple[Message, bool]]:
    """The messages of a model's input, and whether they are the user's.

    They carry no ids: one is known by its text, and by how often that was said before.
    """
    before: Counter[tuple[str, str]] = Counter()
    for item in items:
        role = item.get("role") if isinstance(item, dict) else None
        text = _text(item.get("content")) if role in ("user", "assistant") else ""
        if text:
            said = str(role), text
            yield Message(_key(*said, before[said]), text), role == "user"
            before[said] += 1


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(
        content, list) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def _key(role: str, text: str, times: int) -> str:
    return f"{role}-{digest(text)}-{times}"


def _name(agent: Any) -> str:
    return agent_name(getattr(agent, "name", None), "agent")
