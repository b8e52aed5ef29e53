// Events that never happened: they stay in the log, and are no longer found as events.
//
// mode:    write
// param:   seqs list   the events

UNWIND $seqs AS seq
MATCH (e:Event {seq: seq})
OPTIONAL MATCH (e)-[about:ABOUT]->()
DELETE about
WITH DISTINCT e
OPTIONAL MATCH (:Agent)-[w:WITNESSED|NOTICED|READ]->(e)
DELETE w
WITH DISTINCT e
REMOVE e:Event:Truth
SET e:Voided
