// When this mind's owner saw others talk, oldest first.
//
// mode:    read
// param:   since  int    ms; only then or later
// returns: step   int    which of the events that reached this mind
// returns: at     int    when it happened, ms
// returns: agents list   who talked
// returns: room   str?   where

MATCH (s:Aside) WHERE s.at >= $since
RETURN s.step AS step, s.at AS at, s.agents AS agents, s.room AS room
ORDER BY at, step
