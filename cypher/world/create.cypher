// Make a scenario: one node that holds its settings and which chapter it is in.
//
// mode:    write
// param:   name    str   of the scenario
// param:   policy  str   credulous or exit-order
// param:   rooms   str   what a new room is: channel or place
// param:   format  int   version of the store's format

CREATE (:Scenario {name: $name, policy: $policy, rooms: $rooms, format: $format})
