"""Whom to tell, and how: plans of messages compared by trying each on a fork.

The goal: those in ``know`` believe a value and believe it of each other, and nobody in
``keep_from`` learns it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import InvalidInputError
from .names import checked_text, normal_name, shown
from .planner import Goal, Plan, Planner
from .progress import Progress, silent
from .questions import Questions
from .wording import listed, quoted

if TYPE_CHECKING:
    from .memory import Memory
    from .vocabulary import Names

MAX_KNOW = 100


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans compared. ``best`` None: none reaches the goal; ``reason``: why, in one sentence.

    ``now``: what no message at all leads to. ``warnings``: what to beware of, whatever the plan;
    ``notes``: what was not tried or not counted, and why.
    """

    goal: Goal
    now: Plan
    tried: tuple[Plan, ...]
    best: Plan | None
    reason: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def plan_announcements(
    memory: Memory,
    entity: str,
    speaker: str,
    know: str | Sequence[str],
    keep_from: str | Sequence[str] = (),
    value: str | None = None,
    *,
    progress: Progress = silent,
) -> Plans:
    """Compare ways for ``speaker`` to reach the goal; ``value`` None: what the speaker believes.

    All are tried on copies of one copy, so what others record meanwhile changes nothing. Raises
    `InvalidInputError` for a goal that contradicts itself, or a value that nobody gave.
    """
    goal = _goal(memory, entity, speaker, know, keep_from, value)
    progress(0, 1, "copying the scenario")
    with memory.fork() as base:
        planner = Planner(base, goal, progress)
        tried = [planner.now] if planner.now.reached else []
        tried += [planner.attempt(name, plan) for name, plan in planner.usual.items()]
        notes = _notes(planner)
        if not planner.now.reached:
            mixed, why_not = planner.smallest(planner.messages)
            if mixed is not None and mixed not in tried:
                tried.append(mixed)
            else:
                notes.append(why_not or "Mixed plans: none does better than these.")
    tried = list({id(plan): plan for plan in tried}.values())  # one may be tried under two names
    best = min((plan for plan in tried if plan.reached), key=lambda plan: plan.rank, default=None)
    warnings = _warnings(planner, goal)
    return Plans(
        goal, planner.now, tuple(tried), best, _reason(best, tried), tuple(warnings), tuple(notes)
    )


def counted(number: int, what: str) -> str:
    """``1 message``, ``2 messages``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _goal(
    memory: Memory,
    entity: str,
    speaker: str,
    know: str | Sequence[str],
    keep_from: str | Sequence[str],
    value: str | None,
) -> Goal:
    names = Questions(memory.database, memory.scenario).names()
    speaker = names.agent(normal_name(speaker, "speaker"))
    knowing, kept = _agents(know, "know", names), _agents(keep_from, "keep_from", names)
    if not set(knowing) - {speaker}:
        raise InvalidInputError(
            f"know: expected somebody besides the speaker {shown(speaker)}, got {list(knowing)}. "
            "Name those who are to believe it."
        )
    if len(knowing) > MAX_KNOW:
        raise InvalidInputError(
            f"know: expected at most {MAX_KNOW} agents, got {len(knowing)}. To so many, announce it."
        )
    if both := set(kept) & {speaker, *knowing}:
        raise InvalidInputError(
            f"keep_from: {shown(min(both))} is the speaker or in know too, and cannot be kept from "
            "it. Leave it out of one of them."
        )
    given, entity = entity, names.entity(normal_name(entity, "entity"))
    if value is None:
        value = memory.believes(speaker, entity)
        if value is None:
            knowers = memory.who_knows(entity).up_to_date
            hint = memory.slip_of_an_entity(given) or f"Up to date: {listed(knowers)}."
            raise InvalidInputError(
                f"value: {shown(speaker)} does not know {shown(entity)}, and no value was given. "
                f"Give a value, or a speaker who knows. {hint}"
            )
    return Goal(entity, checked_text(value, "value"), speaker, knowing, kept)


def _agents(given: str | Sequence[str], what: str, names: Names) -> tuple[str, ...]:
    agents = [given] if isinstance(given, str) else given
    return tuple(dict.fromkeys(names.agent(normal_name(agent, what)) for agent in agents))


def _warnings(planner: Planner, goal: Goal) -> list[str]:
    warnings = []
    if planner.truth is not None and planner.truth != goal.value:
        warnings.append(
            f"Beware: {goal.entity} is {quoted(planner.truth)}. To tell otherwise spreads a mistake; "
            "to announce it makes it so."
        )
    if late := [agent for agent in goal.keep_from if agent in planner.believers]:
        warnings.append(f"Too late to keep it from {listed(late)}: believed already.")
    return warnings


def _notes(planner: Planner) -> list[str]:
    notes = []
    if planner.depth < 3:
        notes.append(
            f"Not counted deeper than {planner.depth}: there are {len(planner.agents)} agents."
        )
    if "private messages" not in planner.usual and planner.now.unmet:
        notes.append("Private messages: each believes it already, only not of each other.")
    if "room statements" not in planner.usual:
        notes.append("Room statements: nobody to be told is in a room.")
    return notes


def _reason(best: Plan | None, tried: Sequence[Plan]) -> str:
    """Why ``best`` is best of those tried, by what sets it apart from the next best."""
    if best is None:
        closest = min(tried, key=lambda plan: (len(plan.leaked), len(plan.unmet)))
        return f"None of these reaches the goal; even after the {closest.name} {closest.failure}."
    if not best.events:
        return "Nothing needs to be said: they believe it, and believe it of each other."
    others = [plan for plan in tried if plan.reached and plan is not best]
    why = _edge(best, min(others, key=lambda plan: plan.rank)) if others else (
        "only this reaches the goal"
    )
    return f"{best.name.capitalize()}: {why}."


def _edge(best: Plan, second: Plan) -> str:
    """What sets the best plan apart from the next best, as a clause."""
    size = counted(len(best.events), "message")
    if best.overturned != second.overturned:
        return f"reaches the goal and, unlike the {second.name}, does not change what is so"
    if len(best.events) != len(second.events):
        return f"reaches the goal with {size}, the {second.name} with {len(second.events)}"
    for depth, (mine, theirs) in enumerate(zip(best.wrong, second.wrong, strict=True), 1):
        if mine != theirs:
            return (
                f"of those that reach the goal with {size}, it leaves the least wrong "
                f"({mine} at depth {depth}; the {second.name} {theirs})"
            )
    if len(best.learned) != len(second.learned):
        return (
            f"reaches the goal with {size} and leaves as little wrong as the {second.name}, and "
            "fewer others learn it"
        )
    return f"reaches the goal like the {second.name}: nothing compared here sets them apart"
