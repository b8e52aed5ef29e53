// Another name for a room.
//
// mode:    write
// param:   alias str   the other name
// param:   name  str   the room

MATCH (n:Room {name: $name})
CREATE (:Alias {name: $alias})-[:MEANS]->(n)
