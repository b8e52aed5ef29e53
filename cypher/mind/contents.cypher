// Everything a mind holds, in its own order: what verify compares with a replay of the log.
//
// mode:    read
// returns: step      int    which of the events that reached this mind
// returns: at        int    when the event happened, ms
// returns: entity    str    what the belief is about
// returns: value     str?   null: unknown
// returns: members   list   the scope: who is in the circle
// returns: min_depth int    the scope: shortest chain
// returns: max_depth int?   the scope: longest chain, null: any
// returns: about     str?   the scope: only chains that end in this agent
// returns: via       str    saw, said, announced, told, reported, read or forwarded
// returns: source    str?   whose doing or saying it was
// returns: room      str?   where
// returns: text      str?   the words
// returns: witnesses list?  who took part, where they are not the members
// returns: known     int?   since when it is held, where that is later, ms
// returns: place     int?   where it competes, where that is not its step
// returns: through   str?   who passed it on
// returns: retracted list?  [since when, ms, step, agents …] each: for whose chains it does not count
// returns: active    bool   whether it is on the frontier: not closed by mind/settle

MATCH (b:Belief)
RETURN b.step AS step, b.at AS at, b.entity AS entity, b.value AS value, b.members AS members,
       b.min_depth AS min_depth, b.max_depth AS max_depth, b.about AS about, b.via AS via,
       b.source AS source, b.room AS room, b.text AS text, b.witnesses AS witnesses, b.known AS known,
       b.place AS place, b.through AS through, b.retracted AS retracted,
       'Active' IN labels(b) AS active
ORDER BY step, entity
