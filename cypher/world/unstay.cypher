// Forget when agents were in which room, to say it anew.
//
// mode:    write
// param:   agents list   who

UNWIND $agents AS name
MATCH (a:Agent {name: name})
WITH a
MATCH (a)-[stay:IN|EXITED]->(:Room)
DELETE stay
