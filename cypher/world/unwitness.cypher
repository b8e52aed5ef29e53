// Forget who witnessed events, to say it anew.
//
// mode:    write
// param:   seqs list   the events

UNWIND $seqs AS seq
MATCH (e:Event {seq: seq})
WITH e
MATCH (:Agent)-[w:WITNESSED]->(e)
DELETE w
