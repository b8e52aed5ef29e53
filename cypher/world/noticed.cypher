// Who noticed events, as which of their own steps.
//
// mode:    write
// param:   rows list   [seq of the event, agent, step of its mind] each

UNWIND $rows AS row
MATCH (e:Event {seq: row[0]})
WITH e, row
MATCH (a:Agent {name: row[1]})
CREATE (a)-[:NOTICED {step: row[2]}]->(e)
