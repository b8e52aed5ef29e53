// An entity lies openly in a room from now on.
//
// mode:    write
// param:   entity str   what
// param:   name   str   the room

MATCH (n:Entity {name: $entity})
OPTIONAL MATCH (n)-[old:LOCATED_IN]->()
DELETE old
WITH DISTINCT n
MATCH (r:Room {name: $name})
CREATE (n)-[:LOCATED_IN]->(r)
