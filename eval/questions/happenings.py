"""What may happen next at a desk: one function a happening, ``None`` where it cannot happen now.

Each writes one event, as people would live it: they speak where they are, mostly tell what they
believe, read what they may read, mend what they said.
"""

from collections.abc import Callable, Sequence

from .desk import CONTAINERS, HISTORIES, INBOX, TEAMS, Desk, Room
from .story import Event

SAID = ("state", "say", "announce", "tell", "report", "edit", "forward")
CHATTER = ("Good morning!", "Any news?", "I will look it up.", "Thank you!", "Back in five minutes.")
SEEN_TALKING = ("say", "tell", "report")
UNATTENDED = ("read", "void")  # the kinds that name nobody as distracted or hidden
_TRIES = 6  # for happenings that cannot happen now

# Coming and going


def opening(desk: Desk) -> list[Event]:
    """Everyone's first entrances; by these every room is what it is."""
    dice, events = desk.dice, []
    rooms = [("internal", desk.staff), ("chat", [*desk.customers, *dice.some(desk.staff, 2)])]
    if "places" in desk.themes:
        halves = dice.some(desk.people, 4, 2), dice.some(desk.people, 3)
        rooms += [("front_desk", halves[0]), ("storeroom", halves[1])]
    if "mail" in desk.themes:
        rooms.append((INBOX, dice.some(desk.people, 5, 3)))
    if "groups" in desk.themes:
        rooms += [(team, dice.some(desk.people, 3, 2)) for team in TEAMS]
    for room, people in rooms:
        entered: Event = {"kind": "enter", "agents": people, "room": room}
        events.append(entered | _declared(desk, room))
    return events


def _declared(desk: Desk, room: str) -> Event:
    """What a new room is, where that is not what the scenario's settings say anyway."""
    dice, by_default = desk.dice, desk.settings["rooms"] == "place"
    place = room in ("front_desk", "storeroom")
    if room == "internal" and by_default:
        place = dice.chance(0.4)
    later = room == INBOX or (desk.settings["reads"] == "later" and dice.chance(0.3))
    desk.rooms[room] = Room(place, later)
    fields: Event = {}
    if room not in TEAMS and (place != by_default or dice.chance(0.2)):
        fields["place"] = place
    if later != (desk.settings["reads"] == "later"):
        fields["reads"] = "later" if later else "at_once"
    if dice.chance(0.4):
        fields["history"] = dice.pick(HISTORIES)
    return fields


def come(desk: Desk) -> Event | None:
    """One or two come in."""
    room = desk.dice.pick(desk.halls)
    outside = desk.others(*desk.inside(room))
    if not outside:
        return None
    agents = desk.dice.some(outside, 2)
    if desk.teams and desk.dice.chance(0.15):
        agents = [desk.dice.pick(desk.teams)]
    return {"kind": "enter", "agents": agents, "room": room}


def go(desk: Desk) -> Event | None:
    """One or two leave a room, or wherever they are."""
    return _moving(desk, "exit", desk.dice.pick(desk.halls))


def step_away(desk: Desk) -> Event | None:
    """Somebody stays in the room and is not there in mind."""
    event = _moving(desk, "away", desk.dice.pick(list(desk.rooms)))
    if event is not None:
        desk.away |= {(agent, event.get("room", "")) for agent in event["agents"]}
    return event


def come_back(desk: Desk) -> Event | None:
    """Somebody who was away is back."""
    if not desk.away:
        return None
    agent, room = desk.dice.pick(sorted(desk.away))
    desk.away.discard((agent, room))
    return {"kind": "back", "agents": [agent]} | ({"room": room} if room else {})


def join_or_leave_a_team(desk: Desk) -> Event | None:
    """Groups are joined and left."""
    if not desk.teams:
        return None
    team = desk.dice.pick(desk.teams)
    outside = desk.others(*desk.inside(team))
    if outside and desk.dice.chance(0.6):
        return {"kind": "enter", "agents": desk.dice.some(outside, 2), "room": team}
    return _moving(desk, "exit", team, room_is_said=1)


def _moving(desk: Desk, kind: str, room: str, room_is_said: float = 0.75) -> Event | None:
    inside = desk.inside(room)
    if not inside:
        return None
    said = {"room": room} if desk.dice.chance(room_is_said) else {}
    return {"kind": kind, "agents": desk.dice.some(inside, 2), **said}


# Saying


def decide(desk: Desk) -> Event | None:
    """One with the say says what is so; now and then, that it is no longer known."""
    speaker, entity = desk.dice.pick(desk.people), desk.dice.pick(desk.entities)
    value = None if desk.dice.chance(0.08) else desk.another_value(entity, desk.told.truth(entity))
    return _worded(desk, {
        "kind": "say", "speaker": speaker, "entity": entity, "value": value,
        **_heard(desk, speaker, "audience"),
    })


