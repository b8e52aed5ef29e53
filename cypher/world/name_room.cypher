// A room is named for the first time.
//
// mode:    write
// param:   name str   the room
// param:   kind str   channel or place

CREATE (:Room {name: $name, kind: $kind})
