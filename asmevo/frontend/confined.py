"""Foreign code run in a forked child that may not open files nor use much time or memory.

LLVM's assembler obeys its source: `.incbin "/etc/passwd"` reads a file, `.rept` and `.zero` take any count, and nested macros
can run for ever. Owns the child and its limits, and nothing of what runs in it.
"""

from __future__ import annotations

import faulthandler
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

_MEMORY_BYTES = 1 << 30
_CHUNK = 1 << 20
_CAME_THROUGH = 0


class ConfinedError(Exception):
    """The child was stopped: by a crash, or at a limit."""


def run_confined(run: Callable[[], bytes], cpu_seconds: int) -> bytes:
    """Return what `run` returns in a forked child with 1 GiB more memory, `cpu_seconds` of CPU time, and no file to open.

    The caller must hold every lock that `run` needs, and have loaded every library. Raises ConfinedError when the child ends
    in any other way than by returning.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_and_exit(run, writing, cpu_seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        result = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != _CAME_THROUGH:
        raise ConfinedError(f"it crashed, or took more than 1 GiB of memory or {cpu_seconds} s")
    return result


def _run_and_exit(run: Callable[[], bytes], pipe: int, cpu_seconds: int) -> NoReturn:
    # Nothing of the parent's may run on here: no handlers, no buffers, no core file.
    status = 1
    try:
        faulthandler.disable()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 2)
        _limit(cpu_seconds)
        data = run()
        for start in range(0, len(data), _CHUNK):
            os.write(pipe, data[start : start + _CHUNK])
        status = _CAME_THROUGH
    finally:
        os._exit(status)


def _limit(cpu_seconds: int) -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + cpu_seconds
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, pages * resource.getpagesize() + _MEMORY_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        # A limit that the user's shell has set may be lower, and cannot be raised.
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
