// Testimony passed from one agent to others: the edges along which a story is traced back.
//
// mode:    write
// param:   speaker   str    who told it
// param:   listeners list   [agent, whether it believed the speaker] each
// param:   seq       int    the event by which it was told
// param:   at        int    when that happened, ms
// param:   entity    str    what it was about
// param:   value     str?   the value told; null: it was forgotten
// param:   public    bool   whether it was told to a room or to everyone

MATCH (s:Agent {name: $speaker})
UNWIND $listeners AS heard
MATCH (l:Agent {name: heard[0]})
CREATE (s)-[:TOLD {seq: $seq, at: $at, entity: $entity, value: $value, public: $public,
        trusted: heard[1]}]->(l)
