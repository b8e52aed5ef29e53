// Forget that somebody read by some events.
//
// mode:    write
// param:   rows list   [seq of the reading, who read] each

UNWIND $rows AS row
MATCH (r:Event {seq: row[0]})
WITH r, row
MATCH (a:Agent)-[x:READ]->(r)
WHERE a.name = row[1]
DELETE x
