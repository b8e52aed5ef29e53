// Forget to whom testimony was passed by some events, to say it anew.
//
// mode:    write
// param:   seqs list   the events

MATCH (s:Agent)-[t:TOLD]->(l:Agent)
WHERE t.seq IN $seqs
DELETE t
