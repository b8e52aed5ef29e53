"""Questions of a story, of every depth, with the answers of the reference model.

A story gets `ASKED` questions: so many that go through no mind, one, two … six. Of each it is drawn
first when it asks (`WHEN`), whether its answer should be unknown (`UNKNOWN`), and whether it should
be *apart* (`APART`). Then `DRAWN` chains and entities are drawn, and of those whose answer is known,
or unknown, as it should be, one is taken: the first; or, of a question apart, one with as few
shortcuts as there are. A **shortcut** is a simpler question that happens to have the same answer; a
memory that follows only shortcuts answers those questions right and no others.
"""

from collections.abc import Sequence

from .desk import Desk
from .dice import Dice
from .reference import Reference, new_reference
from .story import Question

DEEPEST = 6
ASKED = {0: 2, **dict.fromkeys(range(1, DEEPEST + 1), 3)}  # by depth; 20 a story
WHEN = {"now": 12, "as_of": 4, "as_recorded": 3, "both": 1}
UNKNOWN = 0.25
APART = 0.75
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
_POINTS = 2  # of the recording, a story: each is another replay of all of it


def questions(dice: Dice, desk: Desk, opening: int) -> list[Question]:
    """Draw a story's questions. Before event ``opening`` not everybody is named."""
    model = new_reference(desk.settings, DEEPEST)
    for event in desk.events:
        model.record(event)
    points = _points(dice, desk, opening)
    found: list[Question] = []
    for depth, number in ASKED.items():
        for _ in range(number):
            found.append(_question(dice, desk, model, depth, points, found))
    return found


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


def _question(
    dice: Dice, desk: Desk, model: Reference, depth: int, points: Sequence[int],
    asked: Sequence[Question],
) -> Question:
    when, unknown, apart = dice.weighted(WHEN), dice.chance(UNKNOWN), dice.chance(APART)
    drawn = []
    for _ in range(DRAWN):
        chain = _chain(dice, desk, depth)
        as_of = as_recorded = None
        if when in ("as_of", "both"):
            as_of = dice.pick(desk.events)["happened_at"] - dice.below(2)
        if when in ("as_recorded", "both"):
            as_recorded = dice.pick(points)
        entity = dice.pick(desk.entities)
        question = answered(model, Question(chain, entity, None, as_of, as_recorded))
        if question not in asked:
            drawn.append(question)
    fitting = [q for q in drawn if (q.answer is None) is unknown] or drawn
    return min(fitting, key=lambda q: len(q.shortcuts)) if apart else fitting[0]


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


def answered(model: Reference, question: Question) -> Question:
    """The question with the model's answer, and with the shortcuts to it."""
    chain, entity = question.chain, question.entity
    as_of, as_recorded = question.as_of, question.as_recorded

    def answer(chain: tuple[str, ...]) -> str | None:
        if not chain:
            return model.truth(entity, as_of, as_recorded)
        return model.believes(chain, entity, as_of, as_recorded)

    right = answer(chain)
    simpler: dict[str, str | None] = {}
    if chain:
        simpler["truth"] = answer(())
    if len(chain) > 1:
        simpler |= {
            "last": answer(chain[-1:]), "first": answer(chain[:1]),
            "inner": answer(chain[1:]), "outer": answer(chain[:-1]),
        }
    if len(chain) > 2:
        ends = (chain[0], chain[-1]) if chain[0] != chain[-1] else chain[:1]
        simpler["pair"] = answer(ends)
    if (as_of, as_recorded) != (None, None):
        simpler["now"] = model.believes(chain, entity) if chain else model.truth(entity)
    shortcuts = tuple(name for name in SHORTCUTS if name in simpler and simpler[name] == right)
    return Question(chain, entity, right, as_of, as_recorded, shortcuts)
