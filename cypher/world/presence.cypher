// Who is where now.
//
// mode:    read
// returns: agent    str   who
// returns: room     str   where
// returns: since    int   the seq of the event by which it came
// returns: since_at int   when that happened, ms

MATCH (a:Agent)-[i:IN]->(r:Room)
RETURN a.name AS agent, r.name AS room, i.since AS since, i.at AS since_at ORDER BY since, agent
