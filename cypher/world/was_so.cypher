// Whether some event had made it so that an entity has a value.
//
// mode:    read
// param:   entity str   of what
// param:   value  str   the value
// param:   at     int   of an event: when it happened, ms
// param:   before int   and its seq: only what happened earlier
// returns: was_so bool  whether there was such an event

MATCH (n:Entity {name: $entity})
WITH n
MATCH (e:Event)-[:ABOUT]->(n)
WHERE (e.at < $at OR (e.at = $at AND e.seq < $before)) AND e.value = $value
  AND (e.kind IN ['state', 'say', 'announce'] OR e.edits IN ['state', 'say', 'announce'])
RETURN count(e) > 0 AS was_so
