"""What a host can read whole: ``so://{scenario}/state``, ``/timeline``, ``/minds/{agent}``, ``/cypher``.

A server has its own scenario and no other. An agent's has its own mind, in each scenario that it
was granted, and the queries that run on a mind; every other address is not found, whether something
lies there or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.mcpserver import ResourceSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from .calls import Source, ask, scenarios_of, tools_of, within
from .contents import mind_graph, state
from .cypher import catalogue
from .errors import SecondOrderError, UnknownNameError
from .memory import Memory
from .minds import ask_all
from .names import shown
from .tools.answers import BeliefsAnswer
from .view import AgentView
from .wording import clock, listed

# Names are not paths: an agent may be called "/etc" or "..".
SECURITY = ResourceSecurity(reject_path_traversal=False, reject_absolute_paths=False)


NEWEST = 500  # events of the timeline; the tool of that name reaches further back


def add_resources(server: MCPServer[Any], source: Source) -> None:
    """Serve what ``source`` may read: each as a template, and where nothing is open also listed."""
    roots = {scenario: f"so://{quote(scenario, safe='')}" for scenario in scenarios_of(source)}

    def found(scenario: str, read: Callable[..., Any], *of: str) -> str:
        if scenario not in roots:
            raise ResourceNotFoundError(
                f"Unknown resource: this server has {listed([*roots.values()])} only."
            )
        try:
            return json.dumps(read(within(source, scenario), *of), indent=2, ensure_ascii=False)
        except UnknownNameError as error:
            raise ResourceNotFoundError(f"Unknown resource: {error}") from error
        except SecondOrderError as error:
            raise ResourceError(str(error)) from error

    def add(name: str, title: str, description: str, read: Callable[..., Any]) -> None:
        def answer(scenario: str) -> str:
            return found(scenario, read)

        own = {f"{root}/{name}": partial(answer, scenario) for scenario, root in roots.items()}
        _serve(server, name, title, description, {**own, f"so://{{scenario}}/{name}": answer})

    def mind(scenario: str, agent: str) -> str:
        return found(scenario, _mind, agent)

    template = "so://{scenario}/minds/{agent}"
    if isinstance(source, AgentView):
        about = "Your mind", "What you believe, and the graph that holds your mind."
        suffix = f"minds/{quote(source.agent, safe='')}"
        own = {
            f"{root}/{suffix}": partial(mind, scenario, source.agent)
            for scenario, root in roots.items()
        }
        _serve(server, "mind", *about, {**own, template: mind})
    else:
        add("state", "State", "Who is where, and what is so.", _state)
        add("timeline", "Timeline", "What happened, and who saw it.", _timeline)
        about = "A mind", "What an agent believes, and the graph that holds its mind."
        _serve(server, "mind", *about, {template: mind})
    add("cypher", "Queries", "Every query that runs on what can be read here.", _cypher)


def _serve(
    server: MCPServer[Any], name: str, title: str, description: str,
    answers: Mapping[str, Callable[..., str]],
) -> None:
    for uri, answer in answers.items():
        server.resource(
            uri, name=name, title=title, description=description, mime_type="application/json"
        )(answer)


def _state(memory: Memory) -> dict[str, Any]:
    found = state(memory.database, memory.scenario)
    facts = [{**asdict(fact), "since": clock(fact.since)} for fact in found.facts]
    return _headed(memory, {**asdict(found), "facts": facts})


def _timeline(memory: Memory) -> dict[str, Any]:
    return ask(tools_of(memory)["timeline"], memory, {"limit": NEWEST}).model_dump(mode="json")


def _mind(source: Source, agent: str) -> dict[str, Any]:
    if isinstance(source, AgentView):
        if agent != source.agent:
            raise UnknownNameError("an agent's server has that agent's own mind only.")
    elif agent not in source.agents():
        raise UnknownNameError(f"no event has named {shown(agent)}.")
    held = ask_all(source.database, source.scenario, [(agent,)])
    beliefs = BeliefsAnswer.of(source.scenario, [agent], held.values()).beliefs
    drawn = mind_graph(source.database, source.scenario, agent)
    return _headed(source, {
        "agent": agent,
        "beliefs": [belief.model_dump() for belief in beliefs],
        "graph": asdict(drawn),
    })


def _headed(source: Source, found: dict[str, Any]) -> dict[str, Any]:
    return {"scenario": source.scenario, "step": source.step(), **found}


def _cypher(source: Source) -> list[dict[str, Any]]:
    graphs = ("mind",) if isinstance(source, AgentView) else ("world", "mind")
    return [
        {"name": query.name, "mode": query.mode, "summary": query.summary, "text": query.text}
        for query in catalogue().values()
        if query.graph in graphs
    ]
