// What is so now: of each entity the newest event that set it.
//
// mode:    read
// param:   entity str?   only this entity; null: all
// returns: entity str    what
// returns: value  str?   null: it is no longer known
// returns: at     int    when it was set, ms
// returns: seq    int    the event that set it

MATCH (e:Truth)
WHERE $entity IS NULL OR e.entity = $entity
WITH e ORDER BY e.at DESC, e.seq DESC
WITH e.entity AS entity, head(collect(e)) AS e
RETURN entity, e.value AS value, e.at AS at, e.seq AS seq
ORDER BY entity
