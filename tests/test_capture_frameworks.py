"""Frameworks, themselves and without a model: what their agents say is who believes what."""

# ruff: noqa: PLC0415, ARG002 - frameworks that may not be installed, and their signatures

from __future__ import annotations

import asyncio
import importlib
import sys
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from absent import absent

from so_mcp import Memory
from so_mcp.capture.conversation import Conversation, Message, into


def need(module: str, extra: str) -> None:
    """Leave the test out where a framework is not installed."""
    if find_spec(module) is None:
        absent(f"{module} is not installed: pip install '.[{extra}]'")


# --- the conversation that LangGraph's and OpenAI's modules share ---------------------------------


def test_a_message_is_its_speakers_until_somebody_is_handed_it(memory: Memory) -> None:
    talk = Conversation(into(memory), "host", "t")
    said = Message("m1", "Done.\nso: refund = approved")
    talk.says("Billing", said)
    talk.says("Billing", said)
    talk.starts("Shipping", [said])
    talk.starts("Shipping", [said])
    assert memory.believes(["Billing"], "refund") == "approved"
    assert memory.believes(["Shipping", "Billing"], "refund") == "approved"
    assert memory.believes(["Billing", "Shipping"], "refund") is None, "it did not choose who is next"
    assert memory.step() == 4  # two came, one said, one read
    assert memory.verify() == []


def test_who_hands_over_knows_that_the_other_was_handed_it(memory: Memory) -> None:
    talk = Conversation(into(memory), "host", "t")
    said = Message("m1", "so: refund = approved\nso told: address = Elm Street")
    talk.says("Billing", said)
    talk.hands_over("Billing", "Shipping")
    talk.starts("Finance", [said])
    talk.starts("Shipping", [said])
    assert memory.believes(["Billing", "Shipping"], "refund") == "approved"
    assert memory.believes(["Billing", "Finance"], "refund") is None
    assert memory.believes(["Finance"], "refund") == "approved"
    assert memory.believes(["Shipping"], "address") == "Elm Street"
    assert memory.truth("address") is None


def test_a_store_that_fails_does_not_stop_a_conversation(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: list[dict[str, Any]]) -> None:
        raise OSError("no database")

    talk = Conversation(broken, "host", "t")
    talk.says("A", Message("m", "hello"))
    talk.leaves()
    assert "could not record" in caplog.text


@pytest.mark.parametrize(("module", "needs", "extra"), [
    ("langgraph", "langchain_core.callbacks", "langgraph"),
    ("openai_agents", "agents", "openai-agents"),
    ("autogen", "autogen_agentchat.messages", "autogen"),
])
def test_without_its_framework_a_module_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, needs: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, needs, None)
    monkeypatch.delitem(sys.modules, f"so_mcp.capture.{module}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'so-mcp\[{extra}\]'"):
        importlib.import_module(f"so_mcp.capture.{module}")
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert extra in extras["project"]["optional-dependencies"]


# --- LangGraph -----------------------------------------------------------------------------------


def langgraph_run(memory: Memory, *, asynchronous: bool) -> None:
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import Command

    from so_mcp.capture.langgraph import SecondOrderCallback

    def triage(state: MessagesState) -> Any:
        if "money" in str(state["messages"][-1].content):
            said = AIMessage("Billing, take it.\nso: refund = approved")
            return Command(goto="billing", update={"messages": [said]})
        return Command(goto=END, update={"messages": [AIMessage("so: address = Oak Lane")]})

    def work(_: MessagesState) -> Any:
        return {"messages": [("ai", "One moment."), AIMessage("so: refund = rejected", name="Bea")]}

    inner = StateGraph(MessagesState).add_node("inside", work).add_edge(START, "inside")
    graph = (
        StateGraph(MessagesState)
        .add_node("triage", triage, destinations=("billing", END))
        .add_node("billing", inner.compile())
        .add_edge(START, "triage")
        .compile(checkpointer=InMemorySaver())
    )
    config: Any = {"callbacks": [SecondOrderCallback(into(memory), user="Maya")],
                   "configurable": {"thread_id": "4411"}}
    for text in ("My money, please.\nso: order = broken", "I moved."):
        given: Any = {"messages": [HumanMessage(text)]}
        if asynchronous:
            asyncio.run(graph.ainvoke(given, config))
        else:
            graph.invoke(given, config)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_langgraph_a_node_knows_what_it_was_handed(memory: Memory, asynchronous: bool) -> None:
    need("langgraph", "langgraph")
    langgraph_run(memory, asynchronous=asynchronous)
    assert memory.agents() == ["Maya", "triage", "billing", "Bea"]
    assert memory.truth("refund") == "rejected"
    assert memory.believes(["billing"], "order") == "broken"
    assert memory.believes(["Maya", "triage"], "order") == "broken", "it answers her"
    assert memory.believes(["triage", "billing"], "refund") == "approved", "a handoff"
    # In the second run triage was handed what billing's subgraph had said in the first.
    assert memory.believes(["triage"], "refund") == "rejected"
    assert memory.believes(["Maya"], "refund") == "rejected", "the answer she was given"
    assert memory.believes(["billing"], "address") is None, "it did not run again"
    assert memory.believes(["Maya"], "address") == "Oak Lane"
    assert memory.verify() == []


