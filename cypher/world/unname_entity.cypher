// Entities that no event names any more: gone, with their aliases.
//
// mode:    write
// param:   names list   what

UNWIND $names AS name
MATCH (n:Entity {name: name})
OPTIONAL MATCH (x:Alias)-[:MEANS]->(n)
DETACH DELETE x, n
