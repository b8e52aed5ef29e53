// Append an event to the log, with those who witnessed it.
//
// mode:    write
// param:   seq        int    its place in the order of recording
// param:   at         int    when it happened, ms
// param:   kind       str    what happened: see `Event.kind`
// param:   actor      str?   who did or said it
// param:   agents     list   who moved
// param:   room       str?   where
// param:   audience   list   who was named to take it in
// param:   everyone   bool   whether it went to every agent
// param:   about      str?   whose belief was reported
// param:   entity     str?    what it is about
// param:   value      str?   the value given
// param:   located_in str?   where the entity lies since
// param:   place      bool?  whether the room was asked to be a place
// param:   text       str?   the words
// param:   id         str?   the id that the caller gave
// param:   target     int?   void: the seq of the event that never happened
// param:   witnesses  list   [agent, step of its mind] each

OPTIONAL MATCH (n:Entity {name: $entity})
CREATE (e:Event {seq: $seq, at: $at, kind: $kind, actor: $actor, agents: $agents,
        room: $room, audience: $audience, everyone: $everyone, about: $about, entity: $entity,
        value: $value, located_in: $located_in, place: $place, text: $text, id: $id,
        target: $target})
FOREACH (about IN CASE WHEN n IS NULL THEN [] ELSE [n] END | CREATE (e)-[:ABOUT]->(about))
WITH e
UNWIND $witnesses AS w
MATCH (a:Agent {name: w[0]})
CREATE (a)-[:WITNESSED {step: w[1]}]->(e)
