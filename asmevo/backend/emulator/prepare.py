"""A kernel ready to run: its decoded operations as one array that native code walks.

Owns the array, the constants it points to, and the memory of prepared kernels. What one instruction becomes is in `decode`.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import hwreg, layout
from asmevo.backend.emulator.decode import decode
from asmevo.backend.emulator.layout import OP, STATE
from asmevo.backend.emulator.native import native
from asmevo.diagnostics import fail
from asmevo.ir.instruction import Immediate, Instruction, Symbolic
from asmevo.ir.kernel import Kernel
from asmevo.ir.registers import AGPR0, VGPR0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel ready to run: `ops` shape (n,) OP records, `pool` its constants, `starts` labels to operation numbers.

    `problems` gives, for operations that cannot run, why. `units` keeps the memory alive that `ops` points into.
    """

    kernel: Kernel
    ops: npt.NDArray[np.void]
    units: npt.NDArray[np.uint8]
    pool: npt.NDArray[np.uint64]
    instructions: tuple[Instruction, ...]
    starts: dict[str, int]
    problems: dict[int, str]
    approximate: npt.NDArray[np.bool_]
    rows: tuple[int, int]
    """VGPRs and AGPRs from 0 that operations name."""
    serial: bool
    """Work-groups must run one after another: global atomics or the clock make them depend on each other's order."""


def compiled_handlers() -> int:
    """How many native objects this process had to compile: neither known to it nor in the disk cache."""
    return native().built


_prepared: OrderedDict[tuple[int, bool], Prepared] = OrderedDict()
_PREPARED_LIMIT = 32
_ALL_LANES = (1 << layout.LANES) - 1


def prepare(kernel: Kernel, strict: bool = True) -> Prepared:
    """Decodes every instruction for strict or fast runs; unsupported ones become operations that fault when they are reached.

    Kernels are remembered by identity: to hash one costs as much as to decode it. E0302 on a branch to an unknown label.
    """
    key = (id(kernel), strict)
    found = _prepared.get(key)
    if found is None or found.kernel is not kernel:
        found = _prepared[key] = _prepare(kernel, strict)
        if len(_prepared) > _PREPARED_LIMIT:
            _prepared.popitem(last=False)
    return found


def _prepare(kernel: Kernel, strict: bool) -> Prepared:
    instructions = tuple(kernel.instructions())
    starts: dict[str, int] = {}
    count = 0
    for block in kernel.blocks:
        starts[block.label] = count
        count += len(block.instructions)
    rounds = _may_round(kernel)
    decoded = [decode(i, strict, kernel.target, rounds) for i in instructions]
    pool: dict[int, int] = {}
    ops = np.zeros(count, OP)
    slots = np.zeros((count, layout.SLOTS), np.uint32)
    immediates = np.zeros((count, layout.IMMEDIATES), np.uint64)
    problems: dict[int, str] = {}
    targets = np.zeros(count, np.uint32)
    for n, d in enumerate(decoded):
        for k, slot in enumerate(d.slots):
            slots[n, k] = slot if slot >= 0 else STATE.itemsize + 8 * pool.setdefault(d.constants[-1 - slot], len(pool))
        if d.immediates:
            immediates[n, : len(d.immediates)] = d.immediates
        if d.problem is not None:
            problems[n] = d.problem
        if d.label is not None:
            if d.label not in starts:
                fail("E0302", f"kernel '{kernel.name}' branches to unknown label '{d.label}'", instructions[n].span)
            targets[n] = starts[d.label]
    joined = np.frombuffer(b"".join(d.units for d in decoded) or b"\0\0", np.uint8).copy()
    lengths = np.array([0, *(len(d.units) for d in decoded)], np.uint64).cumsum()
    ops["handler"] = [d.handler for d in decoded]
    ops["units"] = lengths[:-1] + np.uint64(joined.ctypes.data)
    ops["reads"] = [d.reads for d in decoded]
    ops["writes"] = [d.writes for d in decoded]
    ops["marks"] = [d.marks for d in decoded]
    ops["flags"] = [d.flags for d in decoded]
    ops["vector"] = [d.vector for d in decoded]
    ops["coherent"] = [layout.COHERENT if d.coherent else 0 for d in decoded]
    ops["in_order"] = [d.in_order for d in decoded]
    ops["ignored"] = [0 if d.whole else _ALL_LANES for d in decoded]
    ops["uid"] = [i.uid for i in instructions]
    ops["target"] = targets
    ops["slot"] = slots
    ops["imm"] = immediates
    constants = np.array(list(pool) or [0], np.uint64)
    approximate = np.array([d.approximate for d in decoded], np.bool_)
    serial = any(d.serial for d in decoded)
    return Prepared(kernel, ops, joined, constants, instructions, starts, problems, approximate, _rows(joined), serial)


def _rows(units: npt.NDArray[np.uint8]) -> tuple[int, int]:
    named = units.view(np.uint16) & layout.UNIT_BITS
    vector = named[(named >= VGPR0) & (named < AGPR0)]
    accumulators = named[named >= AGPR0]
    return int(vector.max(initial=VGPR0 - 1)) + 1 - VGPR0, int(accumulators.max(initial=AGPR0 - 1)) + 1 - AGPR0


def _may_round(kernel: Kernel) -> bool:
    """Whether MODE's rounding fields may ever hold something else than to nearest even."""
    if kernel.descriptor is not None and kernel.descriptor.mode & layout.MODE_ROUND:
        return True
    return any(i.mnemonic.startswith("s_setreg") and _sets_rounding(i) for i in kernel.instructions())


def _sets_rounding(i: Instruction) -> bool:
    """Whether an s_setreg may write a rounding field with something else than 0."""
    field = next((hwreg.field(o.text) for o in i.operands if isinstance(o, Symbolic)), None)
    if field is None:
        return True
    number, low, size = field
    given = next((o.value for o in i.operands if isinstance(o, Immediate)), (1 << size) - 1)
    return number == hwreg.MODE_NUMBER and bool((given & (1 << size) - 1) << low & layout.MODE_ROUND)
