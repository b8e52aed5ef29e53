// Who told whom a value and was believed: the edges along which it may have come.
//
// mode:    read
// param:   entity  str   what it was about
// param:   value   str   the value told
// param:   upto    int   the seq of the last telling that counts
// returns: speaker str   who told it
// returns: hearer  str   who believed it
// returns: seq     int   the event by which it was told

MATCH (s:Agent)-[t:TOLD {entity: $entity, value: $value, trusted: true}]->(h:Agent)
WHERE t.seq <= $upto
RETURN s.name AS speaker, h.name AS hearer, t.seq AS seq ORDER BY seq DESC, speaker, hearer
