// An agent is named for the first time.
//
// mode:    write
// param:   name str   the agent

CREATE (:Agent {name: $name})
