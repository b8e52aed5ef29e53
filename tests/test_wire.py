"""What hosts get beside the tools: progress, cancellation, resources, prompts, completions."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, PromptReference, ResourceTemplateReference
from stores import Store, environment, view_of
from test_server import ERAS, over_stdio

import so_mcp.tools
from so_mcp import AgentView, Memory, scenarios
from so_mcp.calls import Source
from so_mcp.contents import mind_graph, state
from so_mcp.progress import Progress, silent
from so_mcp.server import build_server
from so_mcp.tools import TOOLS, Tool, tools_for
from so_mcp.tools.answers import BeliefsAnswer

STEPS = 100_000  # minutes of work, if nothing stops it


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """How the client talks: the stateless protocol, or the handshake of before."""
    return str(request.param)


@pytest.fixture
def support(memory: Memory) -> Memory:
    """The support story, under a name of this test's own."""
    scenarios.play(memory, scenarios.load("support"))
    return memory


def granted_view(memory: Memory, agent: str) -> AgentView:
    memory.grant(agent)
    return view_of(agent, memory.scenario, memory.store)


class Long:
    """A tool that works until it is stopped, one round trip a step."""

    def __init__(self, steps: int = STEPS) -> None:
        self.steps, self.done = steps, 0
        self.going, self.ended = threading.Event(), threading.Event()

    def tool(self) -> Tool:
        def long(memory: Memory, *, progress: Progress = silent) -> BeliefsAnswer:
            """Work."""
            try:
                for number in range(self.steps):
                    self.done = number
                    progress(number, self.steps, f"step {number}")
                    memory.entities()
                    if number == 5:
                        self.going.set()
            finally:
                self.ended.set()
            return BeliefsAnswer(scenario=memory.scenario, chain=["nobody"], beliefs=[])

        return Tool(long, "supervisor", "reads", "Long work")



@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tool], None]:
    """Adds a tool to those that are served."""
    return lambda tool: monkeypatch.setattr(so_mcp.tools, "TOOLS", (*TOOLS, tool))


def test_long_work_tells_the_host_how_far_it_is(
    memory: Memory, era: str, serving: Callable[[Tool], None]
) -> None:
    serving(Long(steps=3).tool())
    told: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async def main() -> None:
        async with Client(build_server(memory), mode=era) as client:
            [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == "long"]
            assert set(tool.input_schema["properties"]) == {"response_format"}
            result = await client.call_tool("long", {}, progress_callback=note)
            assert not result.is_error
            assert not (await client.call_tool("long", {})).is_error  # nobody asked to be told

    anyio.run(main)
    assert told == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


async def wait_for(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, 30)


@pytest.mark.parametrize("host", ["hears", "is slow to hear", "does not want to hear"])
def test_a_cancelled_call_stops_touching_the_database(
    memory: Memory, era: str, serving: Callable[[Tool], None], host: str
) -> None:
    """Whatever the host does with what it is told on the way."""
    work = Long()
    serving(work.tool())
    sent: list[Any] = []
    memory.database.observers.append(sent.append)

    async def main() -> None:
        async with Client(build_server(memory), mode=era) as client:
            async with anyio.create_task_group() as group:

                async def hear(done: float, *_: object) -> None:
                    if done == 6 and host == "is slow to hear":
                        await anyio.sleep_forever()

                heard = None if host == "does not want to hear" else hear
                group.start_soon(
                    functools.partial(client.call_tool, "long", {}, progress_callback=heard)
                )
                await wait_for(work.going)
                group.cancel_scope.cancel()
            await wait_for(work.ended)
            stopped = len(sent)
            assert 5 <= work.done < STEPS - 1
            assert not (await client.call_tool("false_beliefs", {})).is_error
        assert stopped < len(sent) < stopped + 10

    anyio.run(main)


def test_a_cancelled_call_of_a_server_process_writes_no_more(own_store: Store, era: str) -> None:
    events = [
        {"kind": "state", "entity": "count", "value": str(number), "audience": ["Ann"]}
        for number in range(3000)
    ]

    async def main() -> None:
        async with over_stdio(environment(own_store), era) as client:
            with anyio.CancelScope() as scope:

                async def cancel(*_: object) -> None:
                    scope.cancel()

                await client.call_tool("record", {"events": events}, progress_callback=cancel)
            steps = []
            for _ in range(30):
                result = await client.call_tool("who_knows", {"entity": "count"})
                steps.append(result.structured_content["step"])
            assert 0 < steps[-1] < len(events)
            assert len(set(steps[10:])) == 1, "it went on after it was cancelled"

    anyio.run(main)


