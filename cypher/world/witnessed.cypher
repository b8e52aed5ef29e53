// Who witnessed which event, and as which of its own steps: what verify compares with a replay.
//
// mode:    read
// returns: seq   int   the event
// returns: agent str   who witnessed it
// returns: step  int   the number of it in that mind

MATCH (a:Agent)-[w:WITNESSED]->(e:Event)
RETURN e.seq AS seq, a.name AS agent, w.step AS step
ORDER BY seq, agent
