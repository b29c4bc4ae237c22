"""What works on this machine: what every command needs (`needed`), and what only some are for (`extras`, `device`).

Nothing is loaded that may hang: a GPU is looked for in the files that its driver shows, never opened.
"""