def test_what_destroys_is_announced_as_such(
    memory: Memory, serving: Callable[[Tool], None]
) -> None:
    tool = Long().tool()
    serving(Tool(tool.function, "supervisor", "destroys", "Long"))

    async def main() -> None:
        async with Client(build_server(memory)) as client:
            hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        found = {
            effect: [hints[tool.name] for tool in tools_for("supervisor") if tool.effect == effect]
            for effect in ("reads", "appends", "destroys")
        }
        assert {(h.read_only_hint, h.destructive_hint) for h in found["reads"]} == {(True, None)}
        assert {(h.read_only_hint, h.destructive_hint) for h in found["appends"]} == {(False, False)}
        assert {(h.read_only_hint, h.destructive_hint) for h in found["destroys"]} == {(False, True)}

    anyio.run(main)


# Resources ---------------------------------------------------------------------------------------


async def read(client: Client, uri: str) -> Any:
    [content] = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def not_found(client: Client, uri: str) -> str:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert caught.value.code == INVALID_PARAMS
    return str(caught.value)


def test_a_supervisor_reads_the_whole_scenario_and_no_other(support: Memory, era: str) -> None:
    here = f"so://{support.scenario}"

    async def main() -> None:
        async with Client(build_server(support), mode=era) as client:
            listed = [resource.uri for resource in (await client.list_resources()).resources]
            assert listed == [f"{here}/{name}" for name in ("state", "timeline", "cypher")]
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == [
                f"so://{{scenario}}/{path}"
                for path in ("state", "timeline", "minds/{agent}", "cypher")
            ]
            found = await read(client, f"{here}/state")
            assert (found["scenario"], found["step"]) == (support.scenario, 32)
            assert {room["room"]: room["agents"] for room in found["rooms"]} == {
                "standup": [], "internal": ["Escalation"], "chat": ["Escalation", "Maya"],
                "dispatch": ["Escalation", "Shipping"],
            }
            assert found["nowhere"] == ["Billing", "Finance"]
            assert found["facts"][2] == {
                "entity": "refund_4411", "value": "rejected", "since": "2026-03-02T09:52:00Z",
                "event": 16,
            }
            found = await read(client, f"{here}/minds/Maya")
            assert [(b["entity"], b["value"], b["source"]) for b in found["beliefs"]] == [
                ("address_4411", "7 Oak Lane", "Maya"), ("order_4411", "broken", "Maya"),
                ("refund_4411", "approved", "Billing"),
            ]
            assert found["graph"]["nodes"][0] == {
                "id": "belief 1", "labels": ["Belief", "Active"], "entity": "order_4411",
                "value": "broken", "step": 2, "at": 1772442660000, "via": "announced",
                "members": ["Billing", "Escalation", "Finance", "Maya", "Shipping"],
                "min_depth": 1, "source": "Maya", "text": "Ticket 4411: my lamp came broken.",
            }
            found = await read(client, f"{here}/cypher")
            assert {query["name"].partition("/")[0] for query in found} == {"world", "mind"}
            [belief] = [query for query in found if query["name"] == "mind/belief"]
            assert belief["mode"] == "read"
            assert "MATCH (b:Active {entity: $entity})" in belief["text"]
            assert "no event has named 'Zed'" in await not_found(client, f"{here}/minds/Zed")
            for path in ("so://elsewhere/state", "so://elsewhere/minds/Maya", f"{here}/minds"):
                assert "Unknown resource" in await not_found(client, path)

    anyio.run(main)


def test_an_agent_reads_its_own_mind_and_the_queries_of_minds(support: Memory, era: str) -> None:
    view = granted_view(support, "Shipping")
    here = f"so://{support.scenario}"

    async def main() -> None:
        async with Client(build_server(view), mode=era) as client:
            listed = [resource.uri for resource in (await client.list_resources()).resources]
            assert listed == [f"{here}/minds/Shipping", f"{here}/cypher"]
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == [
                "so://{scenario}/minds/{agent}", "so://{scenario}/cypher",
            ]
            found = await read(client, f"{here}/minds/Shipping")
            assert [b["value"] for b in found["beliefs"]] == ["12 Elm Street", "broken", "packed"]
            assert found["step"] == view.step()
            assert {query["name"].partition("/")[0] for query in await read(client, f"{here}/cypher")
                    } == {"mind"}
            for path in ("state", "timeline", "minds/Maya"):
                await not_found(client, f"{here}/{path}")
            hidden = await not_found(client, f"{here}/minds/Maya")
            assert hidden == await not_found(client, f"{here}/minds/Zed")

    anyio.run(main)


