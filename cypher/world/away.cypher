// One who is in a room is away from now on, or no longer.
//
// mode:    write
// param:   agent str   who
// param:   room  str   where
// param:   away  bool  whether it is away

MATCH (a:Agent {name: $agent})
WITH a
MATCH (a)-[i:IN]->(r:Room {name: $room})
SET i.away = $away
