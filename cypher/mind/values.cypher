// What one mind believes, now, through the eyes of several chains: mind/beliefs, the values alone.
//
// mode:    read
// param:   entity  str?   only this entity; null: all
// param:   chains  list   [rest, between, last, depth] each, as in mind/belief
// returns: entity  str    what the beliefs are about
// returns: value   str    what is believed
// returns: chains  list   which of the chains believe it, from 0

MATCH (b:Active)
WHERE $entity IS NULL OR b.entity = $entity
UNWIND range(0, size($chains) - 1) AS chain
WITH b, chain, $chains[chain] AS c
WHERE b.min_depth <= c[3] AND (b.max_depth IS NULL OR b.max_depth >= c[3])
  AND ((b.about IS NULL AND all(a IN c[0] WHERE a IN b.members))
    OR (b.about = c[2] AND all(a IN c[1] WHERE a IN b.members)))
  AND (b.retracted IS NULL OR none(r IN b.retracted WHERE all(a IN c[0] WHERE a IN r)))
WITH chain, b ORDER BY b.at DESC, coalesce(b.place, b.step * 1000000) DESC
WITH chain, b.entity AS entity, head(collect(b)) AS b
WITH chain, entity, b.value AS value
WHERE value IS NOT NULL
WITH entity, value, chain ORDER BY chain
RETURN entity, value, collect(chain) AS chains ORDER BY entity, value
