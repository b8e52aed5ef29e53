"""Recording what happens from where it happens: the hosts' own hooks and callbacks.

Agents only read, and nobody remembers to call a tool at the right moment. So each host has a small
module here that turns what it reports into events (`messages` is what they share):

| host | module | how it hears |
|---|---|---|
| Claude Code | `claude_code` | hooks: ``so-mcp hook install claude-code`` |
| LangGraph | `langgraph` | a callback handler: ``config={"callbacks": [...]}`` |
| OpenAI Agents SDK | `openai_agents` | ``Runner.run(..., hooks=...)`` |
| AutoGen | `autogen` | around ``team.run_stream(...)`` |

What they hear goes into a `spool.Spool`, a folder, and from there into the store; so a store that
is slow or missing costs the host nothing. Frameworks are imported by their module alone.
"""
