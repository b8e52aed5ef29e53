// Who read an event after it happened.
//
// mode:    write
// param:   rows list   [seq of the reading, who read] each

UNWIND $rows AS row
MATCH (r:Event {seq: row[0]})
WITH r, row
MATCH (a:Agent {name: row[1]})
CREATE (a)-[:READ]->(r)
