"""Calls of the race check of global memory, as handlers and transfers make them.

Owns how the check is asked: a shadow word for each access, notes of reads and writes before they are made, releases and
acquires. What is a race is decided in `race_runtime`.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator import layout
from asmevo.backend.emulator.faulting import check
from asmevo.backend.emulator.irkit import I32, I64, PTR, Function, Value, const
from asmevo.backend.emulator.layout import OP, STATE

STATE_TYPE = ir.FunctionType(I32, (PTR,))
READ_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, I64, I32))
WRITE_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, I64, I32, PTR))
CLASH_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, I64, I64, I32, I32, PTR))
SPLIT_TYPE = ir.FunctionType(I32, (PTR, PTR, I64))
SYNC_TYPE = ir.FunctionType(I32, (PTR, I32, I32))
PENDING_TYPE = ir.FunctionType(I32, (PTR, PTR, I64))
WATCH_TYPE = ir.FunctionType(I32, (PTR, PTR, I64, I64, I32))

PIECE = 64
"""Bytes of a wide access that are looked at together."""
_NULL = ir.Constant(PTR, None)


def stamp(f: Function, state: Value) -> Value:
    """The shadow word of this wave's access by the operation that runs; returns from the function when numbers ran out.

    An access that is not coherent makes the segment one that a release must close.
    """
    b = f.b
    number = b.call(f.external("asm_segment", I32, PTR), [state])
    with f.when(b.icmp_unsigned("==", number, const(32, 0)), likely=False):
        f.ret(layout.FAULT)
    coherent = _coherent(f, state)
    with f.when(b.icmp_unsigned("==", coherent, const(32, 0))):
        f.put(STATE, state, "plain", 1)
    return b.or_(number, coherent)


def note_read(f: Function, state: Value, place: Value, size: int, lane: Value, address: Value, word: Value) -> None:
    """Checks and records a read of `size` bytes at a host address; returns from the function on a race."""
    function = f.external(f"asm_note_read_{size}", I32, *READ_TYPE.args)
    check(f, f.b.call(function, [state, place, lane, address, word]))


def note_write(
    f: Function, state: Value, place: Value, size: int, lane: Value, address: Value, word: Value, data: Value | None = None
) -> None:
    """Checks and records a write, before it is made; bytes at `data` that are there already are no conflict with a write."""
    function = f.external(f"asm_note_write_{size}", I32, *WRITE_TYPE.args)
    check(f, f.b.call(function, [state, place, lane, address, word, _NULL if data is None else data]))


def sync(f: Function, state: Value, *, release: Value | bool, acquire: Value | bool) -> None:
    """Releases and acquires, as an atomic or coherent access does."""
    flags = [const(32, int(x)) if isinstance(x, bool) else x for x in (release, acquire)]
    f.b.call(f.external("asm_sync", I32, *SYNC_TYPE.args), [state, *flags])


def sync_if_coherent(f: Function, state: Value, *, write: bool) -> None:
    """A coherent load acquires, a coherent store releases; other accesses do neither."""
    with f.when(f.b.icmp_unsigned("!=", _coherent(f, state), const(32, 0)), likely=False):
        sync(f, state, release=write, acquire=not write)


def watch(f: Function, state: Value, addresses: Value, mask: Value, size: int, *, write: bool) -> None:
    """Logs the access when it touches the watched byte."""
    b = f.b
    with f.when(b.icmp_unsigned("!=", f.get(STATE, state, "watch"), const(64, 0)), likely=False):
        function = f.external("asm_watch", I32, *WATCH_TYPE.args)
        b.call(function, [state, addresses, mask, const(64, size), const(32, int(write))])


def watch_one(f: Function, state: Value, address: Value, size: Value, write: Value) -> None:
    """The same for one address."""
    b = f.b
    with f.when(b.icmp_unsigned("!=", f.get(STATE, state, "watch"), const(64, 0)), likely=False):
        kept = f.local(I64)
        f.store(address, kept, 8)
        b.call(f.external("asm_watch", I32, *WATCH_TYPE.args), [state, kept, const(64, 1), size, write])


def own_pending(f: Function, state: Value, place: Value, address: Value) -> None:
    """A race when this wave's own vector store of the byte may still be outstanding: scalar loads do not wait for it."""
    check(f, f.b.call(f.external("asm_own_pending", I32, *PENDING_TYPE.args), [state, place, address]))


def _coherent(f: Function, state: Value) -> Value:
    op = f.item(f.pointer(STATE, state, "ops"), f.get(STATE, state, "at"), OP.itemsize)
    return f.get(OP, op, "coherent")
