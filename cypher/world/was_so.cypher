// Whether some event had made it so that an entity has a value.
//
// mode:    read
// param:   entity str   of what
// param:   value  str   the value
// param:   before int   the seq of an event: only what was recorded earlier
// returns: was_so bool  whether there was such an event

MATCH (n:Entity {name: $entity})
WITH n
MATCH (e:Event)-[:ABOUT]->(n)
WHERE e.seq < $before AND e.value = $value AND e.kind IN ['state', 'say', 'announce']
RETURN count(e) > 0 AS was_so
