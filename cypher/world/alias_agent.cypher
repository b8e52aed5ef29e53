// Another name for an agent.
//
// mode:    write
// param:   alias str   the other name
// param:   name  str   the agent

MATCH (n:Agent {name: $name})
CREATE (:Alias {name: $alias})-[:MEANS]->(n)
