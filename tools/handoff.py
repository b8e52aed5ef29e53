"""Handoffs: what one agent should tell another, instead of the transcript.

The supervisor's tool, and what an agent's own (in `own_mind`) answers too.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, Field

from so_mcp.handoff import Handoff
from so_mcp.memory import Memory
from so_mcp.tokens import ENCODING, TOKENIZER
from so_mcp.wording import clock, listed

from .answers import Answer
from .supervisor import AsOf

Exclude = Annotated[
    list[str] | None, Field(description="entities, agents that must not pass on")
]


class HandedFact(BaseModel):
    """wrong: the receiver believes otherwise; false: it has not heard."""

    entity: str
    value: str
    how: str
    source: str | None
    at: str
    wrong: bool


class MistakenAgent(BaseModel):
    """A third party that believes value where actual is so, as the sender sees it."""

    agent: str
    entity: str
    value: str
    actual: str
    how: str
    source: str | None
    at: str


class Tokens(BaseModel):
    """Of the handoff; and of the words the sender witnessed, null where a mind is asked."""

    handoff: int
    transcript: int | None
    tokenizer: str


class Withheld(BaseModel):
    """How many items were; what was compared in the receiver's mind, on a fork, with the rest."""

    withheld: int
    compared: str
    chains: int
    unchanged: bool


class Recorded(BaseModel):
    """Numbers of the events; lines that the receiver's policy keeps it from believing."""

    events: list[int]
    doubted: list[str]


class OwnHandoffAnswer(Answer):
    """handoff is the text for the receiver."""

    handoff: str
    facts: list[HandedFact]
    mistaken: list[MistakenAgent]
    tokens: Tokens

    @classmethod
    def of(cls, scenario: str, found: Handoff) -> Self:
        """From a read of the sender's mind."""
        return cls(
            scenario=scenario,
            cut=found.left_out > 0,
            handoff=found.text,
            facts=[
                HandedFact(entity=f.entity, value=f.value, how=f.how, source=f.source,
                           at=clock(f.at), wrong=f.wrong)
                for f in found.facts
            ],
            mistaken=[
                MistakenAgent(agent=m.agent, entity=m.entity, value=m.value,
                              actual=m.actual.value, how=m.how, source=m.source, at=clock(m.at))
                for m in found.mistaken
            ],
            tokens=Tokens(
                handoff=found.tokens, transcript=found.transcript_tokens, tokenizer=TOKENIZER
            ),
        )

    def text(self) -> str:
        """The handoff alone."""
        if not self.cut:
            return self.handoff
        return (
            f"{self.handoff}\nOnly the newest {len(self.facts) + len(self.mistaken)}: the rest "
            "follows when these are recorded as told. Or exclude names."
        )


class HandoffAnswer(OwnHandoffAnswer):
    """The supervisor's: proof where names were excluded, recorded where it was committed."""

    proof: Withheld | None = None
    recorded: Recorded | None = None

    @classmethod
    def of(cls, scenario: str, found: Handoff) -> Self:
        """From a supervisor's answer."""
        answer = super().of(scenario, found)
        if (proof := found.proof) is not None:
            answer.proof = Withheld(withheld=proof.withheld, compared=proof.compared,
                                    chains=proof.chains, unchanged=proof.unchanged)
        if found.recorded:
            answer.recorded = Recorded(events=list(found.recorded), doubted=list(found.doubted))
        return answer

    def text(self) -> str:
        """The handoff; below it, in brackets, what is for the supervisor alone."""
        spent, spared = self.tokens.handoff, self.tokens.transcript
        notes = [f"{spent} tokens, the transcript {spared}, by {ENCODING}."]
        if self.proof is not None:
            notes.append(
                f"{self.proof.withheld} withheld; proved: {self.proof.compared} "
                f"({self.proof.chains}) are unchanged by this."
            )
        if self.recorded is not None:
            events = self.recorded.events
            numbers = listed([str(number) for number in events])
            notes.append(f"Recorded as event{'s' if len(events) > 1 else ''} {numbers}.")
            if self.recorded.doubted:
                notes.append(f"Not believed: {'; '.join(self.recorded.doubted)}.")
        return f"{super().text()}\n[{' '.join(notes)}]"


def handoff_delta(
    memory: Memory,
    sender: str,
    receiver: str,
    exclude: Exclude = None,
    commit: bool = False,
    as_of: AsOf = None,
) -> HandoffAnswer:
    """The shortest message that gives receiver what sender thinks it lacks or has wrong, and who
    else is mistaken; beside it the transcript's tokens. commit records it as told."""
    found = memory.handoff_delta(sender, receiver, exclude, as_of, commit=commit)
    return HandoffAnswer.of(memory.scenario, found)
