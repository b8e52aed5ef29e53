// Forget that somebody noticed events.
//
// mode:    write
// param:   rows list   [seq of the event, agent, step of its mind] each

UNWIND $rows AS row
MATCH (e:Event {seq: row[0]})
WITH e, row
MATCH (a:Agent)-[n:NOTICED]->(e)
WHERE a.name = row[1]
DELETE n
