// Who came and went, and who read, edited or passed on what: by which one can tell why somebody did
// not take an event in.
//
// mode:    read
// param:   as_of     int   ms; later events do not count
// returns: seq       int   the event's place in the order of recording
// returns: at        int   when it happened, ms
// returns: kind      str   enter, exit, away, back, read, edit or forward
// returns: agents    list  who moved
// returns: room      str?  where
// returns: spec      list  of that room: kind, history, reads
// returns: target    int?  what was read, edited or passed on
// returns: heard     list  who heard it passed on
// returns: readers   list  who read by it

MATCH (e:Event)
WHERE e.kind IN ['enter', 'exit', 'away', 'back', 'read', 'edit', 'forward'] AND e.at <= $as_of
OPTIONAL MATCH (r:Room {name: e.room})
WITH e, r
OPTIONAL MATCH (a:Agent)-[:WITNESSED]->(e) WHERE e.kind = 'forward'
WITH e, r, collect(a.name) AS heard
OPTIONAL MATCH (b:Agent)-[:READ]->(e)
WITH e, r, heard, collect(b.name) AS readers
RETURN e.seq AS seq, e.at AS at, e.kind AS kind, e.agents AS agents, e.room AS room,
       [r.kind, coalesce(r.history, 'since_join'), coalesce(r.reads, 'at_once')] AS spec,
       e.target AS target, heard, readers
ORDER BY at, seq
