// Who noticed which event: what verify compares with a replay.
//
// mode:    read
// returns: seq   int   the event
// returns: agent str   who noticed it
// returns: step  int   the number of it in that mind

MATCH (a:Agent)-[n:NOTICED]->(e:Event)
RETURN e.seq AS seq, a.name AS agent, n.step AS step ORDER BY seq, agent
