// Every room, in the order of naming.
//
// mode:    read
// returns: name str   a room
// returns: kind str   channel or place

MATCH (r:Room) RETURN r.name AS name, r.kind AS kind ORDER BY id(r)
