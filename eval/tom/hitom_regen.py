"""Fresh stories of Hi-ToM's current generator: read as Hi-ToM is, by `eval.stories`.

``answer_rule`` is what the rules that Hi-ToM's prompt prints give when they are applied at every
depth. Where it differs from ``answer`` it is something that was claimed or told: by the authors'
code testimony reaches no chain but those of one listener and the speaker.
"""

from collections.abc import Iterable

from eval import stories

from .told import Event, Question, Row, Story, by_story

_SAID = "what someone said, in a chain that testimony does not reach by the authors' code"


def read(rows: Iterable[Row]) -> list[Story]:
    """The stories, each with its questions."""
    return [_story(rows) for rows in by_story(rows, "story")]


def _story(rows: list[Row]) -> Story:
    told = events(rows[0]["story"])
    said = {(event["entity"], event["value"]) for event in told if event["kind"] == "tell"}
    return Story(told, [
        Question(
            row["id"], row["order"], tuple(row["chain"]), row["entity"],
            {"answer": row["answer"], "answer_rule": row["answer_rule"]},
            why={"answer_rule": _SAID} if (row["entity"], row["answer_rule"]) in said else {},
        )
        for row in rows
    ], policy="exit-order")


def events(sentences: Iterable[str]) -> list[Event]:
    """The story's events. A claim ends with "is in the CONTAINER now" here."""
    return stories.events(
        "\n".join(f"{n} {s.replace(' now.', '.')}" for n, s in enumerate(sentences, 1))
    )
