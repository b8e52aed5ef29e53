// Everyone this mind holds a belief of or with: the agents its chains can go through.
//
// mode:    read
// returns: name str   an agent

MATCH (b:Active)
UNWIND (b.members + coalesce([b.about], [])) AS name
WITH DISTINCT name WHERE name IS NOT NULL
RETURN name ORDER BY name
