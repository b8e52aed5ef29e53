// Close the events whose truth a newer one replaced, so that world/truths looks at few.
//
// mode:    write
// param:   since int   the seq after which events have not been settled yet

MATCH (n:Truth) WHERE n.seq > $since
MATCH (o:Truth {entity: n.entity})
WHERE o.at < n.at OR (o.at = n.at AND o.seq < n.seq)
WITH DISTINCT o
REMOVE o:Truth
