// What a room is, by the first event that named it: one recorded late may be it.
//
// mode:    write
// param:   name    str   the room
// param:   kind    str   channel or place
// param:   history str   what a newcomer may read: none, since_join or all
// param:   reads   str   whether being there is reading what is said: at_once or later

MATCH (r:Room {name: $name})
SET r.kind = $kind, r.history = $history, r.reads = $reads
