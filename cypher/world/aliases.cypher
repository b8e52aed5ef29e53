// The other names of agents, rooms and entities.
//
// mode:    read
// returns: alias str   another name
// returns: kind  str   agent, room or entity
// returns: name  str   what it means

MATCH (a:Alias)-[:MEANS]->(n)
RETURN a.name AS alias, toLower(head(labels(n))) AS kind, n.name AS name ORDER BY kind, alias
