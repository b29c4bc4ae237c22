"""Wrong edits, on purpose: one small change of a window that mostly changes what it computes.

Owns the kinds of change. Whether a mutant is really wrong is for the judge and the emulator to say: some are equivalent.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asmevo.diagnostics import DiagnosticError
from asmevo.ir.effects import effects
from asmevo.ir.instruction import Immediate, Instruction, Modifier, Register
from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Role
from asmevo.ir.registers import EXEC_MASK, RegisterRange
from asmevo.ir.semantics import program_of
from asmevo.verify.equivalence.concrete import WindowRunner
from tools.equivalence.edits import are_independent, kept
from tools.equivalence.windows import CutWindow, is_quiet

_SIBLINGS = (
    *(("lshrrev_b32", "ashrrev_i32"), ("lshr_b32", "ashr_i32"), ("_u32", "_i32"), ("_i32_i24", "_u32_u24"), ("_u16", "_i16")),
    *(("_lo_", "_hi_"), ("_add_", "_sub_"), ("_min_", "_max_"), ("_and_", "_or_"), ("_or_", "_xor_"), ("_lt_", "_le_")),
    *(("_eq_", "_lg_"), ("_eq_", "_ne_"), ("_gt_", "_ge_"), ("_mul_lo_u32", "_mul_u32_u24"), ("_addc_", "_subb_")),
    *(("lshlrev", "lshrrev"), ("_b64", "_b32"), ("_andn2_", "_and_"), ("_fma_", "_mad_"), ("_ubyte", "_sbyte")),
)
_FIELDS = {"row_mask": 15, "bank_mask": 15, "row_shl": 15, "row_shr": 15, "row_ror": 15}
Window = tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed window and what was done to it."""

    kind: str
    place: int
    window: Window


def mutant(window: CutWindow, source: random.Random) -> Mutant | None:
    """One random mutant; None when the kind that was drawn does not fit."""
    kind = source.choice(list(_KINDS))
    places = [k for k, i in enumerate(window.instructions) if not is_quiet(i)]
    if not places:
        return None
    place = source.choice(places)
    changed = _KINDS[kind](window.instructions, place, source)
    if changed is None or [_text(i) for i in changed] == [_text(i) for i in window.instructions]:
        return None
    if not all(_is_valid(i) for i in changed) or WindowRunner(changed, window.target).problem is not None:
        return None
    return Mutant(kind, place, changed)


def _text(i: Instruction) -> tuple[object, ...]:
    return i.mnemonic, i.operands, i.modifiers


def _is_valid(i: Instruction) -> bool:
    try:
        effects(i)
        program_of(i)
    except (DiagnosticError, ValueError, KeyError):
        return False
    return True


def _at(window: Window, place: int, *new: Instruction) -> Window:
    return (*window[:place], *new, *window[place + 1 :])


def _sources(i: Instruction) -> list[int]:
    assert i.definition is not None
    return [k for k, spec in enumerate(i.definition.operands) if spec.role is Role.READ and isinstance(i.operands[k], Register)]


def _with_operand(i: Instruction, k: int, operand: Register | Immediate) -> Instruction:
    return i.edited(operands=(*i.operands[:k], operand, *i.operands[k + 1 :]))


