// Who has left the place of the current chapter since it began, and by which event.
//
// mode:    read
// returns: agent str   who
// returns: until int   the seq of the event by which it left last

MATCH (s:Scenario) WHERE s.chapter IS NOT NULL
MATCH (r:Room {name: s.chapter})
MATCH (a:Agent)-[x:EXITED]->(r) WHERE x.until > s.chapter_since
RETURN a.name AS agent, max(x.until) AS until
