"""The bench of the passes: `python -m bench.passes`."""
