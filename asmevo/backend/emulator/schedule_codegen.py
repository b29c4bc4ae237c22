"""Native functions that run a dispatch's work-groups: entry state, wave order, barriers; and that merge threads' byte maps.

Owns scheduling. It must not know operations: one wave is run by the dispatch loop. Threads take work-groups from one counter,
each with waves, LDS and byte map of its own, and everything a work-group can read is set at its start, so that what it does
never depends on the thread that runs it.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import hwreg, layout
from asmevo.backend.emulator.irkit import I1, I8, I32, I64, PTR, Function, Value, const, splat
from asmevo.backend.emulator.layout import LANES, PLAN, RACE, STATE
from asmevo.ir.registers import AGPR0, VGPR0

DISPATCH_TYPE = ir.FunctionType(I32, (PTR,))
MERGE_TYPE = ir.FunctionType(I64, (PTR, PTR, I64))
_XORSHIFT_MULTIPLIER = 0x2545F4914F6CDD1D
"""xorshift64* (Vigna, 2016)."""
_WIDTH = 8
_SLICE = 1 << 22
"""Wave-instructions after which a call returns: some tenths of a second."""
_TURN = 1 << 14
"""Instructions after which a wave that has met no barrier makes room for the others: it may spin until one of them stores."""


def _copy(f: Function, target: Value, source: Value, size: Value | int) -> None:
    function = f.external("llvm.memcpy.p0.p0.i64", ir.VoidType(), PTR, PTR, I64, I1)
    wide = const(64, size) if isinstance(size, int) else size
    f.b.call(function, [target, source, wide, const(1, 0)])


def _clear(f: Function, target: Value, size: Value | int) -> None:
    function = f.external("llvm.memset.p0.i64", ir.VoidType(), PTR, I8, I64, I1)
    wide = const(64, size) if isinstance(size, int) else size
    f.b.call(function, [target, const(8, 0), wide, const(1, 0)])


def build_dispatch(module: ir.Module, strict: bool) -> None:
    """`asm_dispatch_strict` and `asm_dispatch_fast`: take and run work-groups until none is left, or stop; a status.

    END when every work-group taken ended or another thread stopped the run; CONTINUE after a while, between work-groups, so
    that the caller can look at its signals and call again; else why `wave` of `group` stopped it.
    """
    suffix = "strict" if strict else "fast"
    f = Function(module, f"asm_dispatch_{suffix}", DISPATCH_TYPE)
    (plan,) = f.args
    b = f.b
    order, runs, again = (f.local(I32, layout.MAX_WAVES) for _ in range(3))
    left = f.local(I64)
    alive = f.local(I64)
    kept = f.local(I64)
    random = f.local(I64)
    run = f.external(f"asm_run_{suffix}", I32, PTR)
    stop = f.pointer(PLAN, plan, "stop")
    waves = b.zext(f.get(PLAN, plan, "waves"), I64)
    pause = b.add(f.get(PLAN, plan, "executed"), const(64, _SLICE))
    take = b.append_basic_block("take")
    b.branch(take)
    b.position_at_end(take)
    with f.when(b.icmp_unsigned("!=", b.load_atomic(stop, "monotonic", 4, typ=I32), const(32, 0)), likely=False):
        f.ret(layout.END)
    with f.when(b.icmp_unsigned(">", f.get(PLAN, plan, "executed"), pause), likely=False):
        f.ret(layout.CONTINUE)
    group = b.atomic_rmw("add", f.pointer(PLAN, plan, "next"), const(64, 1), "monotonic")
    with f.when(b.icmp_unsigned(">=", group, f.get(PLAN, plan, "count")), likely=False):
        f.ret(layout.END)
    f.put(PLAN, plan, "group", group)
    _enter(f, plan, group, waves, strict)
    f.store(f.load(I64, f.item(f.pointer(PLAN, plan, "seeds"), group, 8), 8), random, 8)
    with f.loop(waves) as n:
        f.store(b.trunc(n, I32), f.item(order, n, 4), 4)
    f.store(waves, alive, 8)

    def leave(status: Value | int) -> None:
        b.atomic_rmw("xchg", stop, const(32, 1), "monotonic")
        f.ret(status)

    turn = b.append_basic_block("turn")
    b.branch(turn)
    b.position_at_end(turn)
    count = f.load(I64, alive, 8)
    _shuffle(f, order, count, random)
    _copy(f, runs, order, 4 * layout.MAX_WAVES)
    f.store(const(64, 0), kept, 8)
    f.store(count, left, 8)
    resume = b.append_basic_block("resume")
    b.branch(resume)
    b.position_at_end(resume)
    running = f.load(I64, left, 8)
    f.store(const(64, 0), left, 8)
    budget = f.get(PLAN, plan, "budget")
    with f.loop(running) as place:
        wave = f.load(I32, f.item(runs, place, 4), 4)
        state = _state(f, plan, wave)
        before = f.get(PLAN, plan, "executed")
        f.put(STATE, state, "executed", before)
        f.put(STATE, state, "limit", _least(f, budget, b.add(before, const(64, _TURN))))
        if strict:
            f.put(STATE, state, "own_first", f.get(RACE, f.pointer(PLAN, plan, "race"), "next"))
        status = b.call(run, [state])
        after = f.get(STATE, state, "executed")
        f.put(PLAN, plan, "executed", after)
        barrier = b.icmp_unsigned("==", status, const(32, layout.BARRIER))
        ended = b.icmp_unsigned("==", status, const(32, layout.END))
        stopped = b.and_(b.icmp_unsigned("==", status, const(32, layout.BUDGET)), b.icmp_unsigned("<", after, budget))
        with f.when(b.not_(b.or_(barrier, b.or_(ended, stopped))), likely=False):
            f.put(PLAN, plan, "wave", wave)
            leave(status)
        _append_if(f, barrier, order, kept, wave)
        _append_if(f, stopped, again, left, wave)
        if strict:
            with f.when(stopped, likely=False):
                f.put(STATE, state, "resumed", 1)
    with f.when(b.icmp_unsigned("!=", f.load(I64, left, 8), const(64, 0)), likely=False):
        _shuffle(f, again, f.load(I64, left, 8), random)
        _copy(f, runs, again, 4 * layout.MAX_WAVES)
        b.branch(resume)
    f.store(f.load(I64, kept, 8), alive, 8)
    epoch = b.add(f.get(PLAN, plan, "epoch"), const(32, 1))
    f.put(PLAN, plan, "epoch", epoch)
    with f.when(b.icmp_unsigned("==", f.load(I64, alive, 8), const(64, 0))):
        b.branch(take)
    with f.when(b.icmp_unsigned(">=", epoch, const(32, layout.EPOCH_LIMIT)), likely=False):
        leave(layout.EPOCHS)
    with f.loop(waves) as n:
        f.put(STATE, _state(f, plan, n), "epoch", epoch)
    if strict:
        _meet(f, plan, order, f.load(I64, alive, 8))
    b.branch(turn)


def _least(f: Function, x: Value, y: Value) -> Value:
    return f.b.select(f.b.icmp_unsigned("<", x, y), x, y)


def _append_if(f: Function, condition: Value, words: Value, count: Value, word: Value) -> None:
    """Puts a word at the end of an array where `condition` holds."""
    with f.when(condition):
        here = f.load(I64, count, 8)
        f.store(word, f.item(words, here, 4), 4)
        f.store(f.b.add(here, const(64, 1)), count, 8)


def _state(f: Function, plan: Value, wave: Value) -> Value:
    wide = wave if wave.type == I64 else f.b.zext(wave, I64)
    return f.at(f.pointer(PLAN, plan, "states"), f.b.mul(wide, f.get(PLAN, plan, "stride")))


def _meet(f: Function, plan: Value, order: Value, count: Value) -> None:
    """What a barrier does to the `count` waves at it: none has a segment any more, and each knows what any had acquired.

    They may be at different instructions, and pass different numbers of barriers (CDNA3 ISA guide, S_BARRIER: waves are
    counted, and those that have ended are not waited for); what that orders, and does not, is what the race checks go by. The
    first time is noted, for whoever did not mean it.
    """
    b = f.b
    first = f.get(STATE, _state(f, plan, f.load(I32, order, 4)), "at")
    race = f.pointer(PLAN, plan, "race")
    acquired = f.local(I32)
    f.store(const(32, 0), acquired, 4)
    with f.loop(count) as n:
        state = _state(f, plan, f.load(I32, f.item(order, n, 4), 4))
        known, new = f.load(I32, acquired, 4), f.get(STATE, state, "acquired")
        f.store(b.select(b.icmp_unsigned(">", new, known), new, known), acquired, 4)
        place, noted = f.get(STATE, state, "at"), f.get(PLAN, plan, "apart")
        is_new = b.and_(b.icmp_unsigned("!=", place, first), b.icmp_unsigned("==", noted, const(32, 0)))
        with f.when(is_new, likely=False):
            f.put(PLAN, plan, "apart", b.add(first, const(32, 1)))
            f.put(PLAN, plan, "apart_from", b.add(place, const(32, 1)))
    with f.loop(count) as n:
        state = _state(f, plan, f.load(I32, f.item(order, n, 4), 4))
        f.put(STATE, state, "acquired", f.load(I32, acquired, 4))
        f.put(STATE, state, "segment", 0)
        f.put(STATE, state, "resumed", 0)
        f.put(STATE, state, "plain", 0)
        f.put(STATE, state, "epoch_first", f.get(RACE, race, "next"))


def _shuffle(f: Function, order: Value, count: Value, random: Value) -> None:
    """Fisher and Yates's shuffle of `count` words."""
    b = f.b
    with f.loop(b.select(b.icmp_unsigned("!=", count, const(64, 0)), b.sub(count, const(64, 1)), const(64, 0))) as n:
        x = f.load(I64, random, 8)
        for shift, way in ((12, b.lshr), (25, b.shl), (27, b.lshr)):
            x = b.xor(x, way(x, const(64, shift)))
        f.store(x, random, 8)
        left = b.sub(count, n)
        drawn = b.lshr(b.mul(x, const(64, _XORSHIFT_MULTIPLIER)), const(64, 32))
        other = b.lshr(b.mul(drawn, left), const(64, 32))
        first, second = (f.item(order, at, 4) for at in (b.sub(left, const(64, 1)), other))
        held = f.load(I32, first, 4)
        f.store(f.load(I32, second, 4), first, 4)
        f.store(held, second, 4)


