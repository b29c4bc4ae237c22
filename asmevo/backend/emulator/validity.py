"""The strict mode's native checks of the registers that an operation touches, and the marks it leaves.

Owns what makes a unit readable and writable. It must not know operations: it is given lists of unit entries.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import check, fault
from asmevo.backend.emulator.irkit import I1, I16, I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import KIND, OP, STATE

COVER_TYPE = ir.FunctionType(I32, (PTR, I32))


def check_operation(f: Function, state: Value, op: Value, units: Value, reads: Value, writes: Value, active: Value) -> None:
    """Faults where the operation reads what is not valid, or writes what is outstanding.

    Units that are valid in every lane that counts are passed by looking at all of them at once.
    """
    b = f.b
    seen = _combined(f, state, "valid", units, const(64, 0), reads)
    ignored = b.and_(b.not_(active), f.get(OP, op, "ignored"))
    ignored = b.select(b.icmp_unsigned("==", active, const(64, 0)), const(64, 0), ignored)
    with f.when(b.icmp_unsigned("!=", b.or_(seen, ignored), const(64, -1)), likely=False):
        check_units(f, state, op, units, const(64, 0), reads, active, write=False)
    busy = _combined(f, state, "pending", units, reads, writes)
    with f.when(b.icmp_unsigned("!=", busy, const(64, 0)), likely=False):
        check_units(f, state, op, units, reads, writes, active, write=True)


def _combined(f: Function, state: Value, table: str, units: Value, start: Value, count: Value) -> Value:
    """Lanes in which all of `count` units are valid, or any is pending."""
    b = f.b
    pending = table == "pending"
    place = f.field(STATE, state, table)
    before = b.block
    head, body, done = (b.append_basic_block(name) for name in ("units", "unit", "units_done"))
    b.branch(head)
    b.position_at_end(head)
    n, lanes = b.phi(I64), b.phi(I64)
    n.add_incoming(const(64, 0), before)
    lanes.add_incoming(const(64, 0 if pending else -1), before)
    b.cbranch(b.icmp_unsigned("<", n, count), body, done)
    b.position_at_end(body)
    entry = b.zext(f.load(I16, f.item(units, b.add(start, n), 2), 2), I64)
    value = f.load(I64, f.item(place, b.and_(entry, const(64, layout.UNIT_BITS)), 8), 8)
    lanes.add_incoming(b.or_(lanes, value) if pending else b.and_(lanes, value), b.block)
    n.add_incoming(b.add(n, const(64, 1)), b.block)
    b.branch(head)
    b.position_at_end(done)
    return lanes


def check_units(
    f: Function, state: Value, op: Value, units: Value, start: Value, count: Value, active: Value, *, write: bool
) -> None:
    """Faults on the first unit that is not valid (reads), or has a load outstanding (writes).

    A write needs no value, so that an EXEC without lanes writes nothing. Vector loads return in order, so that one of them may
    be issued to a register for which another is outstanding.
    """
    b = f.b
    table = f.field(STATE, state, "pending" if write else "valid")
    first = b.and_(active, b.neg(active))
    first = b.select(b.icmp_unsigned("==", active, const(64, 0)), const(64, 1), first)
    with f.loop(count) as n:
        entry = b.zext(f.load(I16, f.item(units, b.add(start, n), 2), 2), I64)
        unit = b.and_(entry, const(64, layout.UNIT_BITS))
        need = _need(b, entry)
        lanes = b.select(b.icmp_unsigned("==", need, const(64, layout.NEED_ACTIVE)), active, const(64, -1))
        lanes = b.select(b.icmp_unsigned("==", need, const(64, layout.NEED_FIRST)), first, lanes)
        value = f.load(I64, f.item(table, unit, 8), 8)
        if write:
            bad = b.and_(value, lanes)
        else:
            bad = b.and_(lanes, b.not_(value))
            some = b.and_(b.icmp_unsigned("==", need, const(64, layout.NEED_ANY)), b.icmp_unsigned("!=", value, const(64, 0)))
            bad = b.select(some, const(64, 0), bad)
        found = b.icmp_unsigned("!=", bad, const(64, 0))
        if write:
            found = b.and_(found, b.not_(_is_covered(f, state, op, unit, found)))
        with f.when(found, likely=False):
            lane = b.call(f.intrinsic("llvm.cttz.i64", I64, I64, I1), [bad, const(1, 0)])
            f.put(STATE, state, "fault_unit", b.trunc(unit, I32))
            if write:
                kind: Value = const(32, KIND["pending-write"])
            else:
                pending = b.and_(f.load(I64, f.item(f.field(STATE, state, "pending"), unit, 8), 8), bad)
                kind = b.select(
                    b.icmp_unsigned("!=", pending, const(64, 0)),
                    const(32, KIND["pending-read"]),
                    const(32, KIND["uninitialised-register"]),
                )
            check(f, fault(f, state, kind, lane, const(64, 0)))


def _is_covered(f: Function, state: Value, op: Value, unit: Value, pending: Value) -> Value:
    """Whether all that is outstanding for a pending unit returns before what the operation loads."""
    b = f.b
    replaces = b.and_(f.get(OP, op, "in_order"), const(32, layout.REPLACES))
    asked = b.and_(pending, b.icmp_unsigned("!=", replaces, const(32, 0)))
    cover = f.external("asm_cover", I32, *COVER_TYPE.args)
    return f.choose(
        asked,
        lambda: b.icmp_unsigned("!=", b.call(cover, [state, b.trunc(unit, I32)]), const(32, 0)),
        lambda: const(1, 0),
    )


def mark(f: Function, state: Value, units: Value, start: Value, count: Value, active: Value) -> None:
    """Makes `count` units valid: the lanes of `active`, or all of what ignores EXEC."""
    b = f.b
    with f.loop(count) as n:
        entry = b.zext(f.load(I16, f.item(units, b.add(start, n), 2), 2), I64)
        unit = b.and_(entry, const(64, layout.UNIT_BITS))
        whole = b.icmp_unsigned("!=", _need(b, entry), const(64, layout.NEED_ACTIVE))
        at = f.item(f.field(STATE, state, "valid"), unit, 8)
        f.store(b.or_(f.load(I64, at, 8), b.select(whole, const(64, -1), active)), at, 8)


def _need(b: ir.IRBuilder, entry: Value) -> Value:
    """Which lanes must be valid; the bits above are for VGPR indexing."""
    return b.and_(b.lshr(entry, const(64, layout.NEED_SHIFT)), const(64, 3))
