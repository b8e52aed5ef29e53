// The index by which a room is found; made once, with the scenario.
//
// mode:    write

CREATE INDEX FOR (n:Room) ON (n.name)
