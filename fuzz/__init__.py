"""Mutated inputs for every reader of what AsmEvo does not trust.

`python -m fuzz` runs it; README.md says what counts as a fault. Nothing here is part of the package or its wheel.
"""
