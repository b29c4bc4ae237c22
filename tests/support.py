"""Paths and helpers that several test modules use."""

from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SHIPPED = sorted(path.stem for path in (EXAMPLES / "kernels").glob("*.co"))
