// Who was where since an event: every stay that had not ended before or by it.
//
// mode:    read
// param:   after int   the seq of the event
// returns: agent str   who
// returns: room  str   where
// returns: since int   the seq of the event by which it came
// returns: until int?  the seq of the event by which it left; null: it is there still

MATCH (a:Agent)-[s:IN|EXITED]->(r:Room)
WHERE s.until IS NULL OR s.until > $after
RETURN a.name AS agent, r.name AS room, s.since AS since, s.until AS until
ORDER BY since, agent
