"""The immediate byte offsets that each encoding family has room for.

Source: AMD CDNA3 ISA guide, microcode formats.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family

_OFFSETS: dict[Family, range] = {
    Family.DS: range(1 << 16),
    Family.MUBUF: range(1 << 12),
    Family.MTBUF: range(1 << 12),
    Family.FLAT: range(1 << 12),
    Family.GLOBAL: range(-(1 << 12), 1 << 12),
    Family.SCRATCH: range(-(1 << 12), 1 << 12),
    Family.SMEM: range(-(1 << 20), 1 << 20),
}


def offset_range(family: Family) -> range | None:
    """The byte offsets an instruction of this family can encode; None when it has no offset field.

    LLVM truncates buffer offsets silently, so nothing later would notice one that does not fit.
    """
    return _OFFSETS.get(family)
