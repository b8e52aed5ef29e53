// Agents that no event names any more: gone, with their aliases.
//
// mode:    write
// param:   names list   who

UNWIND $names AS name
MATCH (n:Agent {name: name})
OPTIONAL MATCH (x:Alias)-[:MEANS]->(n)
DETACH DELETE x, n
