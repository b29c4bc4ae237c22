"""Runs compiled kernels on the host: call-threaded native handlers made from the opcodes' semantics.

`run` executes one dispatch; `prepare` decodes a kernel beforehand; `compiled_handlers` counts native compilations.
"""

from asmevo.backend.emulator.engine import run
from asmevo.backend.emulator.prepare import Prepared, compiled_handlers, prepare

__all__ = ["Prepared", "compiled_handlers", "prepare", "run"]
