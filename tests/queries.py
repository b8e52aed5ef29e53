"""What each query of the catalogue is tried with: a new query needs a line here.

One that returns something finds it in the story (EXAMPLES), one that looks nodes up says where its
plan starts (STARTS), and every one is sent by something that `ask_everything` asks.
"""

from __future__ import annotations

from typing import Any

from stores import memory_of, view_of

from so_mcp import Memory
from so_mcp.contents import mind_graph
from so_mcp.minds import entities

# The story: every kind of event, every field, both kinds of room, testimony of all sorts, and so
# many events that every mind and the world have been settled, twice.
START = 1_700_000_000_000  # its first moment, ms
AGENTS = ("Ann", "Bob", "Cho", "Dia", "Eve")
_EVENTS: list[dict[str, Any]] = [
    {"kind": "enter", "agents": list(AGENTS[:4]), "room": "chat"},
    {"kind": "enter", "agents": ["Ann", "Bob", "Cho"], "room": "hall", "place": True,
     "id": "arrival"},
    {"kind": "state", "entity": "keys", "value": "on the table", "room": "hall", "by": "Ann",
     "located_in": "hall", "text": "Ann puts them down."},
    {"kind": "state", "entity": "coin", "value": "in the box", "audience": ["Ann", "Dia"],
     "located_in": "box"},
    {"kind": "state", "entity": "keys", "value": "in the box", "room": "hall",
     "located_in": "box", "id": "move-1"},
    {"kind": "exit", "agents": ["Bob"], "room": "hall"},
    {"kind": "state", "entity": "lamp", "value": "lit", "room": "hall", "located_in": "hall"},
    {"kind": "exit", "agents": ["Ann"], "room": "hall"},
    {"kind": "enter", "agents": ["Eve"], "room": "hall"},
    {"kind": "tell", "speaker": "Ann", "listeners": ["Bob", "Dia"], "entity": "keys",
     "value": "lost"},
    {"kind": "tell", "speaker": "Cho", "everyone": True, "entity": "coin", "value": "found"},
    {"kind": "report", "speaker": "Bob", "about": "Ann", "entity": "keys",
     "value": "on the table", "room": "chat"},
    {"kind": "announce", "speaker": "Dia", "entity": "meeting", "value": "Friday"},
    {"kind": "say", "speaker": "Cho", "room": "chat", "text": "Good morning."},
    {"kind": "say", "speaker": "Cho", "entity": "meeting", "value": None, "audience": ["Ann"]},
    *({"kind": "say", "speaker": AGENTS[number % 3], "room": "chat", "text": "Listen.",
       "entity": ("keys", "coin", "meeting")[number % 3], "value": f"value {number}",
       "id": f"line-{number}"} for number in range(70)),
    {"kind": "report", "speaker": "Ann", "about": "Eve", "entity": "coin", "value": "gone",
     "room": "chat", "text": "Eve thinks it is gone.", "id": "report-1"},
    {"kind": "report", "speaker": "Ann", "about": "Eve", "entity": "coin", "value": "gone",
     "room": "chat", "text": "Eve thinks it is gone.", "id": "report-2"},
    {"kind": "tell", "speaker": "Bob", "listeners": ["Ann"], "entity": "coin", "value": "sold",
     "noticed": ["Dia"]},
]
STORY = [event | {"happened_at": START + 1000 * n} for n, event in enumerate(_EVENTS)]
END = START + 1000 * len(STORY)

