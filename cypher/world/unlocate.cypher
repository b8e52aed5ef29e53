// Forget where entities lie.
//
// mode:    write
// param:   entities list   what

UNWIND $entities AS name
MATCH (n:Entity {name: name})
WITH n
MATCH (n)-[l:LOCATED_IN]->()
DELETE l
