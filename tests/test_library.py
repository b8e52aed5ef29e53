"""The scenarios of a store: listed, loaded from samples, and cleared for good."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import anyio
import pytest
from mcp import Client
from stores import Store, every_key, inherited, memory_of, view_of

from so_mcp import Memory, scenarios
from so_mcp.embedded import EmbeddedStore
from so_mcp.errors import ConflictError, InvalidInputError, UnknownNameError
from so_mcp.server import build_server
from so_mcp.tools import library


@pytest.fixture
def desk(own_store: Store) -> Iterator[Memory]:
    """A scenario called desk, alone in a store of its own."""
    with memory_of(own_store, "desk") as memory:
        yield memory


# Which there are --------------------------------------------------------------------------------


def test_every_scenario_of_the_store_is_listed_by_name_with_its_numbers_and_forks_are_not(
    desk: Memory,
) -> None:
    assert desk.scenarios() == []
    desk.load_scenario("support")
    with memory_of(desk.store, "Tomás: {a}* 🦊", policy="exit-order", rooms="place") as other:
        other.strict()
        with desk.fork() as fork:
            fork.set("e", "v", by="Ann")
            found = desk.scenarios()
            assert fork.scenarios() == found
    support, strange = sorted(found, key=lambda one: one.agents, reverse=True)
    assert (support.name, support.agents, support.entities, support.events) == ("desk", 5, 4, 32)
    assert (support.policy, support.rooms, support.strict) == ("credulous", "channel", False)
    assert (strange.name, strange.events, strange.newest_at) == ("Tomás: {a}* 🦊", 0, None)
    assert (strange.policy, strange.rooms, strange.strict) == ("exit-order", "place", True)
    assert [one.name for one in found] == ["Tomás: {a}* 🦊", "desk"]


def test_a_model_is_told_which_one_it_is_served_and_which_samples_there_are(desk: Memory) -> None:
    samples = (
        "Samples for load_scenario: org (A decision that changed in a thread), sally (Sally and "
        "Anne), support (A refund that was approved, and then rejected)."
    )
    assert library.scenarios(desk).text() == f"- desk: nothing yet (served here)\n{samples}"
    with memory_of(desk.store, "booth", rooms="place") as booth:
        booth.set("e", "v", by="Ann", happened_at=0)
        booth.strict()
    desk.load_scenario("support")
    answer = library.scenarios(desk)
    assert answer.text() == (
        "- desk: 5 agents, 4 entities, 32 events, newest 2026-03-02T10:32:00Z (credulous, channels) "
        "(served here)\n"
        "- booth: 1 agent, 1 entity, 1 event, newest 1970-01-01T00:00:00Z (credulous, places, "
        f"strict)\n{samples}"
    )
    assert (answer.scenario, answer.cut, answer.total) == ("desk", False, 2)
    short = library.scenarios(desk, limit=1)
    assert (short.cut, [one.name for one in short.scenarios]) == (True, ["desk"])
    assert "1 of 2. Raise limit." in short.text()


# Loading a sample -------------------------------------------------------------------------------


def test_a_sample_is_played_into_an_empty_scenario_and_twice_is_harmless(memory: Memory) -> None:
    assert library.load_scenario(memory, "support").text() == (
        "Loaded support: 32 events. Maya's lamp came broken. Billing approves a refund and she "
        "leaves; Finance rejects it; Escalation and Shipping take over. Now Maya is back and asks "
        "about her money.\n"
        "Agents: Billing, Finance, Escalation, Shipping, Maya. Entities: order_4411, address_4411, "
        "refund_4411, replacement_4411.\n"
        "Next: false_beliefs."
    )
    assert library.load_scenario(memory, "support").text() == (
        "support had been loaded before; nothing was written."
    )
    memory.announce("Maya", "order_4411", "mended")
    assert library.load_scenario(memory, "support").recorded == 0
    assert memory.step() == 33
    assert memory.verify() == []


def test_a_sample_brings_its_settings(memory: Memory) -> None:
    memory.load_scenario("sally")
    with memory_of(memory.store, memory.scenario, rooms="place") as same:
        assert same.believes("Sally", "marble") == "basket"
        same.join("Sally", "garden")
        assert same.verify() == []


def test_loading_that_was_cut_off_is_finished_by_loading_again(memory: Memory) -> None:
    story = scenarios.load("support")
    memory.record(story.events[:10])
    assert library.load_scenario(memory, "support").recorded == 22
    assert memory.step() == 32
    assert memory.verify() == []


def test_a_sample_is_not_played_into_a_scenario_where_something_else_has_happened(
    memory: Memory,
) -> None:
    memory.set("e", "v", by="Ann", happened_at=0)
    before = every_key(memory)
    with pytest.raises(ConflictError) as refused:
        memory.load_scenario("support")
    assert str(refused.value) == (
        f"scenario '{memory.scenario}' holds 1 event. To have the sample 'support' here, call "
        f'reset_scenario(confirm="{memory.scenario}") first, which deletes what is here; or leave '
        "this as it is, and start a server with SO_SCENARIO=support."
    )
    assert (memory.step(), every_key(memory)) == (1, before)
    memory.reset_scenario(memory.scenario)
    memory.load_scenario("support")
    assert memory.step() == 32


def test_a_sample_is_not_played_into_an_empty_scenario_that_is_set_otherwise(memory: Memory) -> None:
    memory.strict()  # which makes the scenario, with the default settings
    with pytest.raises(ConflictError, match=r"rooms='channel'.*rooms='place'.*reset_scenario"):
        memory.load_scenario("sally")
    with pytest.raises(UnknownNameError, match="Did you mean 'support'"):
        memory.load_scenario("suport")
    assert memory.step() == 0


# Clearing one -----------------------------------------------------------------------------------


def test_nothing_is_deleted_before_the_name_is_given_back(memory: Memory) -> None:
    memory.load_scenario("support")
    with memory.fork():
        before = every_key(memory)
        for confirm in ("", "suport", memory.scenario.upper()):
            with pytest.raises(InvalidInputError) as refused:
                library.reset_scenario(memory, confirm)
            assert str(refused.value) == (
                f"confirm: expected the name of the scenario, got '{confirm}'. Nothing was deleted. "
                "It would delete 32 events, the minds of 5 agents, 4 entities, 1 fork, and cannot be "
                f'taken back. If that is meant, call reset_scenario(confirm="{memory.scenario}").'
            )
        assert every_key(memory) == before
    assert memory.step() == 32


def test_everything_of_a_scenario_is_deleted_and_nothing_of_another(desk: Memory) -> None:
    with (
        memory_of(desk.store, "desk 2") as near, memory_of(desk.store, "des*") as glob
    ):
        for other in (near, glob):
            other.set("e", "v", by="Ann")
        kept = every_key(desk)
        desk.load_scenario("support")
        desk.alias("maya@shop", "Maya")
        desk.strict()
        with desk.fork() as fork:
            fork.announce("Maya", "order_4411", "mended")
            answer = library.reset_scenario(desk, "desk")
            assert every_key(desk) == kept
        assert answer.text() == (
            "Deleted from desk: 32 events, the minds of 5 agents, 4 entities, 1 fork. Logins stay. It "
            "is empty now."
        )
        assert answer.deleted == {"events": 32, "agents": 5, "entities": 4, "forks": 1}
        assert (desk.step(), desk.agents()) == (0, [])
        assert [one.name for one in desk.scenarios()] == ["des*", "desk 2"]
        desk.set("e", "v", by="maya@shop")  # neither strict nor an alias any more
        assert desk.agents() == ["maya@shop"]
        assert desk.verify() == near.verify() == glob.verify() == []
        assert str(near.reset_scenario("desk 2")) == "1 event, the minds of 1 agent, 1 entity"
        assert str(near.reset_scenario("desk 2")) == "0 events, the minds of 0 agents, 0 entities"


def test_a_name_that_json_has_to_escape_is_given_back_as_it_is_asked_for(own_store: Store) -> None:
    name = 'Tomás "🦊" \\'
    with memory_of(own_store, name) as memory:
        memory.set("e", "v", by="Ann")
        with pytest.raises(InvalidInputError) as refused:
            memory.reset_scenario("Tomas")
        assert str(refused.value).endswith(r'reset_scenario(confirm="Tomás \"🦊\" \\").')
        memory.reset_scenario(name)
        assert memory.scenarios() == []


def test_logins_outlive_what_they_read(memory: Memory) -> None:
    memory.set("e", "v", by="Ann")
    memory.grant("Ann")
    with view_of("Ann", memory.scenario, memory.store) as view:
        assert [held.value for held in view.my_beliefs()] == ["v"]
        memory.reset_scenario(memory.scenario)
        assert view.my_beliefs() == []
        memory.set("e", "w", by="Ann")
        assert [held.value for held in view.my_beliefs()] == ["w"]


def test_the_same_number_of_events_after_a_reset_is_not_the_same_world(memory: Memory) -> None:
    """A copy of the world, kept for writing, must not outlive it."""
    with memory_of(memory.store, memory.scenario) as other:
        for number in range(3):
            memory.set("old", str(number), audience=["Ann", "Bob"], located_in="attic")
        other.reset_scenario(memory.scenario)
        for number in range(3):
            other.set("new", str(number), audience=["Ann", "Cyd"])
        assert memory.step() == 3
        record = memory.set("new", "last", audience=["Bob", "Cyd"])
        assert record.agents == ["Bob"]
        assert record.entities == []
    assert memory.agents() == ["Ann", "Cyd", "Bob"]
    assert memory.believes(["Cyd", "Bob"], "new") == "last"
    assert memory.verify() == []


RECORDER = """
import sys
from so_mcp import Memory
with Memory("desk") as memory:
    memory.set("e", "before", audience=["Ann", "Bob"])
    print("ready", flush=True)
    sys.stdin.readline()
    memory.set("e", "after", audience=["Cyd", "Bob"])
