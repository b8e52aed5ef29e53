// Who read by which event: what verify compares with a replay.
//
// mode:    read
// returns: seq   int   the reading
// returns: agent str   who read

MATCH (a:Agent)-[:READ]->(r:Event)
RETURN r.seq AS seq, a.name AS agent ORDER BY seq, agent
