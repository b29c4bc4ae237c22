"""Ready-made pipelines: what `O1`, `O2` and `O3` in pipeline text stand for.

Chosen by measurement; docs/passes.md has the figures and bench/passes.py makes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "O1": "waitcnt-relax,nop-trim",
        "O2": "load-hoist,waitcnt-relax,nop-trim,list-schedule,waitcnt-hoist,waitcnt-relax,nop-trim",
        "O3": "load-hoist,unroll-prefetch,waitcnt-relax,nop-trim,list-schedule,list-schedule,waitcnt-hoist,waitcnt-relax,nop-trim",
    }
)
"""Name to pipeline text. O1 takes away and moves nothing; O2 moves code; O3 also unrolls loops and schedules once more."""
