// Who told whom a value and was believed: the edges along which it may have come.
//
// mode:    read
// param:   entity  str   what it was about
// param:   value   str   the value told
// param:   at      int   of the last telling that counts: when it happened, ms
// param:   upto    int   and its seq
// returns: speaker str   who told it
// returns: hearer  str   who believed it
// returns: seq     int   the event by which it was told
// returns: at      int   when it happened, ms

MATCH (s:Agent)-[t:TOLD {entity: $entity, value: $value, trusted: true}]->(h:Agent)
WHERE t.at < $at OR (t.at = $at AND t.seq <= $upto)
RETURN s.name AS speaker, h.name AS hearer, t.seq AS seq, t.at AS at
ORDER BY at DESC, seq DESC, speaker, hearer
