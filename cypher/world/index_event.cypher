// The index by which events of the log are found; made once, with the scenario.
//
// mode:    write

CREATE INDEX FOR (e:Event) ON (e.seq, e.at, e.id)
