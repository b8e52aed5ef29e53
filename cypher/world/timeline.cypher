// Events of the log, newest first, with who witnessed each: of one entity or all; of one agent's
// either what it witnessed or what it missed, of all that holds something to know.
//
// mode:    read
// param:   entity    str?  only events about this entity; null: all
// param:   agent     str?  only those that this agent witnessed, or missed; null: all
// param:   missed    bool  of an agent: what it missed, of what gives a value or has words
// param:   otherwise list  seqs of events that it has of another one, so it did not miss them
// param:   after     int   only events with a seq above this
// param:   since     int   ms; only events at or after it
// param:   as_of     int   ms; only events at or before it
// param:   limit     int   at most this many
// returns: total     int   how many there are without the limit
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
// returns: steps     list  of each of them: its number among the events that reached that mind

OPTIONAL MATCH (w:Agent {name: $agent})
WITH w
MATCH (e:Event)
WHERE e.seq > $after AND e.at >= $since AND e.at <= $as_of
  AND ($entity IS NULL OR e.entity = $entity)
  AND (NOT $missed OR ((e.text IS NOT NULL OR e.kind IN ['state', 'say', 'announce', 'tell',
    'report', 'edit', 'retract', 'forward']) AND e.kind <> 'void' AND NOT e.seq IN $otherwise))
OPTIONAL MATCH (w)-[took:WITNESSED]->(e)
WITH e, took
WHERE $agent IS NULL OR (took IS NULL) = $missed
WITH e ORDER BY e.at DESC, e.seq DESC
WITH collect(e) AS found
WITH size(found) AS total, found[0..$limit] AS newest
UNWIND newest AS e
OPTIONAL MATCH (e)<-[took:WITNESSED]-(a:Agent)
WITH total, e, a, took ORDER BY a.name
WITH total, e, collect(a.name) AS witnesses, collect(took.step) AS steps
RETURN total, e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.everyone AS everyone, e.entity AS entity, e.value AS value,
       e.text AS text, witnesses,
       [e.about, e.target, e.edits, e.receipt, e.audience, e.distracted, e.hidden, e.noticed] AS more, steps
ORDER BY at DESC, seq DESC
