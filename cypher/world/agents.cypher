// Every agent of the scenario, in the order of naming.
//
// mode:    read
// returns: name str   an agent

MATCH (a:Agent) RETURN a.name AS name ORDER BY id(a)
