// An entity lies inside a container, unseen, from now on.
//
// mode:    write
// param:   entity str   what
// param:   name   str   the entity that contains it

MATCH (n:Entity {name: $entity})
OPTIONAL MATCH (n)-[old:LOCATED_IN]->()
DELETE old
WITH DISTINCT n
MATCH (c:Entity {name: $name})
CREATE (n)-[:LOCATED_IN]->(c)
