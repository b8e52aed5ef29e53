// This mind's owner saw others talk, and heard nothing.
//
// mode:    write
// param:   step   int    which of the events that reached this mind it is
// param:   at     int    when it happened, ms
// param:   agents list   who talked
// param:   room   str?   where

CREATE (:Aside {step: $step, at: $at, agents: $agents, room: $room})
