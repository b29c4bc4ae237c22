"""Local equivalence: straight-line windows executed symbolically and compared, z3 for what is not the same term."""

from asmevo.verify.equivalence.edited import EditedWindow, edited_windows
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.equivalence.window import prove_window

__all__ = ["EditedWindow", "edited_windows", "prove_kernel", "prove_window"]