def _enter(f: Function, plan: Value, group: Value, waves: Value, strict: bool) -> None:
    """Puts every wave at the kernel's entry.

    LDS, scratch memory and the rows that the kernel names are cleared, so that what a group finds where it reads without
    having written does not depend on the groups before it.
    """
    b = f.b
    first = f.pointer(PLAN, plan, "states")
    lds_size = f.get(STATE, first, "lds_size")
    _clear(f, f.pointer(STATE, first, "lds"), lds_size)
    _clear(f, f.pointer(STATE, first, "lds_defined"), lds_size)
    scratch, scratch_bytes = f.pointer(PLAN, plan, "scratch"), f.get(PLAN, plan, "scratch_bytes")
    _clear(f, scratch, scratch_bytes)
    _clear(f, f.at(scratch, f.get(STATE, first, "map_delta")), scratch_bytes)
    if strict:
        for name in ("writers", "readers"):
            _clear(f, f.at(f.pointer(STATE, first, name), f.get(PLAN, plan, "scratch")), scratch_bytes)
    if strict:
        _restart_epochs(f, plan, first, lds_size)
        race = f.pointer(PLAN, plan, "race")
        following = f.get(RACE, race, "next")
        f.put(RACE, race, "unreleased", following)
        f.put(RACE, race, "group", b.trunc(group, I32))
    ids = f.item(f.pointer(PLAN, plan, "groups"), group, 12)
    number = f.load(I32, f.item(f.pointer(PLAN, plan, "numbers"), group, 4), 4)
    with f.loop(waves) as wave:
        state = _state(f, plan, wave)
        scalar = f.field(STATE, state, "scalar")
        _copy(f, scalar, f.item(f.pointer(PLAN, plan, "scalar"), wave, 1024), 1024)
        for axis in range(3):
            unit = f.load(I32, f.at(f.field(PLAN, plan, "id_units"), 4 * axis), 4)
            with f.when(b.icmp_unsigned("!=", unit, const(32, layout.NO_UNIT))):
                f.store(f.load(I32, f.at(ids, 4 * axis), 4), f.item(scalar, unit, 4), 4)
        row = 4 * LANES
        vector = f.field(STATE, state, "vector")
        for first_row, first_unit, name in ((0, 0, "vgprs"), (AGPR0 - VGPR0, AGPR0, "agprs")):
            count = b.zext(f.get(PLAN, plan, name), I64)
            _clear(f, f.at(vector, first_row * row), b.mul(count, const(64, row)))
            if strict:
                size = b.mul(count if first_unit else b.add(count, const(64, VGPR0)), const(64, 8))
                valid, pending = (f.at(f.field(STATE, state, table), 8 * first_unit) for table in ("valid", "pending"))
                _copy(f, valid, f.at(f.pointer(PLAN, plan, "valid"), 8 * first_unit), size)
                _clear(f, pending, size)
        _copy(f, vector, f.item(f.pointer(PLAN, plan, "lanes"), wave, row), row)
        if strict:
            for queue in ("vm", "lds", "smem"):
                f.put(STATE, state, f"{queue}_head", 0)
                f.put(STATE, state, f"{queue}_count", 0)
            for name in ("group_first", "epoch_first"):
                f.put(STATE, state, name, f.get(RACE, f.pointer(PLAN, plan, "race"), "next"))
            for name in ("segment", "plain", "acquired", "resumed"):
                f.put(STATE, state, name, 0)
        hwreg.emit_placement(f, state, number, wave)
        f.put(STATE, state, "pc", f.get(PLAN, plan, "start"))
        f.put(STATE, state, "fault", 0)
        f.put(STATE, state, "fault_unit", 0)
        f.put(STATE, state, "epoch", f.get(PLAN, plan, "epoch"))


