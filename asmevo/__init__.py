"""AsmEvo: makes compiled AMD GPU kernels faster and shows that they still do the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asmevo.api import LoadedKernel, LoadedObject, OptimisedKernel, load

__version__ = "0.1.0"

__all__ = ["LoadedKernel", "LoadedObject", "OptimisedKernel", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Give the names of `asmevo.api` when they are first asked for: importing the package loads nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'asmevo' has no attribute '{name}'")
    from asmevo import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
