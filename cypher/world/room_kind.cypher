// What a room is, by the first event that named it: one recorded late may be it.
//
// mode:    write
// param:   name str   the room
// param:   kind str   channel or place

MATCH (r:Room {name: $name})
SET r.kind = $kind
