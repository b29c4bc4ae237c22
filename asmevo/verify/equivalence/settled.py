"""Which differences of two runs count: those that rest on documented bits only.

Owns that judgement. A difference that rests on bits nobody documents (approximate operations, payloads of NaNs, the order of
signed zeros, AGPR moves under a partial EXEC) refutes nothing.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from asmevo.ir.effects import effects
from asmevo.ir.instruction import Instruction, Register
from asmevo.ir.registers import EXEC, VECTOR_MASK, VGPR0, units
from asmevo.ir.semantics.expr import Domain
from asmevo.verify.equivalence.compiled import FLOATS
from asmevo.verify.equivalence.concrete import LANES, WaveState, WindowRunner, may_store
from asmevo.verify.equivalence.execute import Programs
from asmevo.verify.equivalence.terms import Term, cone

_FULL = (1 << 64) - 1
_FLOAT_OPS = frozenset(op.value for op in FLOATS) | {"native"}
_FORMATS = frozenset({"f16", "bf16", "f32", "f64", "fp8", "bf8", "fp6", "bf6", "fp4"})
_NEVER = frozenset({"suppressed"})
"""Terms whose value no source settles."""

Lanes = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint32]


class Grade(enum.Enum):
    """What is known of the bits that a difference rests on, whatever the windows run on."""

    EXACT = "every bit is documented, but for NaNs and zeros that a run may meet"
    APPROXIMATE = "some operation is documented up to an error"
    UNSETTLED = "no source settles them"


class Documented:
    """What is documented of a pair of windows, whatever they run on."""

    def __init__(self, runners: Sequence[WindowRunner], programs: Programs) -> None:
        self._operations: set[tuple[str, object]] = set()
        self._mnemonics: set[str] = set()
        for runner in runners:
            for i in runner.instructions:
                compiled = programs.of(i)
                if compiled is not None and compiled.program.approximate:
                    self._mnemonics.add(i.mnemonic)
                    self._operations |= {(s.op, s.attr) for s in compiled.steps if s.op in _FLOAT_OPS}

    def grade(self, pair: tuple[Term, Term]) -> Grade:
        """Return how well known the bits are of what the final terms do not share."""
        left, right = (set(cone((t,))) for t in pair)
        if any(t.op in _NEVER or (t.op == "unsettled" and t.args) for t in left | right):
            return Grade.UNSETTLED
        for term in left ^ right:
            if (term.op, term.attr) in self._operations:
                return Grade.APPROXIMATE
            if term.op == "atom" and isinstance(term.attr, tuple) and not self._mnemonics.isdisjoint(map(str, term.attr[:2])):
                return Grade.APPROXIMATE
        return Grade.EXACT


class Settling:
    """The values one window makes whose bits may not be documented, looked for on one state after another."""

    def __init__(self, runner: WindowRunner, programs: Programs) -> None:
        self._runner = runner
        self._programs = programs
        self._suspects = {n: ops for n, i in enumerate(runner.instructions) if (ops := suspicion(i, programs)) is not None}
        self._state: WaveState | None = None
        self._found: dict[int, Lanes | None] = {}
        self._relevant: dict[int | None, dict[int, Instruction]] = {}
        self._crosses: dict[int | None, bool] = {}

    def is_settled(self, state: WaveState, place: int | None, lane: int) -> bool:
        """Whether no instruction that the place rests on made a value with undocumented bits, in a lane that counts.

        `place` is a unit; None is memory, where every lane counts.
        """
        if self._state is not state:
            self._state, self._found = state, {}
        if place not in self._relevant:
            self._relevant[place] = relevant_to(self._runner.instructions, place)
        relevant = self._relevant[place]
        suspects = [n for n in self._suspects if n in relevant]
        missing = [n for n in suspects if n not in self._found]
        self._found.update(dict.fromkeys(missing))
        for n, after in self._runner.trace(state, missing):
            self._found[n] = self._bad_lanes(relevant[n], self._suspects[n], after)
        bad = [lanes for n in suspects if (lanes := self._found[n]) is not None]
        if not bad:
            return True
        return place is not None and not any(lanes[lane] for lanes in bad) and not self._lanes_meet(place)

    def _lanes_meet(self, place: int) -> bool:
        if place not in self._crosses:
            self._crosses[place] = _crosses(self._relevant[place], self._programs)
        return self._crosses[place]

    def _bad_lanes(self, i: Instruction, ops: frozenset[str], after: WaveState) -> Lanes | None:
        """Lanes with a NaN that the instruction made, or a zero whose sign is not documented; None for none."""
        if i.mnemonic.startswith("v_accvgpr"):
            return None if is_full(after) else np.ones(LANES, np.bool_)
        effect = effects(i)
        values = _vectors(after, effect.writes)
        bad: Lanes = np.any(_has_nan(i.mnemonic, values), 0, keepdims=True)[0]
        if not ops.isdisjoint({"fmin", "fmax"}):
            zero = ((values & 0x7FFFFFFF) == 0).any(0)
            if zero.any():
                # Which zero a minimum is, of zeros with different signs; sources may be overwritten, so any sign will do.
                signs = any(isinstance(o, Register) and (o.negate or o.absolute) for o in i.operands)
                if not signs and not effect.reads & effect.writes & VECTOR_MASK:
                    zero &= (_vectors(after, effect.reads | effect.writes) == 0x80000000).any(0)
                bad = bad | zero
        return bad if bad.any() else None


def suspicion(i: Instruction, programs: Programs) -> frozenset[str] | None:
    """The float operations of an instruction that may make a value with undocumented bits; None where it cannot."""
    compiled = programs.of(i)
    if compiled is None or i.definition is None:
        return None
    ops = frozenset(s.op for s in compiled.steps) & _FLOAT_OPS
    # Of the intrinsics, only matrix products compute floats; the others move bits.
    product = compiled.program.domain is Domain.INTRINSIC and i.mnemonic.startswith(("v_mfma", "v_smfmac"))
    if i.mnemonic.startswith("v_accvgpr"):
        return ops
    return ops if (ops or product) and result_format(i.mnemonic) is not None else None


def _crosses(relevant: Mapping[int, Instruction], programs: Programs) -> bool:
    """Whether lanes see each other in the instructions."""
    masks = scalar_reads = 0
    stores = any(may_store(i) for i in relevant.values())
    for i in relevant.values():
        compiled = programs.of(i)
        if compiled is None or i.definition is None:
            continue
        if compiled.program.domain is Domain.INTRINSIC or any(s.op == "gather" for s in compiled.steps):
            return True
        if compiled.memory is not None and stores:
            return True
        if compiled.program.domain is Domain.SCALAR:
            scalar_reads |= effects(i).reads
        elif any(w.bits == 1 for w in compiled.writes):
            masks |= effects(i).writes
    return bool(masks & scalar_reads)


def relevant_to(window: Sequence[Instruction], place: int | None) -> dict[int, Instruction]:
    """The instructions, by number, that a unit at the end may rest on; for memory (None) all."""
    if place is None:
        return dict(enumerate(window))
    needed = 1 << place
    memory = False
    found: dict[int, Instruction] = {}
    for n in range(len(window) - 1, -1, -1):
        i = window[n]
        if i.definition is None:
            continue
        effect = effects(i)
        if not (effect.writes & needed or (memory and may_store(i))):
            continue
        found[n] = i
        needed = needed & ~effect.kills | effect.reads
        memory |= i.definition.space is not None
    return dict(reversed(found.items()))


def exec_of(state: WaveState) -> int:
    """Return EXEC as 64 bits."""
    return int(state.scalar[EXEC]) | int(state.scalar[EXEC + 1]) << 32


def is_full(state: WaveState) -> bool:
    """Whether every lane is active."""
    return exec_of(state) == _FULL


def _vectors(state: WaveState, mask: int) -> Words:
    """The vector registers of a unit set, shape (n, 64)."""
    return state.vector[[unit - VGPR0 for unit in units(mask & VECTOR_MASK)]]


def result_format(mnemonic: str) -> str | None:
    """The float format of an instruction's result, the first type that its mnemonic names; None for another type."""
    for token in mnemonic.split("_"):
        if token in _FORMATS:
            return token
        if token[1:].isdigit() and token[0] in "biu":
            return None
    return "f32"


def _has_nan(mnemonic: str, values: Words) -> Lanes:
    """Where register values hold a NaN in the format of the mnemonic's result."""
    fmt = result_format(mnemonic)
    if fmt == "f32":
        return (values & 0x7FFFFFFF) > 0x7F800000
    if fmt == "f64":
        return (values & 0x7FF00000) == 0x7FF00000
    if fmt not in ("f16", "bf16"):
        return np.ones_like(values, np.bool_)  # of small floats, whichever code it is
    limit = 0x7C00 if fmt == "f16" else 0x7F80
    return ((values & 0x7FFF) > limit) | ((values >> 16 & 0x7FFF) > limit)
