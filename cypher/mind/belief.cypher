// What one mind holds about one entity through the eyes of one chain, now: the reading rule.
//
// mode:    read
// param:   entity  str    what is asked about
// param:   rest    list   the chain without the mind's owner, outermost first
// param:   between list   rest without its last agent
// param:   last    str?   the last agent of rest, null when the owner itself is asked
// param:   depth   int    length of the whole chain
// returns: value   str?   null: unknown
// returns: at      int    when the event it is from happened, ms
// returns: step    int    which of the events that reached this mind it is from
// returns: via     str    saw, said, announced, told, reported, read or forwarded
// returns: source  str?   whose doing or saying it was
// returns: room    str?   where
// returns: text    str?   the words
// returns: through str?   who passed it on
// returns: witnesses list who took part, as it appeared to this mind

MATCH (b:Active {entity: $entity})
WHERE b.min_depth <= $depth AND (b.max_depth IS NULL OR b.max_depth >= $depth)
  AND ((b.about IS NULL AND all(a IN $rest WHERE a IN b.members))
    OR (b.about = $last AND all(a IN $between WHERE a IN b.members)))
  AND (b.retracted IS NULL OR none(r IN b.retracted WHERE all(a IN $rest WHERE a IN r)))
RETURN b.value AS value, b.at AS at, b.step AS step, b.via AS via, b.source AS source,
       b.room AS room, b.text AS text, b.through AS through,
       coalesce(b.witnesses, b.members) AS witnesses
ORDER BY at DESC, coalesce(b.place, b.step * 1000000) DESC LIMIT 1
