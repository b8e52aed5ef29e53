// Another name for an entity.
//
// mode:    write
// param:   alias str   the other name
// param:   name  str   the entity

MATCH (n:Entity {name: $name})
CREATE (:Alias {name: $alias})-[:MEANS]->(n)
