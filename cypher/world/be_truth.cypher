// Events that are what is so of their entity: back on the frontier of the log.
//
// mode:    write
// param:   seqs list   the events

UNWIND $seqs AS seq
MATCH (e:Event {seq: seq})
SET e:Truth
