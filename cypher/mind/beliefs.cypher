// What one mind holds, now, through the eyes of several chains: for each chain and entity the newest.
//
// mode:    read
// param:   entity  str?   only this entity; null: all
// param:   chains  list   [rest, between, last, depth] each, as in mind/belief
// returns: chain   int    which of the chains, from 0
// returns: entity  str    what the belief is about
// returns: value   str?   null: unknown
// returns: at      int    when the event it is from happened, ms
// returns: step    int    which of the events that reached this mind it is from
// returns: via     str    saw, said, announced, told, reported, read or forwarded
// returns: source  str?   whose doing or saying it was
// returns: room    str?   where
// returns: text    str?   the words
// returns: through str?   who passed it on
// returns: witnesses list who took part, as it appeared to this mind

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
RETURN chain, entity, b.value AS value, b.at AS at, b.step AS step, b.via AS via,
       b.source AS source, b.room AS room, b.text AS text, b.through AS through,
       coalesce(b.witnesses, b.members) AS witnesses
ORDER BY chain, entity
