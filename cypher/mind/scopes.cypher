// Everything in a mind that an answer can still come from, newest first: what is believed, and over whom.
//
// mode:    read
// param:   entity    str?   only this entity; null: all
// param:   among     list   the agents that are asked about
// returns: entity    str    what the belief is about
// returns: value     str?   null: unknown
// returns: members   list   the scope: which of those agents are in the circle
// returns: min_depth int    the scope: shortest chain
// returns: max_depth int?   the scope: longest chain, null: any
// returns: about     str?   the scope: only chains that end in this agent
// returns: retracted list   of those agents, circles for whose chains it does not count

MATCH (b:Active)
WHERE $entity IS NULL OR b.entity = $entity
WITH b ORDER BY b.at DESC, coalesce(b.place, b.step * 1000000) DESC
RETURN b.entity AS entity, b.value AS value, [m IN b.members WHERE m IN $among] AS members,
       b.min_depth AS min_depth, b.max_depth AS max_depth, b.about AS about,
       [r IN coalesce(b.retracted, []) | [m IN r WHERE m IN $among]] AS retracted
