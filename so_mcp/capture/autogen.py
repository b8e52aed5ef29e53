"""AutoGen: around a team's stream of messages; every message reaches the whole team.

    from so_mcp.capture.autogen import captured

    async for message in captured(team.run_stream(task="..."), team=["Billing", "Shipping"]):
        ...

Recorded are the messages between agents, handoffs included, as they pass; thoughts and calls of
tools are an agent's own. Nothing of it waits for the database or raises. Tried with
autogen-agentchat 0.7.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

from so_mcp.config import from_environment

from .conversation import Sink
from .messages import Given, agent_name, enters, event_key, leaves, message
from .spool import spooling

try:
    from autogen_agentchat.messages import BaseChatMessage
except ImportError as error:  # pragma: no cover - where it is not installed
    raise ImportError("AutoGen is not installed. Run: pip install 'so-mcp[autogen]'") from error

HOST = "autogen"
_log = logging.getLogger("so_mcp.capture")


async def captured(
    stream: AsyncIterable[Any],
    team: Sequence[str],
    sink: Sink | None = None,
    *,
    user: str = "User",
    thread: str | None = None,
) -> AsyncIterator[Any]:
    """Pass a stream on, and record what the team says to each other.

    ``team``: the participants' names. ``user``: who the source ``user`` is. ``thread``: the name
    of the conversation; default: the first message's id. ``sink``: where events go; default: the
    spool of the store that the environment names.
    """
    put = sink or spooling(from_environment())
    names = [agent_name(name, "agent") for name in team]
    everybody = [*names, user]
    room = None
    at = 0
    try:
        async for passed in stream:
            if isinstance(passed, BaseChatMessage):
                at = round(passed.created_at.timestamp() * 1000)
                events: list[Given] = []
                if room is None:
                    room = event_key(HOST, thread or passed.id)
                    events += enters(everybody, room, at=at, key=event_key(room, "enter", passed.id))
                source = user if passed.source == "user" else agent_name(passed.source, "agent")
                hearers = [name for name in everybody if name != source]
                events += message(
                    source, hearers, passed.to_text(), at=at, key=event_key(room, passed.id)
                )
                await _put(put, events)
            yield passed
    finally:
        if room is not None:
            await _put(put, leaves(everybody, room, at=at, key=event_key(room, "exit", at)))


async def _put(sink: Sink, events: list[Given]) -> None:
    try:
        await asyncio.to_thread(sink, events)
    except Exception:  # noqa: BLE001 - the host's work is worth more than ours
        _log.warning("so-mcp could not record %d events", len(events), exc_info=True)