# --- OpenAI Agents SDK ---------------------------------------------------------------------------


def openai_run(memory: Memory, asked: Sequence[str]) -> None:
    import agents
    from agents.items import ModelResponse
    from agents.usage import Usage
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    from so_mcp.capture.openai_agents import SecondOrderHooks

    class Scripted(agents.Model):
        """Answers from a list; no model."""

        def __init__(self, *answers: list[Any]) -> None:
            self._answers = iter(answers)

        async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
            return ModelResponse(next(self._answers), Usage(), None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    def says(text: str) -> Any:
        part = ResponseOutputText(annotations=[], text=text, type="output_text", logprobs=[])
        return ResponseOutputMessage(
            id="m", content=[part], role="assistant", status="completed", type="message"
        )

    def calls(name: str) -> Any:
        return ResponseFunctionToolCall(
            arguments="{}", call_id="c1", name=name, type="function_call"
        )

    billing = agents.Agent(name="Billing", model=Scripted([says("so: refund = rejected")]))
    triage = agents.Agent(
        name="Triage", handoffs=[billing],
        model=Scripted([says("so: refund = approved"), calls("transfer_to_billing")]),
    )
    hooks = SecondOrderHooks(into(memory), user="Maya", thread="4411")
    agents.set_tracing_disabled(disabled=True)
    result = asyncio.run(agents.Runner.run(triage, "\n".join(asked), hooks=hooks))
    assert result.final_output == "so: refund = rejected"


def test_openai_agents_a_handoff_hands_over_what_was_said(memory: Memory) -> None:
    need("agents", "openai-agents")
    openai_run(memory, ["My money, please.", "so: order = broken"])
    assert memory.agents() == ["Maya", "Triage", "Billing"]
    assert memory.believes(["Triage"], "order") == "broken"
    assert memory.believes(["Maya", "Triage"], "order") == "broken"
    assert memory.believes(["Billing"], "order") == "broken"
    assert memory.believes(["Triage", "Billing"], "refund") == "approved"
    assert memory.believes(["Triage"], "refund") == "approved", "it had left"
    assert memory.believes(["Billing"], "refund") == "rejected"
    assert memory.believes(["Maya"], "refund") == "rejected"
    assert memory.believes(["Billing", "Maya"], "refund") == "rejected"
    assert [f.chain for f in memory.false_beliefs(1, "refund")] == [("Triage",)]
    assert memory.verify() == []


def test_openai_agents_what_is_said_again_is_said_again(memory: Memory) -> None:
    """Its messages have no ids; the third is another than the first, though the words are the same."""
    need("agents", "openai-agents")
    from agents import Agent

    from so_mcp.capture.openai_agents import SecondOrderHooks

    hooks, agent = SecondOrderHooks(into(memory), thread="t"), Agent(name="Desk")
    said: list[Any] = []
    for text in ("so: state = open", "so: state = shut", "so: state = open"):
        said.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        for _ in range(2):  # a model is asked again after each tool that it calls
            asyncio.run(hooks.on_llm_start(None, agent, None, said))
        said.append({"role": "assistant", "content": "Noted."})
    assert memory.believes(["Desk", "User"], "state") == memory.truth("state") == "open"
    assert memory.step() == 2 + 3 + 3


# --- AutoGen -------------------------------------------------------------------------------------


def autogen_run(memory: Memory) -> list[Any]:
    from autogen_agentchat.agents import BaseChatAgent
    from autogen_agentchat.base import Response
    from autogen_agentchat.conditions import MaxMessageTermination
    from autogen_agentchat.messages import HandoffMessage, TextMessage
    from autogen_agentchat.teams import Swarm

    from so_mcp.capture.autogen import captured

    class Scripted(BaseChatAgent):
        """Says one thing; no model."""

        def __init__(self, name: str, says: Any) -> None:
            super().__init__(name, "scripted")
            self._says = says

        @property
        def produced_message_types(self) -> Any:
            return (TextMessage, HandoffMessage)

        async def on_messages(self, messages: Any, cancellation_token: Any) -> Response:
            return Response(chat_message=self._says)

        async def on_reset(self, cancellation_token: Any) -> None:
            pass

    async def run() -> list[Any]:
        team = Swarm(
            [
                Scripted("Triage", HandoffMessage(
                    source="Triage", target="Billing", content="so: refund = approved")),
                Scripted("Billing", TextMessage(source="Billing", content="so: refund = rejected")),
            ],
            termination_condition=MaxMessageTermination(3),
        )
        stream = team.run_stream(task="My money.\nso: order = broken")
        names = ["Triage", "Billing"]
        return [m async for m in captured(stream, names, into(memory), user="Maya", thread="t")]

    return asyncio.run(run())


def test_autogen_every_message_reaches_the_team(memory: Memory) -> None:
    need("autogen_agentchat", "autogen")
    passed = autogen_run(memory)
    assert len(passed) == 4, "three messages and the result, untouched"
    for chain in (["Triage", "Billing"], ["Billing", "Maya"], ["Maya", "Triage", "Billing"]):
        assert memory.believes(chain, "order") == "broken"
        assert memory.believes(chain, "refund") == "rejected"
    assert memory.verify() == []
