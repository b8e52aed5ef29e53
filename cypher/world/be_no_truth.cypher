// Events that no longer are what is so of their entity.
//
// mode:    write
// param:   seqs list   the events

UNWIND $seqs AS seq
MATCH (e:Event {seq: seq})
REMOVE e:Truth
