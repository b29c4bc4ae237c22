"""Registers as dense unit numbers.

A unit is one 32-bit register (per lane for vector registers) or one special bit of state. Numbers follow the hardware's own
operand encoding where there is one, so that VCC, EXEC and M0 sit at 106, 126 and 124 and a VGPR at 256 + n. A set of units is
an int used as a bit mask: union, difference and membership are single operations whatever the kernel's size.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass


class RegisterFile(enum.Enum):
    """The register file a range lies in. SPECIAL covers scalar state with a name of its own (vcc, exec, m0, scc, mode)."""

    SGPR = "s"
    VGPR = "v"
    AGPR = "a"
    SPECIAL = "special"

    # Members are single objects: the plain hash is right, and much faster than the hash of a name.
    __hash__ = object.__hash__


FLAT_SCRATCH, XNACK_MASK, VCC, TTMP, M0, EXEC = 102, 104, 106, 108, 124, 126
SCC, MODE, VSKIP, HWREG, VCCZ, EXECZ = 128, 129, 130, 131, 251, 252
VGPR0, AGPR0, UNIT_COUNT = 256, 512, 768

SPECIAL_NAMES: dict[str, tuple[int, int]] = {
    "flat_scratch": (FLAT_SCRATCH, 2),
    "flat_scratch_lo": (FLAT_SCRATCH, 1),
    "flat_scratch_hi": (FLAT_SCRATCH + 1, 1),
    "xnack_mask": (XNACK_MASK, 2),
    "xnack_mask_lo": (XNACK_MASK, 1),
    "xnack_mask_hi": (XNACK_MASK + 1, 1),
    "vcc": (VCC, 2),
    "vcc_lo": (VCC, 1),
    "vcc_hi": (VCC + 1, 1),
    "m0": (M0, 1),
    "exec": (EXEC, 2),
    "exec_lo": (EXEC, 1),
    "exec_hi": (EXEC + 1, 1),
    "scc": (SCC, 1),
    "mode": (MODE, 1),
    "vskip": (VSKIP, 1),
    "hwreg": (HWREG, 1),
    "src_vccz": (VCCZ, 1),
    "src_execz": (EXECZ, 1),
    "vccz": (VCCZ, 1),
    "execz": (EXECZ, 1),
    "src_scc": (SCC, 1),
}
"""Name as printed, to (first unit, count)."""

_SPECIAL_PRINT = {
    (unit, count): name for name, (unit, count) in reversed(list(SPECIAL_NAMES.items())) if name not in ("vccz", "execz", "scc")
}


@dataclass(frozen=True, slots=True)
class RegisterRange:
    """`count` consecutive units from `unit`; all in one file."""

    unit: int
    count: int = 1

    @property
    def file(self) -> RegisterFile:
        """The file the range lies in."""
        return file_of(self.unit)

    @property
    def index(self) -> int:
        """The number as printed: 5 for v5. For specials, the unit itself."""
        unit = self.unit
        return unit - AGPR0 if unit >= AGPR0 else unit - VGPR0 if unit >= VGPR0 else unit

    @property
    def mask(self) -> int:
        """The range as a unit set."""
        return ((1 << self.count) - 1) << self.unit

    def __str__(self) -> str:
        if self.file is RegisterFile.SPECIAL:
            return _SPECIAL_PRINT.get((self.unit, self.count)) or _ttmp(self.unit, self.count)
        letter = self.file.value
        if self.count == 1:
            return f"{letter}{self.index}"
        return f"{letter}[{self.index}:{self.index + self.count - 1}]"


def _ttmp(unit: int, count: int) -> str:
    first = unit - TTMP
    return f"ttmp{first}" if count == 1 else f"ttmp[{first}:{first + count - 1}]"


def file_of(unit: int) -> RegisterFile:
    """The register file of one unit."""
    if unit >= AGPR0:
        return RegisterFile.AGPR
    if unit >= VGPR0:
        return RegisterFile.VGPR
    return RegisterFile.SGPR if unit < FLAT_SCRATCH else RegisterFile.SPECIAL


def units(mask: int) -> Iterator[int]:
    """The units of a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def unit_name(unit: int) -> str:
    """How one unit is printed: v5, s3, vcc_lo, scc."""
    return str(RegisterRange(unit, 1))


VGPR_MASK = ((1 << 256) - 1) << VGPR0
AGPR_MASK = ((1 << 256) - 1) << AGPR0
VECTOR_MASK = VGPR_MASK | AGPR_MASK
EXEC_MASK = 3 << EXEC
VCC_MASK = 3 << VCC
