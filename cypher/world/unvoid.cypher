// Events that happened after all: that they never did was itself a mistake.
//
// mode:    write
// param:   seqs list   the events

UNWIND $seqs AS seq
MATCH (e:Voided {seq: seq})
REMOVE e:Voided
SET e:Event
WITH e
MATCH (n:Entity {name: e.entity})
CREATE (e)-[:ABOUT]->(n)
