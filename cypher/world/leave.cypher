// An agent is no longer in a room; the stay is kept.
//
// mode:    write
// param:   agent    str   who
// param:   room     str   where
// param:   since    int   the seq of the event by which it came
// param:   since_at int   when that happened, ms
// param:   until    int   the seq of the event by which it left
// param:   at       int   when that happened, ms

MATCH (a:Agent {name: $agent})-[i:IN]->(r:Room {name: $room})
DELETE i
CREATE (a)-[:EXITED {since: $since, since_at: $since_at, until: $until, at: $at}]->(r)
