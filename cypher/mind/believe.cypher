// Add what one event leaves in one mind. The newest wins when read; older ones close in mind/settle.
//
// mode:    write
// param:   entity    str    what the belief is about
// param:   value     str?   null: unknown from now on
// param:   members   list   the scope: who is in the circle that shares it
// param:   min_depth int    the scope: shortest chain
// param:   max_depth int?   the scope: longest chain, null: any
// param:   about     str?   the scope: only chains that end in this agent
// param:   at        int    when the event happened, ms
// param:   step      int    which of the events that reached this mind it is
// param:   via       str    saw, said, announced, told, reported, read or forwarded
// param:   source    str?   whose doing or saying it was
// param:   room      str?   where
// param:   text      str?   the words
// param:   witnesses list?  who took part, where they are not the members

CREATE (:Belief:Active {entity: $entity, value: $value, members: $members,
        min_depth: $min_depth, max_depth: $max_depth, about: $about, at: $at, step: $step,
        via: $via, source: $source, room: $room, text: $text, witnesses: $witnesses})
