"""A language model as a proposer: tools over one hot window, a conversation with bounds, and the wire.

What may be seen of a window: `names`, `view`. What may be done with it, shared with the MCP server: `bench`, `toolbox`,
`shorthand`, `tools`. What is said: `prompting`, `variants`. Asking a model: `wire`, `protocols`, `transport`, `sessions`,
`retrying`, `spending`. All of it together: `conversation`, `driver`, `starting`. What a model writes is data, judged like any
other proposal.
"""
