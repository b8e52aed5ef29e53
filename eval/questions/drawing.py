"""Questions of a story, of every depth, with the answers of the reference model.

A story gets `ASKED` questions: so many that go through no mind, one, two … six. Of each it is drawn
first when it asks (`WHEN`), whether its answer should be unknown (`UNKNOWN`), and how it is chosen
(`CHOSEN`). Then `DRAWN` chains and entities are drawn, and one is taken, if it can be one whose
answer is known, or unknown, as it should be:

- *plain*: the first;
- *apart*: one with as few shortcuts as there are. A **shortcut** is a simpler question that happens
  to have the same answer; a memory that follows only shortcuts answers those right and no others;
- *hanging*: one whose answer hangs on something that the story contains (see `aspects`), the first
  of four such things that any hangs on, and of those one apart; where none does, any one apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .aspects import ASPECTS, Told
from .desk import Desk
from .dice import Dice
from .reference import Reference, new_reference
from .story import Question

DEEPEST = 6
ASKED = {0: 2, **dict.fromkeys(range(1, DEEPEST + 1), 3)}  # by depth; 20 a story
WHEN = {"now": 12, "as_of": 4, "as_recorded": 3, "both": 1}
UNKNOWN = 0.25
CHOSEN = {"plain": 3, "apart": 8, "hanging": 9}
DRAWN = 150
SHORTCUTS = {
    "truth": "what is so",
    "last": "what the last agent of the chain believes",
    "first": "what the first agent of the chain believes",
    "pair": "what the first agent thinks that the last one believes",
    "inner": "the chain without its first agent",
    "outer": "the chain without its last agent",
    "now": "the same question about now, by all that is recorded",
}
_POINTS = 2  # of the recording, a story; as each aspect, it is another replay of all of it
_ASPECTS = 4


def questions(
    dice: Dice, desk: Desk, contains: Sequence[str], opening: int
) -> list[Question]:
    """Draw a story's questions. Before event ``opening`` not everybody is named."""
    told = Told(desk.settings, desk.events)
    model = _model(told)
    chosen = dice.some([aspect for aspect in ASPECTS if aspect in contains], _ASPECTS, _ASPECTS)
    ignorant = {a: _model(ignoring(told)) for a, ignoring in ASPECTS.items() if a in chosen}
    points = _points(dice, desk, opening)
    found: list[Question] = []
    for depth, number in ASKED.items():
        for _ in range(number):
            when, unknown = dice.weighted(WHEN), dice.chance(UNKNOWN)
            asked = {question.asked for question in found}
            new = [
                answered(model, question) for question in _drawn(dice, desk, depth, when, points)
                if question.asked not in asked
            ]
            fitting = [question for question in new if (question.answer is None) is unknown] or new
            how = dice.weighted(CHOSEN)
            if how == "hanging" and when in ("now", "as_of"):
                hang = (hanging(*one, of) for of in (fitting, new) for one in ignorant.items())
                fitting = next(filter(None, hang), fitting)
            found.append(
                fitting[0] if how == "plain" else min(fitting, key=lambda q: len(q.shortcuts))
            )
    return found


def _model(told: Told) -> Reference:
    model = new_reference(told.settings, DEEPEST)
    for event in told.events:
        model.record(event)
    return model


def _points(dice: Dice, desk: Desk, opening: int) -> list[int]:
    """Where the recording is cut: mostly just before what changes the past."""
    events = desk.events
    newest = [max(e["happened_at"] for e in events[:n]) for n in range(1, len(events))]
    changed = [
        n for n, event in enumerate(events[1:], 1)
        if n >= opening and (event["kind"] == "void" or event["happened_at"] < newest[n - 1])
    ]
    others = range(opening, len(events))
    return [dice.pick(changed or others), *(dice.pick(others) for _ in range(_POINTS - 1))]


def _drawn(
    dice: Dice, desk: Desk, depth: int, when: str, points: Sequence[int]
) -> Iterator[Question]:
    for _ in range(DRAWN):
        chain, entity = _chain(dice, desk, depth), dice.pick(desk.entities)
        as_of = as_recorded = None
        if when in ("as_of", "both"):
            as_of = dice.pick(desk.events)["happened_at"] - dice.below(2)
        if when in ("as_recorded", "both"):
            as_recorded = dice.pick(points)
        yield Question(chain, entity, None, as_of, as_recorded)


def _chain(dice: Dice, desk: Desk, depth: int) -> tuple[str, ...]:
    """A chain over two to four of the people; often its first or its last is in it only once."""
    circle = dice.some(desk.people, 4, 2)
    chain: list[str] = []
    for _ in range(depth):
        chain.append(dice.pick([person for person in circle if chain[-1:] != [person]]))
    for end in (0, -1)[:depth]:
        new = desk.others(*chain)
        if new and dice.chance(0.7):
            chain[end] = dice.pick(new)
    return tuple(chain)


def hanging(aspect: str, ignorant: Reference, questions: Sequence[Question]) -> list[Question]:
    """Those to which a model that ignores the aspect has another answer; they say so."""
    return [
        replace(question, hangs_on=aspect) for question in questions
        if _answer(ignorant, question, question.chain) != question.answer
    ]


def answered(model: Reference, question: Question) -> Question:
    """The question with the model's answer, and with the shortcuts to it."""
    chain, now = question.chain, replace(question, as_of=None, as_recorded=None)
    simpler: dict[str, str | None] = {}
    if chain:
        simpler["truth"] = _answer(model, question, ())
    if len(chain) > 1:
        simpler |= {
            "last": _answer(model, question, chain[-1:]),
            "first": _answer(model, question, chain[:1]),
            "inner": _answer(model, question, chain[1:]),
            "outer": _answer(model, question, chain[:-1]),
        }
    if len(chain) > 2:
        ends = (chain[0], chain[-1]) if chain[0] != chain[-1] else chain[:1]
        simpler["pair"] = _answer(model, question, ends)
    if question != now:
        simpler["now"] = _answer(model, now, chain)
    right = _answer(model, question, chain)
    shortcuts = tuple(name for name in SHORTCUTS if name in simpler and simpler[name] == right)
    return replace(question, answer=right, shortcuts=shortcuts)


def _answer(model: Reference, question: Question, chain: tuple[str, ...]) -> str | None:
    """What a chain, or none, has for an answer, at the moment that the question is about."""
    entity, as_of, as_recorded = question.entity, question.as_of, question.as_recorded
    if not chain:
        return model.truth(entity, as_of, as_recorded)
    return model.believes(chain, entity, as_of, as_recorded)
