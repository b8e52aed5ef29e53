// The place that the current chapter plays in, and since when.
//
// mode:    write
// param:   place str?  where it plays; null: there is none
// param:   at    int?  when it began, ms
// param:   since int?  the seq of the event that began it

MATCH (s:Scenario)
SET s.chapter = $place, s.chapter_at = $at, s.chapter_since = $since
