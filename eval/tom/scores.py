"""What is right, by data set, label and order; what is not, and why; and what has to be reached."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from .asking import Asked
from .told import Perceived, Question

Score = dict[str, list[int]]  # "all" and each order: [right, asked]

ANSWER, WITNESSES, ROUTING = "answer", "witnesses", "routing_answer"
FALSE_YES, MISSED_YES = "false_yes", "missed_yes"  # [such answers, labels "no" (or "yes")]
UNEXPLAINED = "no reason is known: look at it"
NOISE_AT_MOST = 66 / 5934  # of the witness sets; right are then 98.888 %, which rounds to 98.9 %


@dataclass(frozen=True, slots=True)
class Failure:
    """One label that the memory does not agree with. ``key`` says which label of the item."""

    id: str
    key: str
    asked: str
    label: str
    got: str
    why: str


@dataclass(slots=True)
class Found:
    """What came of one data set."""

    stories: int = 0
    events: int = 0
    scores: dict[str, Score] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """What ``--json`` prints of it."""
        return asdict(self)

    def count(self, key: str, order: int | None, *, right: bool) -> None:
        """Add one label to a score; a witness set has no order."""
        for column in ["all"] if order is None else ["all", str(order)]:
            cell = self.scores.setdefault(key, {"all": [0, 0]}).setdefault(column, [0, 0])
            cell[0] += right
            cell[1] += 1


def score(asked: Iterable[Asked]) -> Found:
    """Hold what the memory answered against the labels."""
    found = Found()
    for one in asked:
        found.stories += 1
        found.events += len(one.story.events)
        for question, answer in zip(one.story.questions, one.answers, strict=True):
            _score_answer(found, question, answer)
        for perceived in one.story.perceived:
            _score_witnesses(found, perceived, one.witnesses[perceived.index])
    for key, counts in found.scores.items():
        found.scores[key] = dict(sorted(counts.items(), key=lambda item: _order(item[0])))
    return found


def _order(column: str) -> int:
    return -2 if column == "all" else int(column)


def _score_answer(found: Found, question: Question, answer: str) -> None:
    for key, label in question.labels.items():
        found.count(key, question.order, right=answer == label)
        if answer != label:
            why = question.why.get(key, UNEXPLAINED)
            asked = " > ".join([*question.chain, question.entity])
            found.failures.append(Failure(question.id, key, asked, label, answer, why))
    if ROUTING in question.labels:
        of_label = {"no": FALSE_YES, "yes": MISSED_YES}[question.labels[ANSWER]]
        found.count(of_label, question.order, right=answer != question.labels[ANSWER])


def _score_witnesses(found: Found, perceived: Perceived, witnesses: frozenset[str]) -> None:
    found.count(WITNESSES, None, right=witnesses == perceived.agents)
    if witnesses == perceived.agents:
        return
    lacking, odd = perceived.by_rule - perceived.agents, perceived.agents - perceived.by_rule
    if witnesses != perceived.by_rule:
        why = UNEXPLAINED
    elif not perceived.agents:
        why = "noise: nobody is named, not even who acts or is there"
    elif lacking and odd:
        why = "noise: names one who is not there, and not one who is"
    elif lacking:
        why = "noise: leaves out one who came in and has not left"
    else:
        why = "noise: names one who has left or never came in"
    found.failures.append(Failure(
        perceived.id, WITNESSES, f"sentence {perceived.index + 1}",
        ", ".join(sorted(perceived.agents)), ", ".join(sorted(witnesses)), why,
    ))


def below(found: dict[str, Found], *, sampled: bool) -> list[str]:
    """What was not reached, a sentence each; a sample may hold more noise than its share."""
    missed = []
    for name, one in found.items():
        right, asked = one.scores[ANSWER]["all"]
        if FALSE_YES in one.scores:
            false = one.scores[FALSE_YES]["all"][0]
            if false:
                missed.append(f"{name}: {false} false yes, expected none.")
        elif right < asked:
            missed.append(f"{name}: {right} of {asked}, expected all.")
        if WITNESSES in one.scores:
            right, asked = one.scores[WITNESSES]["all"]
            if not sampled and asked - right > NOISE_AT_MOST * asked:
                missed.append(
                    f"{name}: {asked - right} of {asked} witness sets are others, "
                    f"expected at most {NOISE_AT_MOST * asked:.0f}."
                )
        unexplained = sum(failure.why == UNEXPLAINED for failure in one.failures)
        if unexplained:
            missed.append(f"{name}: of {unexplained} failures no reason is known; see --failures.")
    return missed
