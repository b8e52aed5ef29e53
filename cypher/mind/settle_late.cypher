// Close beliefs that came late, where a newer one of the same entity covers them entirely.
//
// mode:    write
// param:   steps list   the steps that they are from

MATCH (o:Active) WHERE o.step IN $steps
WITH o
MATCH (n:Active {entity: o.entity})
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
