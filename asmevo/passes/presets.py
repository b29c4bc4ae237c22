"""Ready-made pipelines: what `O1`, `O2` and `O3` in pipeline text stand for.

Chosen by measurement; docs/passes.md has the figures and bench/passes.py makes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "O1": "dce,waitcnt-relax,nop-trim",
        "O2": "dce,waitcnt-relax,nop-trim,list-schedule,waitcnt-relax,nop-trim",
        "O3": "dce,waitcnt-relax,nop-trim,list-schedule,waitcnt-relax,nop-trim{physical=true}",
    }
)
"""Name to pipeline text. O1 takes away and moves nothing; O2 schedules what is left; O3 counts in the end the slots of a busy
matrix unit as wait states, as production code does."""
