"""Proposing a launch file: what the kernarg segment holds, what a probing run shows, and a text that a person completes.

`slots` reads metadata and code, `probe` runs the kernel on arenas that grow, `explore` looks for a launch that runs and varies
one scalar at a time, `types` guesses element types, `proposal` makes the launch and `text` writes it.
"""
