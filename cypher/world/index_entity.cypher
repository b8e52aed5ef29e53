// The index by which an entity is found; made once, with the scenario.
//
// mode:    write

CREATE INDEX FOR (n:Entity) ON (n.name)
