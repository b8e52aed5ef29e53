// A mind as it can be drawn: every belief with its scope, and which older ones it replaced.
//
// mode:    read
// returns: id        int    the node
// returns: active    bool   an answer can still come from it
// returns: replaced  list   the nodes of older beliefs that it covers entirely
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
// returns: until     int?   when a newer belief came that covers it, ms

MATCH (b:Belief)
OPTIONAL MATCH (b)-[:REPLACED]->(o:Belief)
WITH b, collect(id(o)) AS replaced
RETURN id(b) AS id, 'Active' IN labels(b) AS active, replaced, b.step AS step, b.at AS at,
       b.entity AS entity, b.value AS value, b.members AS members, b.min_depth AS min_depth,
       b.max_depth AS max_depth, b.about AS about, b.via AS via, b.source AS source,
       b.room AS room, b.text AS text, b.witnesses AS witnesses, b.known AS known,
       b.place AS place, b.through AS through, b.retracted AS retracted, b.until AS until
ORDER BY step, id
