// Refuse events that make a name, or take them again.
//
// mode:    write
// param:   strict bool   true: only what is known may be named

MATCH (s:Scenario)
SET s.strict = $strict
