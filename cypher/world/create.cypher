// Make a scenario: one node that holds its settings and which chapter it is in.
//
// mode:    write
// param:   name    str   of the scenario
// param:   policy  str   credulous or exit-order
// param:   rooms   str   what a new room is: channel or place
// param:   history str   what of a new room a newcomer may read: none, since_join or all
// param:   reads   str   how one reads in a new room: at_once or later
// param:   format  int   version of the store's format

CREATE (:Scenario {name: $name, policy: $policy, rooms: $rooms, history: $history,
        reads: $reads, format: $format})
