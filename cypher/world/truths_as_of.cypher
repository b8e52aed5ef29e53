// What was so at an earlier time: of each entity the newest event that had set it by then, but for
// those that had been retracted.
//
// mode:    read
// param:   entity str?   only this entity; null: all
// param:   as_of  int    ms; later events do not count
// returns: entity str    what
// returns: value  str?   null: it was no longer known
// returns: at     int    when it was set, ms
// returns: seq    int    the event that set it

OPTIONAL MATCH (r:Event)
WHERE r.kind = 'retract' AND r.at <= $as_of AND ($entity IS NULL OR r.entity = $entity)
WITH collect(r.target) AS retracted
MATCH (e:Event)
WHERE e.at <= $as_of AND (e.kind IN ['state', 'say', 'announce']
    OR e.edits IN ['state', 'say', 'announce'])
  AND e.entity IS NOT NULL AND ($entity IS NULL OR e.entity = $entity)
  AND NOT e.seq IN retracted
WITH e ORDER BY e.at DESC, e.seq DESC
WITH e.entity AS entity, head(collect(e)) AS e
RETURN entity, e.value AS value, e.at AS at, e.seq AS seq
ORDER BY entity
