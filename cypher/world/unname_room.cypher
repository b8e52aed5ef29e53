// Rooms that no event names any more: gone, with their aliases.
//
// mode:    write
// param:   names list   where

UNWIND $names AS name
MATCH (n:Room {name: name})
OPTIONAL MATCH (x:Alias)-[:MEANS]->(n)
DETACH DELETE x, n
