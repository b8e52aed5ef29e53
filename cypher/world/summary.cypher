// A scenario in a line: its settings, and how much there is of it.
//
// mode:    read
// returns: policy    str    credulous or exit-order
// returns: rooms     str    what a new room is: channel or place
// returns: history       str    what of a new room a newcomer may read
// returns: reads         str    how one reads in a new room: at_once or later
// returns: strict    bool   whether only what is known may be named
// returns: agents    int    how many
// returns: entities  int    how many
// returns: events    int    how many
// returns: newest_at int?   when the newest event happened, ms

MATCH (s:Scenario)
OPTIONAL MATCH (a:Agent)
WITH s, count(a) AS agents
OPTIONAL MATCH (n:Entity)
WITH s, agents, count(n) AS entities
OPTIONAL MATCH (e:Event)
RETURN s.policy AS policy, s.rooms AS rooms,
       coalesce(s.history, 'since_join') AS history, coalesce(s.reads, 'at_once') AS reads, coalesce(s.strict, false) AS strict, agents, entities,
       count(e) AS events, max(e.at) AS newest_at
