// Events about an entity that one agent did not witness and another (or, with null, anyone) did,
// after a given one; with a value, only those that gave it, and what was read or retracted.
//
// mode:    read
// param:   questions list  [entity, who missed, who witnessed or null, at, seq, value or null, reports too, seqs it has otherwise] each
// param:   limit     int   at most this many events a question, newest first
// param:   as_of     int   ms; later events do not count
// returns: question  int   which of the questions, from 0
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

UNWIND range(0, size($questions) - 1) AS question
WITH question, $questions[question] AS q
MATCH (n:Entity {name: q[0]})
WITH question, q, n
MATCH (e:Event)-[:ABOUT]->(n)
WHERE (e.at > q[3] OR (e.at = q[3] AND e.seq > q[4])) AND e.at <= $as_of
  AND (q[5] IS NULL OR e.value = q[5] OR e.kind IN ['read', 'retract'])
  AND (q[6] OR e.kind <> 'report') AND NOT e.seq IN q[7]
OPTIONAL MATCH (a:Agent)-[:WITNESSED]->(e)
WITH question, q, e, a ORDER BY a.name
WITH question, q, e, collect(a.name) AS witnesses
WHERE NOT q[1] IN witnesses AND (q[2] IS NULL OR q[2] IN witnesses)
WITH question, e, witnesses ORDER BY e.at DESC, e.seq DESC
WITH question, collect([e, witnesses])[0..$limit] AS newest
UNWIND newest AS pair
WITH question, pair[0] AS e, pair[1] AS witnesses
RETURN question, e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more
ORDER BY question, at DESC, seq DESC
