// What was so at an earlier time: of each entity the newest event by then that set it.
//
// mode:    read
// param:   entity str?   only this entity; null: all
// param:   as_of  int    ms; later events do not count
// returns: entity str    what
// returns: value  str?   null: it was no longer known
// returns: at     int    when it was set, ms
// returns: seq    int    the event that set it

MATCH (e:Event)
WHERE e.at <= $as_of AND e.kind IN ['state', 'say', 'announce']
  AND e.entity IS NOT NULL AND ($entity IS NULL OR e.entity = $entity)
WITH e ORDER BY e.at DESC, e.seq DESC
WITH e.entity AS entity, head(collect(e)) AS e
RETURN entity, e.value AS value, e.at AS at, e.seq AS seq
ORDER BY entity
