"""Judges of a change: proofs, static re-checks, differential tests. Never imports passes."""