# Parameters with which each read finds something in the story; a mind's query is asked of Bob's.
MIND = "Bob"
EXAMPLES: dict[str, dict[str, Any]] = {
    "mind/belief": {"entity": "pearl", "rest": [], "between": [], "last": None, "depth": 1},
    "mind/beliefs": {"entity": None, "chains": [[[], [], None, 1], [["Eve"], [], "Eve", 2]]},
    "mind/beliefs_as_of": {
        "entity": "pearl", "chains": [[[], [], None, 1]], "as_of": END + 20, "upto": 0,
    },
    "mind/contents": {},
    "world/witnessed": {},
    "mind/history": {
        "entity": None, "chains": [[[], [], None, 1]], "since": START + 60_000,
        "after": 0, "as_of": END + 20,
    },
    "mind/entities": {},
    "mind/graph": {},
    "mind/people": {},
    "mind/scopes": {"entity": None, "among": ["Ann", "Bob", "Eve"]},
    "mind/scopes_as_of": {"entity": "coin", "among": ["Ann", "Bob", "Eve"], "as_of": END},
    "mind/step": {},
    "mind/values": {"entity": None, "chains": [[[], [], None, 1], [["Eve"], [], "Eve", 2]]},
    "world/agents": {},
    "world/aliases": {},
    "world/departures": {},
    "world/entities": {},
    "world/entrances": {"entity": "keys", "at": START, "after": 3, "as_of": END},
    "world/events": {"after": 0, "upto": 1000},
    "world/voided": {"after": 0, "upto": 1000},
    "world/told_by": {},
    "world/readings": {},
    "world/noticings": {},
    "mind/asides": {"since": 0},
    "world/events_by_id": {"ids": ["arrival", "move-1", "report-2", "undo", "new", "mailroom", "mail-1",
                                   "reading", "edit"]},
    "world/locations": {},
    "world/missed": {"questions": [["keys", "Eve", "Bob", -1, 0, None, True, [3]]], "limit": 50,
                     "as_of": END},
    "world/askew": {"entity": "coin", "at": END, "seq": 0, "as_of": END + 10},
    "world/attention": {"as_of": END + 10},
    "world/seen": {"seqs": list(range(1, 120))},
    "world/sources_passed_on": {"beliefs": [["Ann", 3], ["Bob", 8]]},
    "world/spoke": {"agent": "Bob", "at": START, "seq": 0, "as_of": END + 10, "limit": 50},
    "world/presence": {},
    "world/rooms": {},
    "world/scenario": {},
    "world/sources": {"beliefs": [["Ann", START + 2000, 3], ["Bob", START + 11_000, 8]]},
    "world/stays": {"ended": START + 5000},
    "world/tellings": {"entity": "keys", "value": "lost", "at": END, "upto": 20},
    "world/timeline": {"entity": None, "agent": "Eve", "missed": True, "otherwise": [3], "after": 0,
                       "since": START, "as_of": 2**53, "limit": 300},
    "world/transcript": {"agent": "Bob", "as_of": END},
    "world/summary": {},
    "world/truths": {"entity": None},
    "world/truths_as_of": {"entity": "keys", "as_of": END},
    "world/was_so": {"entity": "keys", "value": "in the box", "at": END, "before": 20},
}

