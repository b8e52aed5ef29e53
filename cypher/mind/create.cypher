// Make an empty mind: its first query creates the graph, with the index that reads use.
//
// mode:    write

CREATE INDEX FOR (b:Active) ON (b.entity)
