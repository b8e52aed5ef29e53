// What only some events have, added to the event in the log.
//
// mode:    write
// param:   seq        int    which event
// param:   distracted list?  who seemed to take it in, and did not
// param:   hidden     list?  who took it in unseen
// param:   noticed    list?  who saw them talk, and heard nothing
// param:   receipt    bool?  read: whether its witnesses saw that it was read
// param:   history    str?   enter: what a newcomer may read, as it was asked
// param:   reads      str?   enter: how one reads there, as it was asked
// param:   edits      str?   edit: of which kind the event is that it edits

MATCH (e:Event {seq: $seq})
SET e.distracted = $distracted, e.hidden = $hidden, e.noticed = $noticed, e.receipt = $receipt,
    e.history = $history, e.reads = $reads, e.edits = $edits
