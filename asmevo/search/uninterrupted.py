"""Steps that Ctrl-C may come before or behind, never into: what is on the disk and what is in memory must agree."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Generator[None, None, None]:
    """Puts off a KeyboardInterrupt until the block has ended. Other threads get none anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def later(number: int, frame: object) -> None:
        del frame
        came.append(number)

    before = signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if came:
        raise KeyboardInterrupt
