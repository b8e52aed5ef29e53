"""LangGraph: a callback handler; each node of the graph is an agent.

    from so_mcp.capture.langgraph import SecondOrderCallback

    graph.invoke(inputs, config={"callbacks": [SecondOrderCallback()],
                                 "configurable": {"thread_id": "ticket-4411"}})

Read are the messages of the state (``messages``, as in `MessagesState`): the user's as the run
begins, a node's as it ends; a node reads those that it is handed as it starts, the user the last
one. ``Command(goto=...)`` is a handoff. A subgraph is part of its node. Nothing of it waits for the
database or raises. Tried with langgraph 1.2.
"""

# ruff: noqa: ARG002 - the framework gives its methods more than is needed here

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from typing import Any

from so_mcp.config import from_environment

from .conversation import Conversation, Message, Sink
from .messages import agent_name
from .spool import spooling

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage
except ImportError as error:  # pragma: no cover - where it is not installed
    raise ImportError("LangGraph is not installed. Run: pip install 'so-mcp[langgraph]'") from error

HOST = "langgraph"


class SecondOrderCallback(BaseCallbackHandler):
    """Records who says what in a graph, and which node is handed it.

    ``sink``: where events go; default: the spool of the store that the environment names.
    ``user``: who the human messages are of. ``state``: the key of the messages.
    """

    run_inline = True  # in order, also under asyncio

    def __init__(self, sink: Sink | None = None, *, user: str = "User", state: str = "messages") -> None:
        super().__init__()
        self._sink = sink or spooling(from_environment())
        self._user = user
        self._state = state
        self._threads: dict[str, Conversation] = {}  # by the host's name for each
        self._runs: dict[uuid.UUID, tuple[Conversation, str | None]] = {}  # None: the whole graph
        self._lock = threading.Lock()

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: uuid.UUID,
        parent_run_id: uuid.UUID | None = None, metadata: dict[str, Any] | None = None,
        **given: Any,
    ) -> None:
        """The graph begins: the user speaks. Or a node begins, and is handed the messages."""
        about = metadata or {}
        handed = self._messages(inputs)
        if parent_run_id is None:
            talk = self._conversation(str(about.get("thread_id") or run_id))
            self._runs[run_id] = talk, None
            talk.asks(self._user)
            for said in handed:
                if said.type == "human":
                    talk.says(self._name_of(said, self._user), _identified(said))
            return
        node, space = about.get("langgraph_node"), str(about.get("langgraph_checkpoint_ns", ""))
        parent = self._runs.get(parent_run_id)
        if parent is None or parent[1] is not None or node != given.get("name") or "|" in space:
            return  # inside a node
        talk, agent = parent[0], agent_name(node, "node")
        self._runs[run_id] = talk, agent
        for said in handed:
            if said.type == "human" and said.id and not talk.knows(said.id):  # given as no object
                talk.says(self._name_of(said, self._user), _identified(said))
        talk.answers(agent, self._user)
        talk.starts(agent, [_identified(said) for said in handed])

    def on_chain_end(self, outputs: Any, *, run_id: uuid.UUID, **_: Any) -> None:
        """A node ends and has spoken; or the graph does, and the user has the answer."""
        talk, agent = self._runs.pop(run_id, (None, None))
        if talk is None:
            return
        said = self._messages(outputs)
        if agent is not None:
            for message in said:
                if message.type == "ai":
                    talk.says(self._name_of(message, agent), _identified(message))
            for to in _next(outputs):
                talk.hands_over(agent, agent_name(to, "node"))
            return
        answers = [message for message in said if message.type == "ai"]
        if answers:
            talk.answered(self._user, _identified(answers[-1]))
        talk.leaves()

    def on_chain_error(self, error: BaseException, *, run_id: uuid.UUID, **_: Any) -> None:
        """A node fails: it has said nothing. Or the graph does."""
        talk, agent = self._runs.pop(run_id, (None, None))
        if talk is not None and agent is None:
            talk.leaves()

    def _conversation(self, name: str) -> Conversation:
        with self._lock:
            return self._threads.setdefault(name, Conversation(self._sink, HOST, name))

    def _messages(self, state: Any) -> list[BaseMessage]:
        """The messages of people and agents in a state, an update or a command; else none."""
        update = getattr(state, "update", None) if not isinstance(state, dict) else state
        found = update.get(self._state) if isinstance(update, dict) else None
        one_or_more = found if isinstance(found, Sequence) else [found]
        return [m for m in one_or_more if isinstance(m, BaseMessage) and m.type in ("human", "ai")]

    def _name_of(self, said: BaseMessage, default: str) -> str:
        return agent_name(said.name, default)


def _identified(said: BaseMessage) -> Message:
    """A message with an id, which LangGraph gives it too, as soon as it is on the list."""
    if said.id is None:
        said.id = str(uuid.uuid4())
    content = said.content
    parts = [content] if isinstance(content, str) else [
        part if isinstance(part, str) else part.get("text", "") for part in content
    ]
    return Message(said.id, "\n".join(part for part in parts if part))


def _next(outputs: Any) -> list[str]:
    """Whom a command names as next."""
    goto = getattr(outputs, "goto", ())
    named = [goto] if isinstance(goto, str) else goto if isinstance(goto, Sequence) else ()
    return [to for to in named if isinstance(to, str)]
