"""Python's cyclic garbage collector, kept out of the way of work on one input.

Owns nothing else. Reference counts free almost all that such work makes; what is left waits for the collector's next run.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_MUCH_KEPT = 1 << 20
"""Objects made since the last collection and still there: what some 30 kernels leave to be remembered."""


def collector_off() -> None:
    """Keep the collector off from now on, in a process that does one input after another: to be called before each.

    It runs here when much has been kept since it last did.
    """
    gc.disable()
    if gc.get_count()[0] > _MUCH_KEPT:
        gc.collect()


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
