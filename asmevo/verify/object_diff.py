"""Whether two objects differ in nothing but the instructions of the kernel under judgement."""

from __future__ import annotations

from asmevo.diagnostics import DiagnosticError, Span, fail
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel

_ENTRY_FIELD = slice(16, 24)
_SYMBOL_SIZE = slice(16, 24)


def kernels_only_differ(old: CodeObject, before: Kernel, new: CodeObject, after: Kernel) -> None:
    """Returns when only instructions differ. Raises E0505 for another target, kernel, descriptor or argument layout.

    Every other byte must be the same too: other kernels, constants, symbols and what tells a loader where to put them. Code
    that has grown moves what follows, so the new object must then be what rebuilding the old one with that code gives.
    """
    where = Span(new.name)
    if old.target != new.target:
        fail("E0505", f"targets differ: {old.target} and {new.target}", where)
    if [k.name for k in old.kernels] != [k.name for k in new.kernels] or before.name != after.name:
        fail("E0505", "the objects hold different kernels", where)
    if before.metadata != after.metadata:
        fail("E0505", f"the metadata of '{before.name}' differs", where, "arguments and resources must stay as they were")
    old_descriptor, new_descriptor = before.descriptor, after.descriptor
    if old_descriptor is None or new_descriptor is None:
        fail("E0505", f"'{before.name}' has no descriptor", where)
    if _without_entry(old_descriptor.raw) != _without_entry(new_descriptor.raw):
        fail("E0505", f"the descriptor of '{before.name}' differs", where, "registers, LDS and scratch must stay as they were")
    place = _first_difference_elsewhere(old, new, before.name)
    if place is not None and not _is_rebuilt(old, after, new):
        message = f"the objects differ outside of the code of '{before.name}'"
        fail("E0505", message, Span(new.name, offset=place), "only that kernel's instructions are compared")


def _without_entry(raw: bytes) -> bytes:
    return raw[: _ENTRY_FIELD.start] + raw[_ENTRY_FIELD.stop :]


def _first_difference_elsewhere(old: CodeObject, new: CodeObject, name: str) -> int | None:
    """Return the first byte that differs outside of the kernel's code, which stands in the old object's place."""
    entry = old.kernel(name)
    start, stop = old.text.offset + entry.start, old.text.offset + entry.stop
    pieces = ((0, old.data[:start], new.data[:start]), (stop, old.data[stop:], new.data[stop:]))
    for offset, one, other in pieces:
        if one != other:
            same = next((n for n, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
            return offset + same
    return None


def _is_rebuilt(old: CodeObject, after: Kernel, new: CodeObject) -> bool:
    from asmevo.backend.writer import rebuild

    try:
        rebuilt = rebuild(old, after)
    except DiagnosticError:
        return False  # What cannot be laid out in the old object did not come from it.
    return _without_size(rebuilt, new, after.name) == _without_size(new.data, new, after.name)


def _without_size(data: bytes, layout: CodeObject, name: str) -> bytes:
    """Return the bytes without the size of the kernel's symbol: where code ends and filler begins is not known of grown code."""
    masked = bytearray(data)
    for symbol in layout.symbols:
        if symbol.name == name:
            masked[symbol.place + _SYMBOL_SIZE.start : symbol.place + _SYMBOL_SIZE.stop] = bytes(8)
    return bytes(masked)