# Where a query's plan starts, in order: "index X" looks nodes of X up, "all X" goes through every
# one. A query that is not named starts from nothing: it only creates.
STARTS: dict[str, list[str]] = {
    # A mind's frontier is small, whatever its history.
    "mind/belief": ["index Active"],
    "mind/beliefs": ["all Active"],
    "mind/people": ["all Active"],
    "mind/values": ["all Active"],
    "mind/entities": ["all Active"],
    "mind/scopes": ["all Active"],
    "mind/step": ["all Active", "all Belief"],
    "mind/settle": ["index Active", "all Active"],
    "mind/settle_late": ["index Active", "all Active"],
    # An earlier time is rarely asked about, and an index on history costs every event.
    "mind/beliefs_as_of": ["all Belief"],
    "mind/scopes_as_of": ["all Belief"],
    "mind/contents": ["all Belief"],
    "world/witnessed": ["all Agent"],
    "mind/graph": ["all Belief"],
    "mind/history": ["all Belief", "all Belief"],
    # The whole list is wanted.
    "world/agents": ["all Agent"],
    "world/entities": ["all Entity"],
    "world/rooms": ["all Room"],
    "world/presence": ["all Room"],
    "world/locations": ["all Entity"],
    "world/aliases": ["all Alias"],
    # There is one scenario in a world.
    "world/scenario": ["all Scenario"],
    "world/strict": ["all Scenario"],
    "world/begin_chapter": ["all Scenario"],
    "world/departures": ["all Scenario", "all Room"],
    # The frontier of the log is about as long as the list of entities.
    "world/truths": ["all Truth"],
    "world/settle": ["all Truth", "all Truth"],
    "world/alias_agent": ["index Agent"],
    "world/alias_entity": ["index Entity"],
    "world/alias_room": ["index Room"],
    "world/summary": ["all Scenario", "all Agent", "all Entity", "all Event"],
    # Of what is void there is little.
    "world/voided": ["all Voided"],
    "world/unvoid": ["index Entity", "all Voided"],
    "world/void": ["index Event"],
    "world/be_truth": ["index Event"],
    "world/unwitness": ["index Event"],
    "world/witness": ["index Agent", "index Event"],
    "world/unstay": ["index Agent"],
    "world/unlocate": ["index Entity"],
    "world/unname_agent": ["index Agent"],
    "world/unname_entity": ["index Entity"],
    "world/unname_room": ["index Room"],
    "world/be_room": ["index Room"],
    "world/away": ["index Agent"],
    "world/be_no_truth": ["index Event"],
    "world/log_more": ["index Event"],
    "world/have_read": ["index Agent", "index Event"],
    "world/unread": ["index Event"],
    "world/readings": ["all Agent"],
    "world/notice": ["index Agent", "index Event"],
    "world/noticed": ["index Agent", "index Event"],
    "world/unnotice": ["index Event"],
    "world/noticings": ["all Agent"],
    "mind/asides": ["all Aside"],
    "world/enter": ["index Agent", "index Room"],
    "world/leave": ["index Agent"],
    "world/locate_in_container": ["index Entity", "index Entity"],
    "world/locate_in_room": ["index Room", "index Entity"],
    "world/told": ["index Agent", "index Agent"],
    "world/log": ["index Agent", "index Entity"],
    "world/log_truth": ["index Agent", "index Entity"],
    "world/events": ["index Event"],
    "world/events_by_id": ["index Event"],
    "world/transcript": ["index Agent", "index Event"],
    "world/truths_as_of": ["index Event", "index Event"],
    "world/timeline": ["index Event", "index Agent"],
    "world/entrances": ["index Event", "index Entity"],
    "world/was_so": ["index Entity"],
    # A relationship has no index: an index on it costs every event.
    "world/stays": ["all Room"],
    "world/tellings": ["all Agent"],
    "world/told_by": ["all Agent"],
    "world/untell": ["all Agent"],
    "world/missed": ["index Entity"],
    "world/askew": ["index Entity"],
    "world/attention": ["index Event", "index Room"],
    "world/seen": ["all Event"],
    "world/sources_passed_on": ["index Agent"],
    "world/spoke": ["index Agent"],
    "world/sources": ["index Event"],
}


