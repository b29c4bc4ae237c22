"""Ready-made pipelines: what `O1`, `O2` and `O3` in pipeline text stand for.

Chosen by measurement; docs/passes.md has the figures and `python -m bench.passes` makes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_LEAN = "waitcnt-relax,nop-trim"
_PAIRS = "unpack-f32,pack-f32"
_LAST = f"waitcnt-hoist,{_LEAN},loop-align"

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "O1": _LEAN,
        "O2": f"copy-elim,load-hoist,{_LEAN},{_PAIRS},list-schedule,{_LAST}",
        "O3": f"copy-elim,load-hoist,unroll-prefetch,{_LEAN},{_PAIRS},list-schedule,list-schedule,{_LAST}",
    }
)
"""Name to pipeline text. O1 takes away and moves nothing; O2 moves code; O3 also unrolls loops and schedules once more."""
