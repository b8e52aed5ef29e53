// Entrances into rooms where an entity lay openly at some time: by them somebody may have come to
// see it.
//
// mode:    read
// param:   entity    str   what may have been seen
// param:   at        int   of an event: when it happened, ms
// param:   after     int   and its seq: only what happened later
// param:   as_of     int   ms; later events do not count
// returns: seq       int   the event's place in the order of recording
// returns: at        int   when it happened, ms
// returns: kind      str   enter
// returns: agents    list  who moved
// returns: room      str   where
// returns: witnesses list  who witnessed it
// returns: steps     list  of each of them: its number among the events that reached that mind

MATCH (n:Entity {name: $entity})
WITH n
MATCH (l:Event)-[:ABOUT]->(n)
WITH collect(DISTINCT l.located_in) AS rooms
MATCH (e:Event)
WHERE (e.at > $at OR (e.at = $at AND e.seq > $after)) AND e.at <= $as_of
  AND e.kind = 'enter' AND e.room IN rooms
WITH e
MATCH (e)<-[took:WITNESSED]-(a:Agent)
WITH e, a, took ORDER BY a.name
WITH e, collect(a.name) AS witnesses, collect(took.step) AS steps
RETURN e.seq AS seq, e.at AS at, e.kind AS kind, e.agents AS agents, e.room AS room,
       witnesses, steps
ORDER BY at, seq
