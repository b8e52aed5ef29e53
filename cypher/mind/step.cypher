// The mind's own number of the newest event that left something in it; it is never settled away.
//
// mode:    read
// returns: step int   0 for an empty mind

MATCH (b:Active)
RETURN coalesce(max(b.step), 0) AS step
