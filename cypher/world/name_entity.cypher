// An entity is named for the first time.
//
// mode:    write
// param:   name str   the entity

CREATE (:Entity {name: $name})
