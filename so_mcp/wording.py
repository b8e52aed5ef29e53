"""Sentences: how answers read to a person, or to a model with a small context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .attention import Why
    from .minds import Aside, Held
    from .seen import SeenEvent
    from .testimony import Trail

Had = Literal["took in", "has read", "was passed"]


def clock(at: int) -> str:
    """Milliseconds since 1970 as ISO 8601 text in UTC."""
    moment = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z").replace(".000Z", "Z")


def listed(names: Sequence[str]) -> str:
    """``A, B and C``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "nobody"


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 event``, ``2 events``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def how_it_came(
    via: str, source: str | None, through: str | None = None, reader: str | None = None
) -> str:
    """``said by Billing``; of what was seen, who did it is not what matters.

    ``through``: who passed it on; ``reader``: who read it, where that is known.
    """
    said = "" if source is None else f", said by {source}"
    match via:
        case "read":
            return f"read{'' if reader is None else f' by {reader}'} later{said}"
        case "forwarded":
            return f"passed on by {through}{said}"
    return via if source is None or via == "saw" else f"{via} by {source}"


def quoted(value: str | None) -> str:
    """A value in quotes, or the word unknown."""
    return "unknown" if value is None else f"'{value}'"


def thinks(chain: Sequence[str]) -> str:
    """``Billing thinks Maya`` for the chain Billing, Maya."""
    return " thinks ".join(chain)


def belief(chain: Sequence[str], entity: str, value: str | None) -> str:
    """What a chain believes, without why."""
    if value is None:
        return f"{thinks(chain)} does not know {entity}"
    return f"{thinks(chain)} believes {entity} is {quoted(value)}"


def some(names: Sequence[str], at_most: int = 8) -> str:
    """`listed`, cut: ``A, B and 3 others``."""
    if len(names) <= at_most:
        return listed(names)
    kept = names[: at_most - 1]
    return f"{', '.join(kept)} and {len(names) - len(kept)} others"


def short(text: str, at_most: int = 80) -> str:
    """Words or a value, which may be long, on one line and cut."""
    line = " ".join(text.split())
    return line if len(line) <= at_most else f"{line[: at_most - 1].rstrip()}…"


class Circle(NamedTuple):
    """Some agents who think the same of the same others, and with ``each_other`` of one another."""

    agents: tuple[str, ...]
    of: tuple[str, ...]
    each_other: bool

    def whom(self) -> str:
        """Of whom, as a list in a sentence."""
        return some((*(["each other"] if self.each_other else []), *self.of))


def circles(pairs: Iterable[tuple[str, str]]) -> list[Circle]:
    """Group pairs of (who, of whom) so that few sentences say them all."""
    of: dict[str, dict[str, None]] = {}
    for who, whom in pairs:
        of.setdefault(who, {})[whom] = None
    mutual: dict[frozenset[str], list[str]] = {}
    for who, whom_all in of.items():
        mutual.setdefault(frozenset([who, *whom_all]), []).append(who)
    found, alone = [], []
    for everyone, agents in mutual.items():
        if len(agents) == 1:
            alone += agents
        else:
            others = [name for name in of[agents[0]] if name in everyone - set(agents)]
            found.append(Circle(tuple(agents), tuple(others), each_other=True))
    alike: dict[frozenset[str], list[str]] = {}
    for who in alone:
        alike.setdefault(frozenset(of[who]), []).append(who)
    found += [Circle(tuple(a), tuple(of[a[0]]), each_other=False) for a in alike.values()]
    return found


def happened(event: SeenEvent) -> str:
    """One event as a clause that can stand in any sentence: who did what, where."""
    where = f" in {event.room}" if event.room is not None else ""
    who = event.actor or "Somebody unnamed"
    value = quoted(None if event.value is None else short(event.value))
    what = f"{event.entity} is {value}"
    match event.kind:
        case "enter" | "exit" | "away" | "back":
            clause = _moved(event)
        case "void":
            why = f": {short(event.text)}" if event.text else ""
            clause = f"event {event.target} was voided, it never happened{why}"
        case "read" | "edit" | "retract" | "forward":
            clause = _of_another(event)
        case "state" if event.actor is None:
            clause = f"{event.entity} became {value}{where}"
        case "state" if event.value is None:
            clause = f"{who} made {event.entity} unknown{where}"
        case "state":
            clause = f"{who} set {event.entity} to {value}{where}"
        case "announce":
            clause = f"{who} announced that {what}"
        case "tell" | "report":
            whose = "" if event.about is None else f"{event.about} believes "
            told = f"told {hearers}" if (hearers := _hearers(event)) else "said"
            clause = f"{who} {told}{where} that {whose}{what}"
        case _ if event.entity is None:
            clause = f'{who} said "{short(event.text or "")}"{where}'
        case _:
            clause = f"{who} said {what}{where}"
    return clause


