// A room is named for the first time.
//
// mode:    write
// param:   name    str   the room
// param:   kind    str   channel or place
// param:   history str   what a newcomer may read: none, since_join or all
// param:   reads   str   whether being there is reading what is said: at_once or later

CREATE (:Room {name: $name, kind: $kind, history: $history, reads: $reads})
