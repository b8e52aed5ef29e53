// Everything this mind holds a belief about, its own or another's.
//
// mode:    read
// returns: name str   an entity

MATCH (b:Active)
WITH DISTINCT b.entity AS name
RETURN name ORDER BY name