def _hearers(event: SeenEvent) -> str:
    """Whom something was told or passed on to, as it appeared."""
    if event.everyone:
        return "everyone"
    named = event.audience or set(event.witnesses) - set(event.hidden)
    hearers = sorted(name for name in named if name != event.actor)
    return some(hearers) if hearers else ""


def _moved(event: SeenEvent) -> str:
    """Who came, went, was away or back."""
    group = event.room is not None and event.room.startswith("@")
    verb, nowhere = {
        "enter": ("joined" if group else "entered", ""),
        "exit": ("left", " every room"),
        "away": ("stepped away from" if event.room else "stepped away", ""),
        "back": ("came back to" if event.room else "came back", ""),
    }[event.kind]
    return f"{some(event.agents)} {verb}{nowhere if event.room is None else f' {event.room}'}"


def _of_another(event: SeenEvent) -> str:
    """What somebody did with an earlier event."""
    what = f"event {event.target}"
    said = "" if event.of is None else f" ({happened(event.of)})"
    who = event.actor or some(event.agents)
    where = f" in {event.room}" if event.room is not None else ""
    whom = "everyone" if event.everyone else some(event.audience)
    match event.kind:
        case "read":
            if event.of is not None and event.of.number != event.target:
                said = f" as edited (event {event.of.number}: {_edited(event.of)})"
            if event.receipt:
                return f"{who} read {what}{said}, with a receipt"
            seen = where or (f" to {whom}" if event.audience else "")
            return f"{who} read {what}{said}" + (f" and acknowledged it{seen}" if seen else "")
        case "edit":
            shown = where or (f" for {whom}" if event.audience else "")
            return f"{who} edited {what}{shown}: {_edited(event)}"
        case "retract" if event.room is not None:
            return f"{who} retracted {what}{where}{said}"
        case "retract":
            return f"{who} told {whom} that {what} is retracted{said}"
    to = where or f" to {_hearers(event) or 'nobody'}"
    return f"{who} passed {what} on{to}{said}"


def _edited(event: SeenEvent) -> str:
    """What an edited message says now: its words, where those alone are new."""
    unchanged = event.of is not None and event.of.value == event.value
    if event.entity is None or (event.text and unchanged):
        return f'it says now "{short(event.text or "")}"'
    whose = "" if event.about is None else f"{event.about} believes "
    return f"{whose}{event.entity} is now {quoted(None if event.value is None else short(event.value))}"


def attended(event: SeenEvent) -> str:
    """What the list of those who took an event in does not say, as a parenthesis; often nothing."""
    clauses = [
        f"{some(names)} {what}"
        for names, what in (
            (event.distracted, "did not take it in"), (event.hidden, "unseen"),
            (event.noticed, "saw them talk"),
        )
        if names
    ]
    return f" ({'; '.join(clauses)})" if clauses else ""


def not_taken_in(agent: str, event: SeenEvent, why: Why, *, had: Had | None = None) -> str:
    """That somebody did not take an event in, why not, and what it was, as a clause.

    ``had``: of an edit, how it took in what was edited.
    """
    what = f"event {event.number}"
    if event.kind == "edit" and had is not None:
        original = f"{agent} {had} the original of event {event.target}"
        return f"{original}, not the edit ({what}: {_edited(event)})"
    reason = {
        "absent": f"{agent} missed {what}",
        "noticed": f"{agent} saw them talk at {what} and heard nothing",
        "readable": f"{agent} missed {what} and may read it",
        "unread": f"{agent} has not read {what}, which was delivered",
        "away": f"{agent} was away at {what}",
        "distracted": f"{agent} was there but did not take {what} in",
    }[why]
    return f"{reason}: {happened(event)}"


