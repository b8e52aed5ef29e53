// Every passing on of testimony: what verify compares with a replay.
//
// mode:    read
// returns: seq      int    the event by which it was told
// returns: speaker  str    who told it
// returns: listener str    who heard it
// returns: trusted  bool   whether it was believed

MATCH (s:Agent)-[t:TOLD]->(l:Agent)
RETURN t.seq AS seq, s.name AS speaker, l.name AS listener, t.trusted AS trusted
