"""The block graph: flow, loops, dominance."""
