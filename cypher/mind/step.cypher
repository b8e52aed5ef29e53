// The mind's own number of the newest event that left something in it, or took something away; what
// tells it is never settled away.
//
// mode:    read
// returns: step int   0 for an empty mind

OPTIONAL MATCH (b:Active)
WITH coalesce(max(b.step), 0) AS left
OPTIONAL MATCH (b:Belief) WHERE b.retracted IS NOT NULL
UNWIND coalesce(b.retracted, [[0, 0]]) AS r
WITH left, max(r[1]) AS taken
RETURN CASE WHEN taken > left THEN taken ELSE left END AS step
