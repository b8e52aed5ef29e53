// The events by which beliefs came that are about an earlier one, which was read or passed on: those
// happened at another time than the beliefs hold, so they are found by the mind's own step alone.
//
// mode:    read
// param:   beliefs   list  [agent, step] each
// returns: belief    int   which of the beliefs, from 0
// returns: seq       int   the event's place in the order of recording
// returns: at        int   when it happened, ms
// returns: kind      str   what happened: see `Event.kind`
// returns: actor     str?  who did or said it
// returns: agents    list  who moved or read
// returns: room      str?  where
// returns: everyone  bool  whether it went to every agent
// returns: entity    str?  what it is about
// returns: value     str?  the value given
// returns: text      str?  the words
// returns: witnesses list  who witnessed it
// returns: more      list  about, target, edits, receipt, audience, distracted, hidden, noticed

UNWIND range(0, size($beliefs) - 1) AS belief
WITH belief, $beliefs[belief] AS b
MATCH (m:Agent {name: b[0]})
WITH belief, b, m
MATCH (m)-[w:WITNESSED]->(e:Event) WHERE w.step = b[1]
WITH belief, e
MATCH (a:Agent)-[:WITNESSED]->(e)
WITH belief, e, a ORDER BY a.name
WITH belief, e, collect(a.name) AS witnesses
RETURN belief, e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more
ORDER BY belief
