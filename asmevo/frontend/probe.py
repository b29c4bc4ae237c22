"""Trying foreign code in a forked child first, because it may crash.

LLVM's AMDGPU disassembler dereferences a null pointer when it wants to comment on bytes that are almost an instruction (an
operand out of range, a literal where none may stand). Files are not trusted, and a crash cannot be caught in the process
that suffers it. Owns the child and nothing of what runs in it.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import resource
import struct
from collections.abc import Callable

_PLACE = struct.Struct("<Q")


def crash_place(run: Callable[[Callable[[int], None]], None]) -> int | None:
    """Run `run` in a forked child; return the number it last reported when a signal killed it, None when it came through.

    The caller must hold every lock that `run` needs. `run` gets the function to report with, and must not use threads or
    write files. An exception in the child counts as coming through: it will happen in the caller again.
    """
    with mmap.mmap(-1, _PLACE.size) as shared:
        child = os.fork()
        if child == 0:
            _run_and_exit(run, shared)
        _, status = os.waitpid(child, 0)
        (place,) = _PLACE.unpack(shared[: _PLACE.size])
    return place if os.WIFSIGNALED(status) else None


def _run_and_exit(run: Callable[[Callable[[int], None]], None], shared: mmap.mmap) -> None:
    # Nothing of the parent's may run on here: no handlers, no buffers, no core file.
    try:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        run(lambda place: _PLACE.pack_into(shared, 0, place))
    finally:
        os._exit(0)
