// Who left the place of the current chapter since it began, and when last.
//
// mode:    read
// returns: agent str   who
// returns: at    int   when it left last, ms
// returns: until int   the seq of the event by which it did

MATCH (s:Scenario) WHERE s.chapter IS NOT NULL
MATCH (r:Room {name: s.chapter})
MATCH (a:Agent)-[x:EXITED]->(r)
WHERE x.at > s.chapter_at OR (x.at = s.chapter_at AND x.until > s.chapter_since)
WITH a, x.at AS at, x.until AS until ORDER BY at, until
WITH a, collect([at, until]) AS exits
RETURN a.name AS agent, exits[size(exits) - 1][0] AS at, exits[size(exits) - 1][1] AS until
