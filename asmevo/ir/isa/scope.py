"""Which cache bits a memory instruction takes, and how far its access reaches.

Owns the meaning of sc0, sc1 and nt (gfx942, gfx950) and of glc, slc and scc (gfx90a). It must not know order or waits: a wide
scope says which caches an access passes by, not when it is done.

Sources: CDNA3 ISA guide, "Memory Scopes and Temporal Hints"; LLVM's AMDGPU memory models of gfx90a and gfx940.
"""

from __future__ import annotations

import enum
from collections.abc import Collection

from asmevo.ir.isa.model import Access, Family, OpcodeDef, Space


class Scope(enum.IntEnum):
    """Who is sure to see the same memory as this access: all waves of the unit named. Wider ones are greater."""

    WAVE = 0
    WORKGROUP = 1
    DEVICE = 2
    SYSTEM = 3


_VECTOR = frozenset({Space.GLOBAL, Space.BUFFER, Space.FLAT, Space.SCRATCH})
_ATOMICS = frozenset({Access.ATOMIC, Access.ATOMIC_RETURN})
_LATE_BITS = frozenset({"sc0", "sc1", "nt"})
_GFX90A_BITS = frozenset({"glc", "slc", "scc"})
_WITHOUT_BITS = frozenset({"buffer_store_lds_dword"})


def scope_bits(definition: OpcodeDef, target: str) -> frozenset[str]:
    """The cache bits that may be printed with an instruction on `target`, that which makes an atomic return included.

    Empty for LDS, which has no cache, and for what touches no memory.
    """
    if definition.family is Family.SMEM:
        scalar = definition.access in (Access.LOAD, Access.STORE, Access.ATOMIC_RETURN)
        return frozenset({"glc"}) if scalar else frozenset()
    late = target != "gfx90a"
    if definition.access is Access.FENCE:
        return _LATE_BITS if late and definition.family is Family.MUBUF else frozenset()
    if definition.space not in _VECTOR or definition.mnemonic in _WITHOUT_BITS:
        return frozenset()
    bits = _LATE_BITS if late else _GFX90A_BITS
    # On an atomic the first bit means that the old value comes back: it belongs to the other form.
    return bits - {"sc0", "glc"} if definition.access is Access.ATOMIC else bits


def scope_of(definition: OpcodeDef, modifier_names: Collection[str], target: str) -> Scope | None:
    """How far an access reaches; None for what touches no memory or is no access of the wave's (fences included).

    Read-modify-write happens in the L2 cache, so an atomic reaches the device at least. On gfx90a the L1 cache is
    written through, and system scope is a property of the memory's pages, not of the instruction.
    """
    access = definition.access
    if access is None or access is Access.FENCE:
        return None
    if definition.space is Space.LDS:
        return Scope.WORKGROUP
    if definition.family is Family.SMEM:
        return Scope.DEVICE if access in _ATOMICS or "glc" in modifier_names else Scope.WAVE
    if target == "gfx90a":
        return Scope.WORKGROUP if access in (Access.LOAD, Access.LDS_DMA) and "glc" not in modifier_names else Scope.DEVICE
    if access in _ATOMICS:
        return Scope.SYSTEM if "sc1" in modifier_names else Scope.DEVICE
    return Scope(2 * ("sc1" in modifier_names) + ("sc0" in modifier_names))
