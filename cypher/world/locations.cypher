// Where entities lie: openly in a room, or inside a container.
//
// mode:    read
// returns: entity  str    what
// returns: name    str    the room, or the entity that contains it
// returns: is_room bool   whether that is a room

MATCH (n:Entity)-[:LOCATED_IN]->(l)
RETURN n.name AS entity, l.name AS name, 'Room' IN labels(l) AS is_room
