// Who was in which room from when to when.
//
// mode:    read
// param:   ended    int    ms; only stays that had not ended before this
// returns: agent    str    who
// returns: room     str    where
// returns: since    int    the seq of the event by which it came
// returns: since_at int    when that happened, ms
// returns: until    int?   the seq of the event by which it left; null: it is there
// returns: until_at int?   when that happened, ms
// returns: away     bool   whether it is there and away

MATCH (a:Agent)-[s:IN|EXITED]->(r:Room)
WITH a, r, s.since AS since, s.until AS until, s.at AS at, s.since_at AS since_at,
     coalesce(s.away, false) AS away
WHERE until IS NULL OR at >= $ended
RETURN a.name AS agent, r.name AS room, since, coalesce(since_at, at) AS since_at, until,
       CASE WHEN until IS NULL THEN NULL ELSE at END AS until_at, away
ORDER BY since_at, since, agent
