"""What every tool is asked on the scenarios that come with the package.

One table for the answers' snapshots, the count of round trips and the measurement: a new tool
needs a line for each scenario, the first of which is the one that is counted and measured.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from eval.servers import memory_of
from so_mcp import AgentView, scenarios
from so_mcp.calls import Source
from so_mcp.embedded import EmbeddedStore
from so_mcp.grants import Store
from so_mcp.tools import Mode, Tool

Asks = dict[str, list[dict[str, Any]]]
SCENARIOS = ("support", "org")
AGENTS = {"support": "Escalation", "org": "Ben"}  # whose mind an agent's tools are asked of

_TELL_MAYA = {
    "kind": "tell", "speaker": "Escalation", "room": "chat", "entity": "refund_4411",
    "value": "rejected", "text": "There is no refund, Maya. You get a new lamp.",
    "happened_at": "2026-03-02T10:33:00Z",
}
_NEW_ADDRESS = {
    "kind": "tell", "speaker": "Maya", "listeners": ["Escalation", "Shipping"],
    "entity": "address_4411", "value": "7 Oak Lane", "happened_at": "2026-03-02T10:34:00Z",
}
_TELL_ALL = {
    "kind": "announce", "speaker": "Ada", "entity": "launch_date", "value": "Tuesday",
    "text": "To be clear: we launch on Tuesday.", "happened_at": "2026-03-02T16:30:00Z",
}
_NEW_DAY = {
    "kind": "say", "speaker": "Ada", "audience": ["Ben", "Chloe"], "entity": "launch_date",
    "value": "Thursday", "happened_at": "2026-03-02T17:00:00Z",
}
_EVERYONE = ["Ada", "Ben", "Chloe", "Dan", "Eva", "Finn", "Grace"]

ASKS: dict[tuple[str, Mode], Asks] = {
    ("support", "supervisor"): {
        "record": [{"events": [_TELL_MAYA]}, {"events": [_NEW_ADDRESS], "dry_run": True}],
        "believes": [
            {"chain": ["Billing", "Maya"], "entity": "refund_4411"},
            {"chain": ["Shipping"], "entity": "refund_4411"},
            {"chain": ["Maya"], "entity": "refund_441"},
            {"chain": ["maya"], "entity": "refund_4411"},
        ],
        "false_beliefs": [{}, {"depth": 2, "entity": "address_4411"}, {"limit": 2}],
        "explain": [
            {"chain": ["Maya"], "entity": "refund_4411"},
            {"chain": ["Escalation", "Maya"], "entity": "refund_4411"},
            {"chain": ["Shipping"], "entity": "address_4411"},
            {"chain": ["Shipping"], "entity": "refund_4411"},
        ],
        "who_knows": [{"entity": "refund_4411"}, {"entity": "replacement_4411"}],
        "timeline": [
            {"limit": 5}, {"entity": "address_4411"},
            {"agent": "Shipping", "as_of": "2026-03-02T10:00:00Z"}, {"entity": "refund_441"},
        ],
        "missed": [
            {"agent": "Maya"}, {"agent": "Shipping", "entity": "address_4411"},
            {"agent": "Escalation", "since": "2026-03-02T10:10:00Z"},
        ],
        "replay": [{"entity": "refund_4411"}, {"entity": "address_4411", "limit": 2}],
        "common_ground": [
            {"agents": ["Escalation", "Shipping"]},
            {"agents": ["Billing", "Escalation", "Finance", "Maya", "Shipping"]},
        ],
        "context_for": [
            {"agent": "Escalation", "talking_to": "Maya"},
            {"agent": "Billing", "talking_to": "Maya", "as_of": "2026-03-02T09:30:00Z"},
        ],
        "handoff_delta": [
            {"sender": "Billing", "receiver": "Escalation"},
            {"sender": "Escalation", "receiver": "Shipping"},
            {"sender": "Escalation", "receiver": "Maya", "exclude": ["address_4411"]},
        ],
        "what_if": [{"events": [_TELL_MAYA]}],
        "plan_announcements": [
            {"entity": "refund_4411", "speaker": "Escalation", "know": ["Maya", "Escalation"]},
            {"entity": "replacement_4411", "speaker": "Shipping",
             "know": ["Billing", "Finance", "Shipping"], "keep_from": ["Maya"]},
        ],
        "vocabulary": [
            {}, {"name": "escalaton"}, {"alias": "the refund", "name": "refund_4411"},
            {"name": "Escalation", "rename_to": "Care"}, {"strict": True},
        ],
        "scenarios": [{}],
        "load_scenario": [{"name": "support"}, {"name": "org"}, {"name": "suport"}],
        "reset_scenario": [{"confirm": "support"}, {}],
    },
    ("support", "agent"): {
        "my_beliefs": [{}, {"entity": "refund_4411"}, {"entity": "weather"}],
        "what_does_person_believe": [{"person": "Maya"}, {"person": "Zed"}],
        "nested_belief": [{"chain": ["Billing", "Maya"], "entity": "refund_4411"}],
        "explain": [
            {"entity": "refund_4411"}, {"entity": "refund_4411", "person": "Maya"},
            {"entity": "weather"},
        ],
        "what_changed": [{}, {"since": "2026-03-02T10:10:00Z"}, {"limit": 2}],
        "who_is_misinformed": [{}],
        "context_for": [{"talking_to": "Maya"}, {"talking_to": "Shipping"}],
        "common_ground": [{"person": "Shipping"}, {"person": "Maya"}],
        "handoff_delta": [{"receiver": "Shipping"}, {"receiver": "Maya"}],
    },
    ("org", "supervisor"): {
        "record": [{"events": [_TELL_ALL]}, {"events": [_NEW_DAY], "dry_run": True}],
        "believes": [{"chain": ["Eva", "Dan"], "entity": "launch_date"}],
        "false_beliefs": [{}, {"depth": 2, "agents": ["Dan"]}, {"depth": 3, "limit": 3}],
        "explain": [{"chain": ["Eva", "Dan"], "entity": "launch_date"}],
        "who_knows": [{"entity": "launch_date"}],
        "timeline": [{}],
        "missed": [{"agent": "Grace"}],
        "replay": [{"entity": "launch_date"}],
        "common_ground": [{"agents": _EVERYONE}, {"agents": ["Ada", "Ben", "Chloe"]}],
        "context_for": [{"agent": "Eva", "talking_to": "Dan"}],
        "handoff_delta": [
            {"sender": "Ben", "receiver": "Dan"},
            {"sender": "Ben", "receiver": "Ada"},
            {"sender": "Eva", "receiver": "Dan"},
        ],
        "what_if": [{"events": [_TELL_ALL]}],
        "plan_announcements": [
            {"entity": "launch_date", "speaker": "Ben", "know": _EVERYONE},
            {"entity": "launch_date", "speaker": "Ada", "know": ["Ada", "Dan", "Eva"],
             "keep_from": ["Grace"]},
        ],
        "vocabulary": [{}, {"name": "Finn", "rename_to": "Fin"}],
        "scenarios": [{}],
        "load_scenario": [{"name": "org"}],
        "reset_scenario": [{}, {"confirm": "support"}, {"confirm": "org"}],
    },
    ("org", "agent"): {
        "my_beliefs": [{}],
        "what_does_person_believe": [{"person": "Dan"}],
        "nested_belief": [{"chain": ["Dan", "Ada"], "entity": "launch_date"}],
        "explain": [{"entity": "launch_date"}, {"entity": "launch_date", "person": "Dan"}],
        "what_changed": [{}, {"since": "2026-03-02T15:00:00Z"}],
        "who_is_misinformed": [{}],
        "context_for": [{"talking_to": "Dan"}],
        "common_ground": [{"person": "Ada"}, {"person": "Dan"}],
        "handoff_delta": [{"receiver": "Dan"}],
    },
}


def asks_of(tool: Tool, scenario: str) -> list[dict[str, Any]]:
    """What a tool is asked there; raises `LookupError` that says where a line is missing."""
    asks = ASKS[scenario, tool.mode].get(tool.name)
    if not asks:
        raise LookupError(
            f"eval/asks.py: ASKS[{scenario!r}, {tool.mode!r}] has no line for {tool.name!r}: add "
            "one with what it is to be asked there."
        )
    return asks


def played(store: Store, scenario: str, mode: Mode) -> Source:
    """The scenario in that database, ready to be asked in one of the modes."""
    memory = memory_of(store, scenario)
    if memory.step() == 0:
        scenarios.play(memory, scenarios.load(scenario))
    if mode == "supervisor":
        return memory
    with memory:
        agent = AGENTS[scenario]
        password = memory.grant(agent).password
        own = store if isinstance(store, EmbeddedStore) else replace(store, username=None, password=password)
        return AgentView(agent, scenario, own)


def command_of(tool: str, ask: dict[str, Any]) -> str:
    """The same as words of a command line, for people."""
    words = [
        f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in ask.items()
    ]
    return " ".join([tool, *words])
