// An agent is in a room from now on.
//
// mode:    write
// param:   agent str   who
// param:   room  str   where
// param:   since int   the seq of the event by which it came
// param:   at    int   when that happened, ms

MATCH (a:Agent {name: $agent})
MATCH (r:Room {name: $room})
CREATE (a)-[:IN {since: $since, at: $at}]->(r)
