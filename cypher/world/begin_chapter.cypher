// A chapter begins: agents entered a place that was empty.
//
// mode:    write
// param:   place str   where it plays
// param:   since int   the seq of the event that began it

MATCH (s:Scenario)
SET s.chapter = $place, s.chapter_since = $since
