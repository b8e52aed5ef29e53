// The scenario's settings, and the place its current chapter plays in.
//
// mode:    read
// returns: policy        str    credulous or exit-order
// returns: rooms         str    what a new room is: channel or place
// returns: history       str    what of a new room a newcomer may read
// returns: reads         str    how one reads in a new room: at_once or later
// returns: strict        bool   whether only what is known may be named
// returns: chapter       str?   the place of the current chapter
// returns: chapter_at    int?   when it began, ms
// returns: chapter_since int?   the seq of the event that began it

MATCH (s:Scenario)
RETURN s.policy AS policy, s.rooms AS rooms,
       coalesce(s.history, 'since_join') AS history, coalesce(s.reads, 'at_once') AS reads, coalesce(s.strict, false) AS strict,
       s.chapter AS chapter, s.chapter_at AS chapter_at, s.chapter_since AS chapter_since
