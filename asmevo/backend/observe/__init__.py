"""Looking at an emulated run from inside: traces, stops, memory accesses with their addresses.

`watch` puts calls before chosen operations, `accesses` tells which bytes a memory operation touches, the rest are observers
made of both. Nothing here changes what a run computes.
"""
