// The words of the events that an agent witnessed, in the order in which they happened.
//
// mode:    read
// param:   agent  str   who witnessed them
// param:   as_of  int   ms; later events do not count
// returns: text   str   the words

MATCH (a:Agent {name: $agent})
WITH a
MATCH (a)-[:WITNESSED]->(e:Event)
WHERE e.text IS NOT NULL AND e.at <= $as_of
RETURN e.text AS text
ORDER BY e.at, e.seq
