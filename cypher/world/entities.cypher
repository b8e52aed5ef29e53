// Every entity, in the order of naming.
//
// mode:    read
// returns: name str   an entity

MATCH (n:Entity) RETURN n.name AS name ORDER BY id(n)
