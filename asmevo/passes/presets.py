"""Ready-made pipelines: what `O1`, `O2` and `O3` in pipeline text stand for.

Chosen by measurement; docs/passes.md has the figures and bench/passes.py makes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LEAN = "waitcnt-relax,nop-trim"

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "O1": _LEAN,
        "O2": f"load-hoist,{_LEAN},list-schedule,waitcnt-hoist,{_LEAN}",
        "O3": f"load-hoist,unroll-prefetch,{_LEAN},list-schedule,list-schedule,waitcnt-hoist,{_LEAN}",
    }
)
"""Name to pipeline text. O1 takes away and moves nothing; O2 moves code; O3 also unrolls loops and schedules once more."""
