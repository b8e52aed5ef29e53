// One saw others talk, and heard nothing.
//
// mode:    write
// param:   agent str   who
// param:   seq   int   the event
// param:   step  int   the number of it in that mind

MATCH (a:Agent {name: $agent})
MATCH (e:Event {seq: $seq})
CREATE (a)-[:NOTICED {step: $step}]->(e)