def _restart_epochs(f: Function, plan: Value, first: Value, lds_size: Value) -> None:
    """Numbers epochs from 1 again once half of them are used; no access of an earlier work-group matters any more."""
    b = f.b
    with f.when(b.icmp_unsigned(">", f.get(PLAN, plan, "epoch"), const(32, layout.EPOCH_LIMIT // 2)), likely=False):
        f.put(PLAN, plan, "epoch", 1)
        for name in ("lds_writer", "lds_reader"):
            _clear(f, f.pointer(STATE, first, name), b.mul(lds_size, const(64, 4)))


def build_merge(module: ir.Module) -> None:
    """`asm_merge(into, from, bytes)`: joins two threads' byte maps; not zero when one wrote what the other read or wrote.

    `bytes` is a multiple of 64.
    """
    f = Function(module, "asm_merge", MERGE_TYPE)
    into, other, size = f.args
    b = f.b
    kind = ir.VectorType(I64, _WIDTH)
    clash = f.local(kind)
    f.store(ir.Constant(kind, [0] * _WIDTH), clash, 64)
    written = splat(f, const(64, int.from_bytes(bytes([layout.MAP_WRITTEN] * 8), "little")), _WIDTH)
    one = splat(f, const(64, 1), _WIDTH)
    with f.loop(size, 8 * _WIDTH) as at:
        x, y = (f.load(kind, f.at(base, at)) for base in (into, other))
        # READ lies just above WRITTEN, so that a shift by one brings it there; what crosses bytes is masked away.
        touched = [b.and_(b.or_(v, b.lshr(v, one)), written) for v in (x, y)]
        found = b.or_(b.and_(x, touched[1]), b.and_(y, touched[0]))
        f.store(b.or_(f.load(kind, clash, 64), b.and_(found, written)), clash, 64)
        f.store(b.or_(x, y), f.at(into, at))
    reduce = f.intrinsic(f"llvm.vector.reduce.or.v{_WIDTH}i64", I64, kind)
    b.ret(b.call(reduce, [f.load(kind, clash, 64)]))