def rewrite_the_past(memory: Memory) -> None:
    """Every way in which an event changes what came before it, and back again."""
    # A room that was a channel was a place, and somebody else was in it all the time.
    late = START - 1000
    memory.record([
        {"kind": "enter", "agents": ["Fay"], "room": "yard", "place": True, "happened_at": late,
         "id": "late-1"},
        {"kind": "state", "entity": "gate", "value": "open", "located_in": "yard", "by": "Fay",
         "happened_at": late, "id": "late-2"},
        {"kind": "enter", "agents": ["Fay"], "room": "hall", "place": True, "happened_at": late + 1,
         "id": "late-3"},
        {"kind": "tell", "speaker": "Fay", "room": "hall", "entity": "keys", "value": "lost",
         "happened_at": START + 1500, "id": "late-4"},
    ])
    memory.record([{"kind": "enter", "agents": ["Ann"], "room": "attic", "happened_at": END}])
    memory.record([{"kind": "enter", "agents": ["Bob"], "room": "attic", "place": True,
                    "happened_at": START, "id": "late-5"}])
    for number in (5, 4, 3, 2, 1):
        memory.void(f"late-{number}")
    memory.record([  # Bob is asked about in EXAMPLES
        {"kind": "enter", "agents": ["Bob", "Gus"], "room": "mail", "reads": "later",
         "history": "all", "happened_at": END + 1, "id": "mailroom"},
        {"kind": "say", "speaker": "Gus", "entity": "coin", "value": "minted", "room": "mail",
         "hidden": ["Eve"], "distracted": ["Bob"], "noticed": ["Bob"], "id": "mail-1",
         "happened_at": END + 2, "text": "It is minted."},
        {"kind": "away", "agents": ["Gus"], "room": "mail", "happened_at": END + 3},
        {"kind": "read", "agents": ["Bob"], "event": "mail-1", "receipt": True, "id": "reading",
         "happened_at": END + 4},
        {"kind": "edit", "speaker": "Gus", "event": "mail-1", "value": "melted", "id": "edit",
         "happened_at": END + 5},
        {"kind": "forward", "speaker": "Bob", "event": "mail-1", "listeners": ["Dia"],
         "happened_at": END + 6},
        {"kind": "retract", "speaker": "Gus", "event": "mail-1", "audience": ["Bob"],
         "happened_at": END + 7},
        {"kind": "enter", "agents": ["Dia", "Ann"], "room": "den", "happened_at": END + 8},
        {"kind": "say", "speaker": "Ann", "entity": "pearl", "value": "black", "room": "den",
         "text": "Look.", "happened_at": END + 9, "id": "den-1"},
        {"kind": "forward", "speaker": "Ann", "event": "den-1", "listeners": ["Bob"],
         "happened_at": END + 10},
    ])
    memory.away("Bob", "mail", happened_at=END + 11)
    memory.record([{"kind": "say", "speaker": "Ann", "room": "chat", "text": "Psst.",
                    "noticed": ["Bob", "Gus"], "happened_at": END + 12, "id": "psst"}])
    memory.say("Ann", text="Psst!", room="chat", noticed=["Gus"], happened_at=END + 13)
    memory.record([  # and what only was there for a moment
        {"kind": "enter", "agents": ["Bob"], "room": "loft", "reads": "later", "history": "none",
         "happened_at": END + 14, "id": "gone-1"},
        {"kind": "say", "speaker": "Ann", "text": "Hm.", "room": "chat", "distracted": ["Bob"],
         "hidden": ["Gus"], "noticed": ["Dia"], "happened_at": END + 15, "id": "gone-2"},
        {"kind": "read", "agents": ["Bob"], "event": "den-1", "receipt": True,
         "happened_at": END + 16, "id": "gone-3"},
        {"kind": "edit", "speaker": "Ann", "event": "den-1", "text": "Look!",
         "happened_at": END + 17, "id": "gone-4"},
    ])
    for number in (4, 3, 2, 1):
        memory.void(f"gone-{number}")
    memory.void("psst")
    memory.void(memory.step())
    memory.void("reading", id="unread")
    memory.void("unread")
    memory.void("report-1", id="undo")
    memory.void("line-69")  # it was the newest to say what is so
    memory.void(memory.step())


def ask_everything(memory: Memory, observe: Any) -> None:
    """Everything that the product can be asked, now and as of an earlier time."""
    memory.record(STORY[4:5])  # its id was recorded before
    for as_of in (None, END):
        memory.explain(["Bob", "Ann"], "keys", as_of)
        memory.false_beliefs(as_of=as_of)
        memory.context_for("Bob", "Ann", as_of)
        memory.common_ground(["Ann", "Bob"], as_of=as_of)
        memory.handoff_delta("Bob", "Ann", as_of=as_of)
    memory.explain("Bob", "keys", START + 9_000)  # as it was told
    memory.missed("Eve")
    memory.replay("keys")
    memory.what_if(STORY[4:5])
    memory.entities()
    memory.alias("Annie", "Ann")
    memory.alias("lounge", "hall")
    memory.alias("door keys", "keys")
    memory.strict()
    memory.strict(on=False)
    memory.scenarios()
    memory.verify()
    rewrite_the_past(memory)
    memory.timeline(limit=20)
    memory.explain("Dia", "coin")  # as it was passed on
    memory.grant("Bob")
    with view_of("Bob", memory.scenario, memory.store) as view:
        view.database.observers.append(observe)
        view.who_is_misinformed()
        view.what_changed()
        view.step()
        entities(view.database, view.scenario, view.agent)
        mind_graph(view.database, view.scenario, view.agent)
    with memory_of(memory.store, memory.scenario) as again:  # it has no copy of the world
        again.database.observers.append(observe)
        again.record(STORY[4:5])
