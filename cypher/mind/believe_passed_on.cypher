// mind/believe_all where some of the beliefs were passed on, read later or retracted. Not one query:
// the names of properties show in a mind, so one that holds nothing of it must not know them.
//
// mode:    write
// param:   beliefs  list   [step, at, entity, value, members, min_depth, max_depth, about, via, source, room, text, witnesses, known, place, through, retracted] each
// param:   replaced list   [number of the newer, number of the older it covers] each, from 0

UNWIND $beliefs AS b
CREATE (n:Belief:Active {entity: b[2], value: b[3], members: b[4], min_depth: b[5],
        max_depth: b[6], about: b[7], at: b[1], step: b[0], via: b[8], source: b[9], room: b[10],
        text: b[11], witnesses: b[12], known: b[13], place: b[14], through: b[15],
        retracted: b[16]})
WITH collect(n) AS made
UNWIND $replaced AS pair
WITH made[pair[0]] AS newer, made[pair[1]] AS older
REMOVE older:Active
SET older.until = newer.at
CREATE (newer)-[:REPLACED]->(older)
