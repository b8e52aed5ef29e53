// What one mind came to hold through the eyes of several chains, oldest first: for each chain and
// entity what was added since, preceded by the one that was held until then.
//
// mode:    read
// param:   entity  str?   only this entity; null: all
// param:   chains  list   [rest, between, last, depth] each, as in mind/belief
// param:   since   int    ms; added is what happened at or after it
// param:   after   int    and is from a step of this mind above this one
// param:   as_of   int    ms; later events do not count
// returns: chain   int    which of the chains, from 0
// returns: entity  str    what the belief is about
// returns: added   bool   whether it was added since; false: it was held until then
// returns: value   str?   null: unknown
// returns: at      int    when the event it is from happened, ms
// returns: step    int    which of the events that reached this mind it is from
// returns: known   int    since when it was held, ms
// returns: place   int    where it competes among those of one moment
// returns: via     str    saw, said, announced, told, reported, read or forwarded
// returns: source  str?   whose doing or saying it was
// returns: room    str?   where
// returns: text    str?   the words
// returns: through str?   who passed it on
// returns: witnesses list who took part, as it appeared to this mind

MATCH (new:Belief)
WHERE coalesce(new.known, new.at) >= $since AND new.step > $after
  AND coalesce(new.known, new.at) <= $as_of
  AND ($entity IS NULL OR new.entity = $entity)
WITH collect(DISTINCT new.entity) AS touched
MATCH (b:Belief)
WHERE coalesce(b.known, b.at) <= $as_of AND b.entity IN touched
UNWIND range(0, size($chains) - 1) AS chain
WITH b, chain, $chains[chain] AS c
WHERE b.min_depth <= c[3] AND (b.max_depth IS NULL OR b.max_depth >= c[3])
  AND ((b.about IS NULL AND all(a IN c[0] WHERE a IN b.members))
    OR (b.about = c[2] AND all(a IN c[1] WHERE a IN b.members)))
  AND (b.retracted IS NULL OR none(r IN b.retracted WHERE r[0] <= $as_of AND all(a IN c[0] WHERE a IN r)))
WITH chain, b, coalesce(b.known, b.at) >= $since AND b.step > $after AS added
ORDER BY b.at DESC, coalesce(b.place, b.step * 1000000) DESC
WITH chain, b.entity AS entity, collect([b, added]) AS held
WITH chain, entity, [p IN held WHERE p[1]] AS new, [p IN held WHERE NOT p[1]] AS old
WHERE size(new) > 0
UNWIND new + old[0..1] AS pair
WITH chain, entity, pair[0] AS b, pair[1] AS added
RETURN chain, entity, added, b.value AS value, b.at AS at, b.step AS step,
       coalesce(b.known, b.at) AS known, coalesce(b.place, b.step * 1000000) AS place, b.via AS via,
       b.source AS source, b.room AS room, b.text AS text, b.through AS through,
       coalesce(b.witnesses, b.members) AS witnesses
ORDER BY chain, entity, known, step