@pytest.mark.parametrize("name", ["李雷", "/etc/passwd", "..", "a b?c#d%2F", "*"])
def test_any_name_makes_an_address(memory: Memory, name: str, era: str) -> None:
    memory.set("parcel", "packed", audience=[name])
    view = granted_view(memory, name)

    async def main() -> None:
        async with Client(build_server(view), mode=era) as client:
            own, _ = (await client.list_resources()).resources
            assert (await read(client, own.uri))["agent"] == name
        async with Client(build_server(memory), mode=era) as client:
            assert (await read(client, own.uri))["agent"] == name

    anyio.run(main)


def test_what_replaced_what_is_drawn(memory: Memory) -> None:
    """The mind closes what is covered at every 32nd event: then an edge leads to it."""
    for number in range(40):
        memory.set("e", f"value {number}", audience=["Ann"])
    drawn = mind_graph(memory.database, memory.scenario, "Ann")
    closed = [node for node in drawn.nodes if "Active" not in node["labels"]]
    assert [node["value"] for node in drawn.nodes] == [f"value {n}" for n in range(40)]
    assert closed
    assert all("until" in node for node in closed)
    assert {node["id"] for node in closed} == {edge["to"] for edge in drawn.edges}
    newer = {node["id"]: node["step"] for node in drawn.nodes}
    assert all(newer[edge["from"]] > newer[edge["to"]] for edge in drawn.edges)


def test_the_state_shows_what_lies_where_and_is_empty_before_anything_happened(
    memory: Memory,
) -> None:
    found = state(memory.database, memory.scenario)
    assert (found.rooms, found.nowhere, found.facts) == ((), (), ())
    memory.join(["Ann"], "hall", place=True)
    memory.set("keys", "on the table", room="hall", located_in="hall")
    memory.set("coin", "in the box", audience=["Bob"], located_in="box")
    memory.set("lamp", None, audience=["Bob"])
    found = state(memory.database, memory.scenario)
    [hall] = found.rooms
    assert (hall.room, hall.kind, hall.agents, hall.entities) == (
        "hall", "place", ("Ann",), ("keys",)
    )
    assert found.nowhere == ("Bob",)
    assert {fact.entity: fact.value for fact in found.facts} == {
        "keys": "on the table", "coin": "in the box", "lamp": None
    }


# Prompts -----------------------------------------------------------------------------------------


