"""Drives passes, verification and timing; keeps the lineage of accepted edits."""