def chat(desk: Desk) -> Event | None:
    """Words that hold no fact."""
    speaker = desk.dice.pick(desk.people)
    said = {"text": desk.dice.pick(CHATTER)}
    return {"kind": "say", "speaker": speaker, **_heard(desk, speaker, "audience"), **said}


def find(desk: Desk) -> Event | None:
    """Something is so, whoever sees it: a thing was put somewhere, a system booked something."""
    dice = desk.dice
    entity = dice.pick(desk.things if desk.things and dice.chance(0.7) else desk.entities)
    value = None if dice.chance(0.05) else desk.another_value(entity, desk.told.truth(entity))
    event: Event = {"kind": "state", "entity": entity, "value": value}
    if entity in desk.things:
        place = dice.pick([room for room in desk.halls if desk.rooms[room].place])
        inside = desk.inside(place)
        lies_in = dice.pick(CONTAINERS) if dice.chance(0.25) else place
        by = {"by": dice.pick(inside)} if inside and dice.chance(0.7) else {}
        return event | by | {"room": place, "located_in": lies_in}
    by = {"by": dice.pick(desk.people)} if dice.chance(0.5) else {}
    where: Event = {}
    if dice.chance(0.45):
        where = {"room": dice.pick(desk.halls)}
    elif dice.chance(0.7):
        where = {"audience": _hearers(desk, desk.people)}
    return event | by | where


def announce(desk: Desk) -> Event | None:
    """Everybody is told what is so."""
    entity = desk.dice.pick(desk.entities)
    value = desk.another_value(entity, desk.told.truth(entity))
    speaker = desk.dice.pick(desk.people)
    return _worded(desk, {"kind": "announce", "speaker": speaker, "entity": entity, "value": value})


def tell(desk: Desk) -> Event | None:
    """Somebody passes on what it believes, or a lie."""
    speaker, entity = desk.dice.pick(desk.people), desk.dice.pick(desk.entities)
    believed = desk.told.believes([speaker], entity)
    value = believed or desk.dice.pick(desk.values[entity])
    if believed is not None and desk.dice.chance(0.5 if "lies" in desk.themes else 0.1):
        value = desk.another_value(entity, believed)
        desk.contains.add("a lie")
    everyone: Event = {"everyone": True}
    to = everyone if desk.dice.chance(0.15) else _heard(desk, speaker, "listeners")
    return _worded(
        desk, {"kind": "tell", "speaker": speaker, **to, "entity": entity, "value": value}
    )


def report(desk: Desk) -> Event | None:
    """Somebody says what another one believes."""
    dice, entity = desk.dice, desk.dice.pick(desk.entities)
    speaker, about = dice.some(desk.people, 2, 2)
    value = desk.told.believes([speaker, about], entity)
    if value is None or dice.chance(0.3):
        value = dice.pick(desk.values[entity])
    return {
        "kind": "report", "speaker": speaker, "about": about,
        **_heard(desk, speaker, "listeners"), "entity": entity, "value": value,
    }


def _heard(desk: Desk, speaker: str, alone: str) -> Event:
    """Who hears it: a room that the speaker is in, or those it names (in the field ``alone``)."""
    rooms = [room for room in desk.rooms if speaker in desk.inside(room)]
    if INBOX in desk.rooms and desk.dice.chance(0.25):
        return {"room": INBOX}
    if rooms and desk.dice.chance(0.65):
        return {"room": desk.dice.pick(rooms)}
    return {alone: _hearers(desk, desk.others(speaker))}


def _hearers(desk: Desk, of: Sequence[str]) -> list[str]:
    if desk.teams and desk.dice.chance(0.4):
        return [desk.dice.pick(desk.teams), *desk.dice.some(of, 1, 0)]
    return desk.dice.some(of, 3)


def _worded(desk: Desk, event: Event) -> Event:
    if event["value"] is not None and desk.dice.chance(0.15):
        event["text"] = f"{event['entity'].replace('_', ' ')}: {event['value']}"
    return event


# About what was said


def read(desk: Desk) -> Event | None:
    """Somebody reads what it may read and has not taken in; perhaps others come to know of it."""
    dice, truly = desk.dice, desk.told.truly()
    reader = dice.pick(desk.people)
    unread = [n for n in desk.told.readable(reader) if reader not in truly[n - 1]]
    if dice.chance(0.15):  # over somebody's shoulder; or once more
        unread = _said(desk)
    if not unread:
        return None
    number = unread[-1] if dice.chance(0.5) else dice.pick(unread)
    event: Event = {"kind": "read", "agents": [reader], "event": desk.name_of(number)}
    if dice.chance(0.2):
        event["agents"] = [reader, *dice.some(desk.others(reader), 1)]
    shown = dice.weighted({"nobody": 4, "receipt": 3, "room": 2, "audience": 2})
    if shown == "receipt":
        event["receipt"] = True
    elif shown == "room":
        event["room"] = desk.event(number).get("room") or dice.pick(desk.halls)
    elif shown == "audience":
        event["audience"] = _hearers(desk, desk.others(reader))
    return event


