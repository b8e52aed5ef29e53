// Every room, in the order of naming.
//
// mode:    read
// returns: name    str   a room
// returns: kind    str   channel or place
// returns: history str   what a newcomer may read: none, since_join or all
// returns: reads   str   whether being there is reading what is said: at_once or later

MATCH (r:Room)
RETURN r.name AS name, r.kind AS kind, coalesce(r.history, 'since_join') AS history,
       coalesce(r.reads, 'at_once') AS reads ORDER BY id(r)