async def prompted(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    return str(message.content.text)


async def unprompted(client: Client, name: str, **arguments: str) -> str:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt(name, arguments)
    assert caught.value.code == INVALID_PARAMS
    return str(caught.value)


async def prompts_of(client: Client) -> dict[str, list[str]]:
    listed = (await client.list_prompts()).prompts
    assert all(argument.required for prompt in listed for argument in prompt.arguments or ())
    return {p.name: [argument.name for argument in p.arguments or ()] for p in listed}


def test_a_supervisors_prompts_are_made_of_real_answers(support: Memory, era: str) -> None:
    async def main() -> None:
        async with Client(build_server(support), mode=era) as client:
            assert await prompts_of(client) == {
                "brief": ["agent", "talking_to"], "handoff": ["sender", "receiver"],
                "correct": ["person", "entity"],
            }
            assert await prompted(client, "brief", agent="Escalation", talking_to="Maya") == (
                "You are Escalation and about to talk to Maya. Before you say anything, take this "
                "into account:\n\n"
                "- refund_4411: you believe 'rejected', but Maya believes 'approved'. Correct this "
                "before relying on it.\n"
                "- address_4411: you believe '12 Elm Street'; nothing tells you whether Maya knows.\n"
                "- replacement_4411: you believe 'packed'; nothing tells you whether Maya knows.\n"
                "- You and Maya agree on: order_4411 ('broken')."
            )
            assert await prompted(client, "handoff", sender="Billing", receiver="Escalation") == (
                "You are Billing and hand over to Escalation. Tell Escalation this, and nothing "
                "that is not in it:\n\n"
                "- address_4411: 7 Oak Lane\n"
                "- Shipping still believes address_4411 is 12 Elm Street"
            )
            text = await prompted(client, "correct", person="Maya", entity="refund_4411")
            assert text.startswith("Maya believes refund_4411 is 'approved' (event 11, Billing said")
            assert text.endswith(
                "\n\nWrite one short message to Maya that puts this right: "
                "refund_4411 is 'rejected', not 'approved'."
            )
            text = await prompted(client, "correct", person="Shipping", entity="refund_4411")
            assert text.endswith("puts this right: refund_4411 is 'rejected'.")
            text = await prompted(client, "correct", person="Billing", entity="refund_4411")
            assert text.endswith("\n\nThat is so: there is nothing to put right.")
            text = await prompted(client, "correct", person="Billing", entity="weather")
            assert text.endswith("is not known, so there is nothing to put right.")

    anyio.run(main)


def test_an_agents_prompts_answer_from_its_own_mind_and_take_no_owner(
    support: Memory, era: str
) -> None:
    view = granted_view(support, "Escalation")

    async def main() -> None:
        async with Client(build_server(view), mode=era) as client:
            assert await prompts_of(client) == {
                "brief": ["talking_to"], "handoff": ["receiver"], "correct": ["person", "entity"],
            }
            text = await prompted(client, "brief", talking_to="Maya")
            assert "you believe 'rejected', but Maya believes 'approved'" in text
            text = await prompted(client, "handoff", receiver="Shipping")
            assert text.startswith("You are Escalation and hand over to Shipping.")
            assert "Maya still believes refund_4411 is approved" in text
            assert await prompted(client, "correct", person="Maya", entity="refund_4411") == (
                "As far as you know, Maya believes refund_4411 is 'approved'.\n\n"
                "Write one short message to Maya that puts this right: "
                "refund_4411 is 'rejected', not 'approved'."
            )
            assert "no argument 'agent'" in await unprompted(
                client, "brief", agent="Maya", talking_to="Billing"
            )

    anyio.run(main)


def test_errors_of_prompts_say_what_to_do(support: Memory, era: str) -> None:
    async def main() -> None:
        async with Client(build_server(support), mode=era) as client:
            for name, arguments, expected in (
                ("breif", {}, "Unknown prompt 'breif'. Did you mean brief? Prompts: brief, handoff,"),
                ("brief", {"agent": "Maya"}, "argument talking_to is missing. Arguments: agent, "),
                ("brief", {"agent": "Maya", "talking_too": "x"}, "Did you mean talking_to?"),
                ("brief", {"agent": "maya", "talking_to": "Billing"}, "Did you mean 'Maya'?"),
                ("correct", {"person": "Maya", "entity": ""}, "entity: expected a name"),
            ):
                assert expected in await unprompted(client, name, **arguments)

    anyio.run(main)


# Completions -------------------------------------------------------------------------------------


async def completed(client: Client, ref: str, argument: str, typed: str = "") -> list[str]:
    """What is offered for an argument of a prompt, or of an address where ``ref`` is one."""
    reference: PromptReference | ResourceTemplateReference
    if ref.startswith("so://"):
        reference = ResourceTemplateReference(type="ref/resource", uri=ref)
    else:
        reference = PromptReference(type="ref/prompt", name=ref)
    result = await client.complete(reference, {"name": argument, "value": typed})
    assert result.completion.total == len(result.completion.values)
    return list(result.completion.values)


def test_names_are_completed_for_prompts_and_addresses(support: Memory, era: str) -> None:
    everyone = ["Billing", "Finance", "Escalation", "Shipping", "Maya"]

    async def main() -> None:
        async with Client(build_server(support), mode=era) as client:
            for prompt, arguments in (await prompts_of(client)).items():
                for argument in arguments:
                    offered = await completed(client, prompt, argument)
                    assert offered == everyone or argument == "entity"
            assert await completed(client, "brief", "agent", "s") == [
                "Shipping", "Escalation"  # begins with it, then holds it
            ]
            assert await completed(client, "correct", "entity", "RE") == [
                "refund_4411", "replacement_4411", "address_4411"
            ]
            minds = "so://{scenario}/minds/{agent}"
            assert await completed(client, minds, "agent", "may") == ["Maya"]
            assert await completed(client, minds, "scenario") == [support.scenario]
            assert await completed(client, "brief", "nonsense") == []

    anyio.run(main)


def test_no_more_than_a_hundred_names_are_offered(memory: Memory, era: str) -> None:
    memory.set("e", "v", audience=[f"Agent {number}" for number in range(120)])

    async def main() -> None:
        async with Client(build_server(memory), mode=era) as client:
            reference = PromptReference(type="ref/prompt", name="brief")
            found = (await client.complete(reference, {"name": "agent", "value": ""})).completion
            assert (len(found.values), found.total, found.has_more) == (100, 120, True)

    anyio.run(main)


def test_an_agent_is_offered_only_what_its_own_mind_holds(support: Memory, era: str) -> None:
    support.set("plan", "secret", audience=["Finance", "Newcomer"])
    view = granted_view(support, "Shipping")

    async def main() -> None:
        async with Client(build_server(view), mode=era) as client:
            for argument in ("talking_to", "receiver", "person"):
                assert await completed(client, "brief", argument) == [
                    "Billing", "Escalation", "Finance", "Maya"
                ]
            assert await completed(client, "correct", "entity") == [
                "address_4411", "order_4411", "replacement_4411"
            ]
            assert await completed(client, "so://{scenario}/minds/{agent}", "agent") == ["Shipping"]

    anyio.run(main)


def test_hidden_and_absent_answer_the_same_to_an_agents_prompts(support: Memory, era: str) -> None:
    support.set("plan", "secret", audience=["Finance", "Newcomer"])
    view = granted_view(support, "Shipping")

    async def main() -> None:
        async with Client(build_server(view), mode=era) as client:
            for name, hidden in (
                ("brief", {"talking_to": "Newcomer"}),
                ("handoff", {"receiver": "Newcomer"}),
                ("correct", {"person": "Newcomer", "entity": "plan"}),
                ("correct", {"person": "Finance", "entity": "plan"}),
            ):
                absent = {k: {"Newcomer": "Remocwen", "plan": "nalp"}.get(v, v) for k, v in hidden.items()}
                text = await prompted(client, name, **hidden)
                assert text.replace("Newcomer", "Remocwen").replace("plan", "nalp") == (
                    await prompted(client, name, **absent)
                )

    anyio.run(main)


# Errors ------------------------------------------------------------------------------------------


def test_lists_come_without_a_database_and_everything_else_says_what_to_do(
    tmp_path: Path, era: str
) -> None:
    blocked = tmp_path / "store"
    blocked.write_text("")
    expected = "expected a folder of its own"

    async def main() -> None:
        async with Client(build_server(Memory(path=blocked)), mode=era) as client:
            assert len((await client.list_resources()).resources) == 3
            assert len(await prompts_of(client)) == 3
            with pytest.raises(MCPError, match=expected):
                await client.read_resource("so://support/state")
            with pytest.raises(MCPError, match=expected):
                await client.get_prompt("brief", {"agent": "A", "talking_to": "B"})
            with pytest.raises(MCPError, match=expected):
                await completed(client, "brief", "agent")

    anyio.run(main)


def test_a_tool_that_is_not_there_is_met_with_those_that_are(memory: Memory, era: str) -> None:
    async def main() -> None:
        async with Client(build_server(memory), mode=era) as client:
            result = await client.call_tool("beleives", {})
            assert result.is_error
            assert result.content[0].text.startswith(
                "Unknown tool 'beleives'. Did you mean believes? Tools: record, believes, "
            )

    anyio.run(main)


def test_every_list_is_the_same_for_every_connection(support: Memory, era: str) -> None:
    def lists(source: Source) -> list[str]:
        async def main() -> list[str]:
            async with Client(build_server(source), mode=era) as client:
                return [
                    answer.model_dump_json()
                    for answer in (
                        await client.list_tools(), await client.list_resources(),
                        await client.list_resource_templates(), await client.list_prompts(),
                    )
                ]

        return anyio.run(main)

    view = granted_view(support, "Maya")
    before = lists(support), lists(view)
    support.set("plan", "secret", audience=["Newcomer"])
    assert (lists(support), lists(view)) == before


def test_an_argument_that_does_not_fit_is_met_with_what_would(memory: Memory) -> None:
    chain = {"chain": ["Maya"], "entity": "e"}

    async def main() -> None:
        async with Client(build_server(memory)) as client:
            for tool, arguments, expected in (
                ("believes", {**chain, "chain": "Maya"}, '.chain: expected a list, such as ["Maya"]; got "Maya".'),
                ("believes", {**chain, "chain": [3]}, '.chain.0: expected text, such as "3"; got 3.'),
                ("believes", {**chain, "entity": None}, ".entity: expected text; got null."),
                ("believes", {**chain, "as_of": ["x"]}, '.as_of: expected text or a whole number; got ["x"].'),
                ("false_beliefs", {"limit": 1.5}, ".limit: expected a whole number; got 1.5."),
                ("false_beliefs", {"depth": 0}, ".depth: expected at least 1; got 0."),
                ("record", {"events": []}, ".events: expected at least 1 of them; got []."),
                ("vocabulary", {"kind": "x"}, ".kind: expected 'agent', 'room' or 'entity'; got \"x\"."),
                ("vocabulary", {"strict": "perhaps"}, '.strict: expected true or false; got "perhaps".'),
                ("who_knows", {"entity": ["x" * 99]}, f'.entity: expected text; got ["{"x" * 58}….'),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                assert result.content[0].text == tool + expected

    anyio.run(main)