def edit(desk: Desk) -> Event | None:
    """Who said it changes it; often only those who look again see that."""
    dice = desk.dice
    numbers = [n for n in _said(desk) if desk.event(n)["kind"] != "forward"]
    if not numbers:
        return None
    number = dice.pick(numbers)
    first = desk.first_said(number)
    event: Event = {"kind": "edit", "speaker": _actor(desk, number), "event": desk.name_of(number)}
    if "entity" not in first or dice.chance(0.1):
        event["text"] = "as I meant to say"
    else:
        event["value"] = desk.another_value(first["entity"], first["value"])
    if dice.chance(0.35):
        event["room"] = first.get("room") or dice.pick(desk.halls)
    elif dice.chance(0.4):
        event["audience"] = _hearers(desk, desk.people)
    return event


def retract(desk: Desk) -> Event | None:
    """It was wrong; some of those who believed it come to hear that."""
    numbers = [n for n in _said(desk) if "entity" in desk.first_said(n)]
    if not numbers:
        return None
    number = desk.dice.pick(numbers)
    event: Event = {
        "kind": "retract", "speaker": _actor(desk, number), "event": desk.name_of(number)
    }
    to = desk.dice.weighted({"room": 4, "audience": 4, "everyone": 2})
    if to == "room":
        return event | {"room": desk.event(number).get("room") or desk.dice.pick(desk.halls)}
    if to == "audience":
        return event | {"audience": _hearers(desk, desk.people)}
    return event | {"everyone": True}


def forward(desk: Desk) -> Event | None:
    """One who took it in passes it on, mostly to those who did not."""
    truly = desk.told.truly()
    numbers = [n for n in _said(desk) if truly[n - 1]]
    if not numbers:
        return None
    number = desk.dice.pick(numbers)
    speaker = desk.dice.pick(sorted(truly[number - 1]))
    event: Event = {"kind": "forward", "speaker": speaker, "event": desk.name_of(number)}
    if desk.dice.chance(0.1):
        return event | {"everyone": True}
    new = desk.others(*truly[number - 1])
    if new and desk.dice.chance(0.6):
        return event | {"listeners": desk.dice.some(new, 2)}
    return event | _heard(desk, speaker, "listeners")


def void(desk: Desk) -> Event | None:
    """It was recorded by mistake; now and then, that was a mistake itself."""
    since = [n for n, e in enumerate(desk.events, 1) if e["happened_at"] >= desk.first]
    voids = [n for n in since if desk.event(n)["kind"] == "void"]
    targets = voids if voids and desk.dice.chance(0.2) else since
    return {"kind": "void", "event": desk.name_of(desk.dice.pick(targets))} if targets else None


def _said(desk: Desk) -> list[int]:
    """The numbers of what was said, newest last."""
    return [n for n, event in enumerate(desk.events, 1) if event["kind"] in SAID]


def _actor(desk: Desk, number: int) -> str:
    """Who said it; of what nobody said, anybody."""
    event = desk.event(number)
    actor: str = event.get("speaker") or event.get("by") or desk.dice.pick(desk.people)
    return actor


# Who took it in


def with_attention(desk: Desk, event: Event) -> Event:
    """The event, with who was distracted, who listened unseen, and who saw them talk."""
    dice, kind = desk.dice, event["kind"]
    if kind in UNATTENDED:
        return event
    actors = {event.get("speaker"), event.get("by"), *event.get("agents", ())}
    bystanders = [person for person in desk.people if person not in actors]
    if "distraction" in desk.themes and bystanders and dice.chance(0.3):
        there = desk.inside(event["room"]) if "room" in event else bystanders
        likely = [person for person in bystanders if person in there] or bystanders
        event["distracted"] = dice.some(likely, 2)
        teams = [team for team in desk.teams if team not in actors]
        if teams and dice.chance(0.2):
            event["distracted"] = [dice.pick(teams)]
    if "eavesdropping" in desk.themes and dice.chance(0.25):
        event["hidden"] = dice.some(desk.people if dice.chance(0.2) else bystanders or desk.people, 2)
    hearers = [*event.get("audience", ()), *event.get("listeners", ())]
    outside = [person for person in bystanders if person not in hearers]
    if "asides" in desk.themes and kind in SEEN_TALKING and outside and dice.chance(0.5):
        event["noticed"] = dice.some(outside, 2)
    return event


Happening = Callable[[Desk], Event | None]


def happen(desk: Desk, weights: dict[Happening, float]) -> Event:
    """The next event: one of these happenings, or a decision where none can happen."""
    for _ in range(_TRIES):
        if (event := desk.dice.weighted(weights)(desk)) is not None:
            return with_attention(desk, event)
    event = decide(desk)
    assert event is not None
    return with_attention(desk, event)
