"""Wait counters: what is outstanding, which waits are needed."""
