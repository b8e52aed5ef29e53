// The words of the events that an agent witnessed, or read later, in the order in which they happened.
//
// mode:    read
// param:   agent  str   who witnessed them
// param:   as_of  int   ms; later events do not count
// returns: text   str   the words

MATCH (a:Agent {name: $agent})
WITH a
MATCH (a)-[took:WITNESSED|READ]->(x:Event)
WHERE x.at <= $as_of
WITH x, type(took) = 'READ' AS later
OPTIONAL MATCH (t:Event {seq: x.target}) WHERE later
WITH DISTINCT CASE WHEN later THEN t ELSE x END AS e
WHERE e.text IS NOT NULL
RETURN e.text AS text
ORDER BY e.at, e.seq
