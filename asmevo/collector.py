"""Python's cyclic garbage collector, kept out of the way of work on one input.

Owns nothing else. Reference counts free almost all that such work makes; what is left waits for the collector's next run.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None, None, None]:
    """Keep the collector from running: it takes a third of reading or analysing an object and finds next to nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
