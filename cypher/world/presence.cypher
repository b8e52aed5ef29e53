// Who is where now.
//
// mode:    read
// returns: agent    str   who
// returns: room     str   where
// returns: since    int   the seq of the event by which it came
// returns: since_at int   when that happened, ms
// returns: away     bool  whether what happens there does not reach it

MATCH (a:Agent)-[i:IN]->(r:Room)
RETURN a.name AS agent, r.name AS room, i.since AS since, i.at AS since_at,
       coalesce(i.away, false) AS away ORDER BY since, agent
