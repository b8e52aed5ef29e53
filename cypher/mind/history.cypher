// What one mind came to hold through the eyes of several chains, oldest first: for each chain and
// entity what was added since, preceded by what was held until then: the newest, and what was
// retracted since.
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
// returns: gone    list?  since when it was retracted for the chain, ms, and in which step
// returns: via     str    saw, said, announced, told, reported, read or forwarded
// returns: source  str?   whose doing or saying it was
// returns: room    str?   where
// returns: text    str?   the words
// returns: through str?   who passed it on
// returns: witnesses list who took part, as it appeared to this mind

MATCH (new:Belief)
WHERE coalesce(new.known, new.at) <= $as_of AND ($entity IS NULL OR new.entity = $entity)
  AND ((coalesce(new.known, new.at) >= $since AND new.step > $after)
    OR any(r IN coalesce(new.retracted, []) WHERE r[0] >= $since AND r[1] > $after))
WITH collect(DISTINCT new.entity) AS touched
MATCH (b:Belief)
WHERE coalesce(b.known, b.at) <= $as_of AND b.entity IN touched
UNWIND range(0, size($chains) - 1) AS chain
WITH b, chain, $chains[chain] AS c
WHERE b.min_depth <= c[3] AND (b.max_depth IS NULL OR b.max_depth >= c[3])
  AND ((b.about IS NULL AND all(a IN c[0] WHERE a IN b.members))
    OR (b.about = c[2] AND all(a IN c[1] WHERE a IN b.members)))
WITH chain, b, coalesce(b.known, b.at) AS known,
     [r IN coalesce(b.retracted, []) WHERE r[0] <= $as_of AND all(a IN c[0] WHERE a IN r)] AS out
WITH chain, b, known, known >= $since AND b.step > $after AS added, out,
     reduce(first = out[0], r IN out |
       CASE WHEN r[0] < first[0] OR (r[0] = first[0] AND r[1] < first[1]) THEN r ELSE first END) AS gone
WHERE gone IS NULL
   OR (all(r IN out WHERE r[0] >= $since AND r[1] > $after) AND (gone[0] > known OR NOT added))
WITH chain, b, added, gone ORDER BY b.at DESC, coalesce(b.place, b.step * 1000000) DESC
WITH chain, b.entity AS entity, collect([b, added, gone]) AS held
WITH chain, entity, [p IN held WHERE p[1]] AS new, [p IN held WHERE NOT p[1] AND p[2] IS NULL] AS old,
     [p IN held WHERE NOT p[1] AND p[2] IS NOT NULL] AS taken
WHERE size(new) > 0 OR size(taken) > 0
UNWIND new + taken + old[0..1] AS held
WITH chain, entity, held[0] AS b, held[1] AS added, held[2] AS gone
RETURN chain, entity, added, b.value AS value, b.at AS at, b.step AS step,
       coalesce(b.known, b.at) AS known, coalesce(b.place, b.step * 1000000) AS place,
       gone[0..2] AS gone, b.via AS via, b.source AS source, b.room AS room, b.text AS text,
       b.through AS through, coalesce(b.witnesses, b.members) AS witnesses
ORDER BY chain, entity, known, step