"""


def test_another_process_notices_that_a_scenario_was_cleared_and_filled_again(desk: Memory) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER], env=inherited(desk.store),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        desk.reset_scenario("desk")
        desk.set("e", "between", audience=["Cyd"])
        process.communicate("go\n")
    assert process.returncode == 0
    assert desk.agents() == ["Cyd", "Bob"]
    assert desk.believes(["Cyd", "Bob"], "e") == "after"
    assert desk.verify() == []


def test_a_scenario_cleared_while_others_write_holds_whole_events_and_no_leavings(
    memory: Memory,
) -> None:
    def write(name: str) -> None:
        with memory_of(memory.store, memory.scenario) as writer:
            for number in range(60):
                writer.set("e", str(number), audience=[name, f"{name}-{number % 7}"])

    threads = [threading.Thread(target=write, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for _ in range(8):
        while memory.step() < 5 and any(thread.is_alive() for thread in threads):
            pass
        memory.reset_scenario(memory.scenario)
    for thread in threads:
        thread.join()
    memory.set("e", "last", audience=["x", "y"])
    assert memory.verify() == []
    memory.reset_scenario(memory.scenario)
    assert [key for key in every_key(memory) if key.startswith(f"so:{{{memory.scenario}}}:")] == []
    memory.set("e", "v", by="Ann")
    assert memory.verify() == []


def test_only_clearing_is_announced_to_hosts_as_destructive(memory: Memory) -> None:
    async def main() -> set[str]:
        async with Client(build_server(memory)) as client:
            tools = (await client.list_tools()).tools
        return {t.name for t in tools if t.annotations and t.annotations.destructive_hint}

    assert anyio.run(main) == {"reset_scenario"}


@pytest.mark.runs_on("embedded", why="a killed server is started again by its operator")
def test_a_sample_survives_a_killed_database_right_after_it_was_reset_and_loaded(
    desk: Memory,
) -> None:
    desk.set("e", "v", by="Ann")
    desk.reset_scenario("desk")
    desk.load_scenario("support")
    desk.close()
    EmbeddedStore(desk.store.path).stop()
    assert desk.step() == 32
    assert desk.verify() == []