def _operands_swapped(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    found = _sources(i)
    pairs = [(a, b) for a in found for b in found if a < b and _alike(i, a, b)]
    if not pairs:
        return None
    a, b = source.choice(pairs)
    operands = list(i.operands)
    operands[a], operands[b] = operands[b], operands[a]
    return _at(window, place, i.edited(operands=tuple(operands)))


def _alike(i: Instruction, a: int, b: int) -> bool:
    one, other = i.operands[a], i.operands[b]
    return isinstance(one, Register) and isinstance(other, Register) and one.range.count == other.range.count


def _registers(window: Window, like: Register) -> list[RegisterRange]:
    found = {
        o.range
        for i in window
        for o in i.operands
        if isinstance(o, Register) and o.range.count == like.range.count and o.range.file is like.range.file
    }
    return sorted(found - {like.range}, key=lambda r: r.unit)


def _other_register(window: Window, place: int, source: random.Random, role: Role) -> Window | None:
    i = window[place]
    assert i.definition is not None
    found = [k for k, spec in enumerate(i.definition.operands) if spec.role is role and isinstance(i.operands[k], Register)]
    if not found:
        return None
    k = source.choice(found)
    old = i.operands[k]
    assert isinstance(old, Register)
    choices = _registers(window, old)
    return _at(window, place, _with_operand(i, k, replace(old, range=source.choice(choices)))) if choices else None


def _source_changed(window: Window, place: int, source: random.Random) -> Window | None:
    return _other_register(window, place, source, Role.READ)


def _destination_changed(window: Window, place: int, source: random.Random) -> Window | None:
    return _other_register(window, place, source, Role.WRITE)


def _immediate_by_one(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    found = [k for k, o in enumerate(i.operands) if isinstance(o, Immediate)]
    if not found:
        return None
    k = source.choice(found)
    old = i.operands[k]
    assert isinstance(old, Immediate)
    value = old.value + source.choice((-1, 1)) & 0xFFFFFFFF
    return _at(window, place, _with_operand(i, k, Immediate(value, hex(value), negate=old.negate, absolute=old.absolute)))


def _sibling(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    names = [i.mnemonic.replace(a, b) for a, b in (*_SIBLINGS, *((b, a) for a, b in _SIBLINGS)) if a in i.mnemonic]
    source.shuffle(names)
    for name in names:
        try:
            definition = lookup(name)
        except (KeyError, DiagnosticError):
            continue
        if definition is None or i.definition is None or len(definition.operands) != len(i.operands):
            continue
        if [s.bits for s in definition.operands] == [s.bits for s in i.definition.operands]:
            return _at(window, place, replace(i, mnemonic=name, definition=definition, encoding=None))
    return None


def _modifier_dropped(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    # Without `lds` the first operand would be another one: no instruction has that form.
    names = [m.name for m in i.modifiers if m.name not in ("nt", "slc", "lds")]
    return _at(window, place, i.edited(modifiers=kept(i.modifiers, source.choice(names)))) if names else None


def _modifier_changed(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    found = [m for m in i.modifiers if m.name.startswith("offset") or m.name in _FIELDS]
    if not found:
        return None
    old = source.choice(found)
    if not isinstance(old.value, int):
        return None
    value = old.value ^ 1 << source.randrange(4) if old.name in _FIELDS else old.value + source.choice((4, 1, 8))
    modifiers = tuple(Modifier(m.name, value) if m is old else m for m in i.modifiers)
    return _at(window, place, i.edited(modifiers=modifiers))


def _sign_toggled(window: Window, place: int, source: random.Random) -> Window | None:
    i = window[place]
    found = [k for k in _sources(i) if i.definition is not None and "f" in i.mnemonic.split("_")[-2:][0][:1]]
    if not found or not i.mnemonic.endswith("_e64"):
        return None
    k = source.choice(found)
    old = i.operands[k]
    assert isinstance(old, Register)
    return _at(window, place, _with_operand(i, k, replace(old, negate=not old.negate)))


def _deleted(window: Window, place: int, source: random.Random) -> Window | None:
    del source
    return _at(window, place)


def _clobbered(window: Window, place: int, source: random.Random) -> Window | None:
    """A copy of another instruction's work where it does not belong."""
    wrong = window[source.randrange(len(window))]
    written = effects(wrong).writes
    if is_quiet(wrong) or not any(effects(i).reads & written for i in window[place:]):
        return None
    return (*window[:place], wrong, *window[place:])


def _order_broken(window: Window, place: int, source: random.Random) -> Window | None:
    """Exchanges an instruction with one further on, that depends on it or on something between."""
    later = [k for k in range(place + 1, min(place + 12, len(window))) if not are_independent(window[place], window[k])]
    if not later:
        return None
    k = source.choice(later)
    out = list(window)
    out.insert(k, out.pop(place))
    return tuple(out)


def _exec_region_changed(window: Window, place: int, source: random.Random) -> Window | None:
    """Moves a write of EXEC by one instruction."""
    del place
    found = [k for k, i in enumerate(window) if effects(i).writes & EXEC_MASK]
    if not found or len(window) < 2:
        return None
    k = source.choice(found)
    other = k + 1 if k == 0 or (k + 1 < len(window) and source.random() < 0.5) else k - 1
    out = list(window)
    out[k], out[other] = out[other], out[k]
    return tuple(out)


def _memory_order_broken(window: Window, place: int, source: random.Random) -> Window | None:
    accesses = [k for k, i in enumerate(window) if i.definition is not None and i.definition.space is not None]
    pairs: Sequence[tuple[int, int]] = [
        (a, b) for a, b in itertools.pairwise(accesses) if not are_independent(window[a], window[b])
    ]
    if not pairs:
        return None
    a, b = source.choice(pairs)
    out = list(window)
    out[a], out[b] = out[b], out[a]
    return tuple(out)


_KINDS: dict[str, Callable[[Window, int, random.Random], Window | None]] = {
    "operands swapped": _operands_swapped,
    "source changed": _source_changed,
    "destination changed": _destination_changed,
    "immediate by one": _immediate_by_one,
    "sibling opcode": _sibling,
    "modifier dropped": _modifier_dropped,
    "modifier changed": _modifier_changed,
    "sign toggled": _sign_toggled,
    "deleted": _deleted,
    "clobbered": _clobbered,
    "order broken": _order_broken,
    "EXEC region changed": _exec_region_changed,
    "memory order broken": _memory_order_broken,
}
