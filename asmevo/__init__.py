"""AsmEvo: makes compiled AMD GPU kernels faster and shows that they still do the same."""

__version__ = "0.1.0"