def explanation(
    chain: Sequence[str],
    entity: str,
    held: Held | None,
    event: SeenEvent | None,
    trail: Trail | None,
    clauses: Sequence[str],
    *,
    retracted: bool = False,
) -> str:
    """One sentence that names the source and who witnessed it; then ``clauses`` on who did not.

    ``retracted``: what it did believe was taken back.
    """
    if held is None:
        reason = "what said so was retracted" if retracted else "no event that reached it says so"
    elif event is None:
        reason = f"by {held.via} at {clock(held.at)}"
    else:
        sight = ", where it lay in plain sight" if event.kind == "enter" else ""
        reason = (
            f"event {event.number}, {happened(event)}{sight}, witnessed by {some(event.witnesses)}"
        )
    sentence = f"{belief(chain, entity, None if held is None else held.value)} ({reason})"
    came = [] if trail is None else [came_from(trail)]
    return "; ".join([sentence, *came, *clauses]) + "."


def came_from(trail: Trail) -> str:
    """Who told whom, from the source to the believer."""
    if trail.saw is not None:
        origin = f"saw it, event {trail.saw.number}"
    else:
        origin = "had not seen it" if trail.was_so else "nobody saw it"
    first, *others = trail.agents
    return " → ".join([f"it came from {first} ({origin})", *others])


def own_explanation(
    chain: Sequence[str], entity: str, held: Held | None, aside: Aside | None = None
) -> str:
    """Why the first of a chain, addressed as you, believes it: from its own mind alone.

    ``aside``: a talk since, of which it heard nothing.
    """
    you, others = chain[0], chain[1:]
    spoke = [] if aside is None else [f"{they_spoke(aside, 'Since then ' if held else '')}."]
    if held is None:
        nothing = (
            f"Nothing tells you what {thinks(others)} believes about {entity}."
            if others else f"You know nothing of {entity}."
        )
        return " ".join([nothing, *spoke])
    if others:
        what = f"You think {belief(others, entity, held.value)}"
    elif held.value is None:
        what = f"You do not know {entity}"
    else:
        what = f"You believe {entity} is {quoted(held.value)}"
    sentences = [f"{what}: {_came(held, chain)}, {clock(held.at)}."]
    if held.via not in ("told", "reported"):  # which name those who heard it
        there = some(_as_you(held.witnesses, you))
        sentences.append(f"Took part, as you saw it: {there}.")
    if held.text:
        sentences.append(f'The words: "{short(held.text, 200)}"')
    return " ".join(sentences + spoke)


def they_spoke(aside: Aside, since: str = "") -> str:
    """A talk that was noticed, to the one who noticed it."""
    where = f" in {aside.room}" if aside.room is not None else ""
    return f"{since}{some(aside.agents)} spoke{where} at {clock(aside.at)}; you do not know about what"


def _came(held: Held, chain: Sequence[str]) -> str:
    """How a belief came, as a clause to the one who holds it."""
    where = f" in {held.room}" if held.room is not None else ""
    [who] = _as_you([held.source or "you"], chain[0])
    hearers = some(_as_you([name for name in held.witnesses if name != held.source], chain[0]))
    match held.via:
        case "saw" if held.source is None:
            clause = f"you saw it{where}"
        case "saw":
            clause = f"{who} {'set it' if held.value is not None else 'made it unknown'}{where}"
        case "announced":
            clause = f"{who} announced it"
        case "told":
            clause = f"{who} told {hearers}{where} that it is"
        case "reported":
            clause = f"{who} told {hearers}{where} that {chain[-1]} believes it"
        case "read" if len(chain) == 1:
            clause = f"you read later that {who} said so{where}"
        case "read":
            clause = f"{who} said so{where}, which was read later"
        case "forwarded":
            [by] = _as_you([held.through or "somebody"], chain[0])
            clause = f"{by} passed on that {who} said so{where}"
        case _:
            clause = f"{who} said so{where}"
    return clause


def _as_you(names: Iterable[str], you: str) -> list[str]:
    return ["you" if name == you else name for name in names]
