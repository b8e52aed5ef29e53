// The index by which an agent is found; made once, with the scenario.
//
// mode:    write

CREATE INDEX FOR (n:Agent) ON (n.name)
