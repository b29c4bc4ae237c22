"""What registers hold where waves start, as far as descriptor and metadata tell, with the assumptions that this rests on.

Owns the launch facts that value analyses start from. Source: LLVM AMDGPUUsage, initial kernel execution state (user SGPRs in
the order of the enable bits, preloaded kernel arguments, work-group ids; v0 = x | y << 10 | z << 20).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.values.domain import Domain
from asmevo.ir.analysis.values.value import LANES, Kind, Symbol, Value, concrete, of_symbol
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import EXEC, VGPR0

_MAX_WORKGROUP = 1024
_POINTER_BITS = 48
_USER_REGISTERS = ((0, "private segment buffer", 4), (1, "dispatch packet", 2), (2, "queue", 2), (3, "kernarg", 2),
                   (4, "dispatch id", 2), (5, "flat scratch", 2), (6, "private segment size", 1))  # fmt: skip
"""(bit of kernel_code_properties, what, registers), in their order."""

ASSUME_LANES = "values describe lanes that the launch fills; EXEC at entry has just these"
ASSUME_LINEAR = "work-items are numbered along x alone, 64 to a wave"
ASSUME_POINTERS = f"global pointers have {_POINTER_BITS} bits"
ASSUME_ABI = "without a descriptor s[0:1] holds the kernarg address and s2, s3, s4 the work-group ids"


@dataclass(frozen=True, slots=True)
class Kernargs:
    """The kernarg segment as symbols: eight-byte arguments are one symbol, all else is dwords."""

    arguments: tuple[KernelArgument, ...]
    symbols: dict[tuple[int, int], Symbol]

    def dword(self, domain: Domain, offset: int) -> Value:
        """The dword at a byte offset."""
        for argument in self.arguments:
            if argument.size == 8 and argument.offset <= offset < argument.offset + 8 and not (offset - argument.offset) % 4:
                return domain.extract(
                    of_symbol(self._symbol(argument.offset, 8, argument), 64), 8 * (offset - argument.offset), 32
                )
        return of_symbol(self._symbol(offset, 4, self.at(offset)), 32)

    def at(self, offset: int) -> KernelArgument | None:
        """The argument that holds the byte."""
        return next((a for a in self.arguments if a.offset <= offset < a.offset + max(a.size, 1)), None)

    def _symbol(self, offset: int, size: int, argument: KernelArgument | None) -> Symbol:
        symbol = self.symbols.get((offset, size))
        if symbol is None:
            pointer = size == 8 and argument is not None and argument.value_kind == "global_buffer"
            high = (1 << (_POINTER_BITS if pointer else 8 * size)) - 1
            symbol = Symbol(Kind.KERNARG, f"kernarg[{offset:#x}]", 0, high, False, 0, offset)
            self.symbols[offset, size] = symbol
        return symbol


@dataclass(frozen=True, slots=True)
class Entry:
    """Registers at entry: `pairs` are 64-bit values by their low unit, `singles` 32-bit ones, the rest is unknown."""

    singles: dict[int, Value]
    pairs: dict[int, Value]
    kernargs: Kernargs
    kernarg_base: Symbol
    exec_symbol: Symbol
    preloads: tuple[tuple[int, int], ...]
    """(unit, byte offset in the kernarg segment) of preloaded arguments."""
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, kernel: Kernel, domain: Domain) -> Entry:
        """The state at entry of `kernel`."""
        descriptor, metadata = kernel.descriptor, kernel.metadata
        kernargs = Kernargs(metadata.arguments if metadata is not None else (), {})
        base = Symbol(Kind.KERNARG_BASE, "kernarg", 0, (1 << _POINTER_BITS) - 1, False, 4)
        lanes = Symbol(Kind.ENTRY, "exec at entry", None, None, False, 0, EXEC)
        singles: dict[int, Value] = {}
        # Waves are filled from lane 0 on, so that lane is always there.
        pairs: dict[int, Value] = {EXEC: of_symbol(lanes, 64)._replace(ones=1, low=1)}
        preloads: list[tuple[int, int]] = []
        assumptions = [ASSUME_LANES]
        if any(a.value_kind == "global_buffer" for a in kernargs.arguments):
            assumptions.append(ASSUME_POINTERS)
        at = 0
        if descriptor is None:
            assumptions.append(ASSUME_ABI)
            pairs[0] = of_symbol(base, 64)
            at, axes = 2, 7
        else:
            for bit, what, count in _USER_REGISTERS:
                if descriptor.properties >> bit & 1:
                    if what == "kernarg":
                        pairs[at] = of_symbol(base, 64)
                    at += count
            for n in range(descriptor.preload_dwords):
                offset = 4 * (descriptor.preload_offset_dwords + n)
                singles[at] = kernargs.dword(domain, offset)
                preloads.append((at, offset))
                at += 1
            at, axes = descriptor.user_sgpr_count, descriptor.rsrc2 >> 7 & 7
            singles = {unit: value for unit, value in singles.items() if unit < at}
            pairs = {unit: value for unit, value in pairs.items() if unit + 1 < at or unit == EXEC}
        for axis, name in enumerate("xyz"):
            if axes >> axis & 1:
                singles[at] = of_symbol(Symbol(Kind.WORKGROUP, f"workgroup_{name}", 0, (1 << 32) - 1, False, 0, axis), 32)
                at += 1
        limit = _MAX_WORKGROUP
        if metadata is not None and metadata.max_flat_workgroup_size:
            limit = min(metadata.max_flat_workgroup_size, limit)
        dimensions = descriptor.rsrc2 >> 11 & 3 if descriptor is not None else 0
        singles[VGPR0] = _workitem(domain, limit, dimensions)
        if not dimensions:
            assumptions.append(ASSUME_LINEAR)
        return cls(singles, pairs, kernargs, base, lanes, tuple(preloads), tuple(assumptions))


def _workitem(domain: Domain, limit: int, dimensions: int) -> Value:
    """The value of v0. With one dimension the lane and the wave tell it; the shape of more dimensions is the launch's."""
    if not dimensions:
        lane = concrete(32, np.arange(LANES, dtype=np.int64))
        waves = -(-limit // LANES)
        if waves <= 1:
            return lane
        wave = of_symbol(Symbol(Kind.WAVE, "wave", 0, waves - 1), 32)
        return domain.add(domain.shift_left(wave, 6), lane)
    value = of_symbol(Symbol(Kind.WORKITEM, "workitem_x", 0, limit - 1, True, 0, 0), 32)
    for axis in range(1, min(dimensions, 2) + 1):
        item = Symbol(Kind.WORKITEM, f"workitem_{'xyz'[axis]}", 0, limit - 1, True, 0, axis)
        value = domain.add(value, domain.shift_left(of_symbol(item, 32), 10 * axis))
    return value
