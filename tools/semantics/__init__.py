"""Writes docs/semantics.md: which opcodes have a meaning, of which kind, and why the others have none."""
