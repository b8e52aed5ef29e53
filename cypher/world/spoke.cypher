// What an agent saw of others talking after an event: messages without a fact, which it took in, and
// talks of which it heard nothing; newest first.
//
// mode:    read
// param:   agent     str   who
// param:   at        int   ms; only events after this one,
// param:   seq       int   which has this seq
// param:   as_of     int   ms; later events do not count
// param:   limit     int   at most this many
// returns: heard     bool  whether it took it in; false: it saw them talk
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

MATCH (m:Agent {name: $agent})
WITH m
MATCH (m)-[w:WITNESSED|NOTICED]->(e:Event)
WHERE (e.at > $at OR (e.at = $at AND e.seq > $seq)) AND e.at <= $as_of
  AND (type(w) = 'NOTICED' OR (e.entity IS NULL AND e.text IS NOT NULL AND e.kind IN ['say', 'edit', 'forward']))
WITH e, type(w) = 'WITNESSED' AS heard ORDER BY e.at DESC, e.seq DESC
WITH collect([e, heard])[0..$limit] AS newest
UNWIND newest AS pair
WITH pair[0] AS e, pair[1] AS heard
MATCH (a:Agent)-[:WITNESSED]->(e)
WITH e, heard, a ORDER BY a.name
WITH e, heard, collect(a.name) AS witnesses
RETURN heard, e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more
ORDER BY at DESC, seq DESC
