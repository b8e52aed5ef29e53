// Some events of the log, and every edit (which of them a reader found, decides the time), with who
// witnessed each.
//
// mode:    read
// param:   seqs      list  which
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

MATCH (e:Event) WHERE e.seq IN $seqs OR e.kind = 'edit'
OPTIONAL MATCH (a:Agent)-[:WITNESSED]->(e)
WITH e, a ORDER BY a.name
WITH e, collect(a.name) AS witnesses
RETURN e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more
ORDER BY seq
