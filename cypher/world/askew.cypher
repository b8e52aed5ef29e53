// Events about an entity after which minds are not as they seem: taken in unseen, or retractions.
//
// mode:    read
// param:   entity    str   which
// param:   at        int   ms; only events after this one,
// param:   seq       int   which has this seq
// param:   as_of     int   ms; later events do not count
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

MATCH (n:Entity {name: $entity})
WITH n
MATCH (e:Event)-[:ABOUT]->(n)
WHERE (e.hidden IS NOT NULL OR e.kind = 'retract') AND e.at <= $as_of
  AND (e.at > $at OR (e.at = $at AND e.seq >= $seq))
OPTIONAL MATCH (a:Agent)-[:WITNESSED]->(e)
WITH e, a ORDER BY a.name
WITH e, collect(a.name) AS witnesses
RETURN e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more
ORDER BY at DESC, seq DESC
