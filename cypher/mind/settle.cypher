// Close beliefs that a newer one of the same entity covers entirely: keep the frontier small.
// It is an index of what the reading rule can still reach, kept lazily: answers are the same
// before and after. A closed belief stays, with what replaced it.
//
// mode:    write
// param:   since int   the step after which beliefs have not been settled yet

MATCH (n:Active) WHERE n.step > $since
WITH n
MATCH (o:Active {entity: n.entity})
WHERE (o.at < n.at OR (o.at = n.at
    AND coalesce(o.place, o.step * 1000000) < coalesce(n.place, n.step * 1000000)))
  AND n.retracted IS NULL AND n.min_depth <= o.min_depth
  AND (n.max_depth IS NULL OR n.max_depth >= o.max_depth)
  AND size(o.members) <= size(n.members)
  AND (o.members = n.members OR all(m IN o.members WHERE m IN n.members))
  AND (n.about IS NULL AND (o.about IS NULL OR o.about IN n.members) OR n.about = o.about)
WITH o, n ORDER BY n.at, coalesce(n.place, n.step * 1000000)
WITH o, collect(n) AS newer
REMOVE o:Active
SET o.until = head(newer).at
FOREACH (n IN newer | CREATE (n)-[:REPLACED]->(o))
