// Events that were recorded under the ids that a caller gives: the same id is recorded once.
//
// mode:    read
// param:   ids        list   ids of callers
// returns: seq        int    its place in the order of recording
// returns: at         int    when it happened, ms
// returns: kind       str    what happened: see `Event.kind`
// returns: actor      str?   who did or said it
// returns: agents     list   who moved
// returns: room       str?   where
// returns: audience   list   who was named to take it in
// returns: everyone   bool   whether it went to every agent
// returns: about      str?   whose belief was reported
// returns: entity     str?   what it is about
// returns: value      str?   the value given
// returns: located_in str?   where the entity lies since
// returns: place      bool?  whether the room was asked to be a place
// returns: text       str?   the words
// returns: id         str?   the id that the caller gave
// returns: target     int?   void: the seq of the event that never happened
// returns: distracted list?  who seemed to take it in, and did not
// returns: hidden     list?  who took it in unseen
// returns: noticed    list?  who saw them talk, and heard nothing
// returns: receipt    bool?  read: whether its witnesses saw that it was read
// returns: history    str?   enter: what a newcomer may read, as it was asked
// returns: reads      str?   enter: how one reads there, as it was asked
// returns: edits      str?   edit: of which kind the event is that it edits

UNWIND $ids AS wanted
MATCH (e:Event {id: wanted})
RETURN e.seq AS seq, e.at AS at, e.kind AS kind, e.actor AS actor, e.agents AS agents,
       e.room AS room, e.audience AS audience, e.everyone AS everyone, e.about AS about,
       e.entity AS entity, e.value AS value, e.located_in AS located_in, e.place AS place,
       e.text AS text, e.id AS id, e.target AS target, e.distracted AS distracted,
       e.hidden AS hidden, e.noticed AS noticed, e.receipt AS receipt, e.history AS history,
       e.reads AS reads, e.edits AS edits
ORDER BY at, seq
