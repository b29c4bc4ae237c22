"""Wait states: pending hazards over all paths."""
