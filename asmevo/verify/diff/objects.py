"""Whether two objects differ in nothing but the instructions of the kernel under judgement."""

from __future__ import annotations

from asmevo.diagnostics import DiagnosticError, Span, fail, printable
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.instruction import Label
from asmevo.ir.kernel import Kernel
from asmevo.verify.static.declared import is_only_lowered, is_only_raised

_ENTRY_FIELD = slice(16, 24)
_SYMBOL_SIZE = slice(16, 24)
_SHOWN_NAMES = 4


def kernels_only_differ(old: CodeObject, before: Kernel, new: CodeObject, after: Kernel) -> None:
    """Returns when only instructions differ. Raises E0505 for whatever else differs.

    Target, kernels, descriptor and metadata must be the same, but for fewer vector registers and less LDS: whether the code
    can do with those is the judge's to say. No new instruction's bytes may say more than its text.
    So must every other byte: other kernels, constants, symbols and what tells a loader where to put them. Code that has
    grown moves what follows, so the new object must then be what rebuilding the old one with that code gives.
    """
    where = Span(new.name)
    if old.target != new.target:
        fail("E0505", f"targets differ: {old.target} and {new.target}", where)
    if [k.name for k in old.kernels] != [k.name for k in new.kernels] or before.name != after.name:
        fail(
            "E0505",
            "the objects hold different kernels",
            where,
            f"{_named(old)} and {_named(new)}; a replacement keeps the names",
        )
    is_declared_anew = is_only_lowered(before, after) or is_only_raised(before, after)
    if before.metadata != after.metadata and not is_declared_anew:
        fail("E0505", f"the metadata of '{before.name}' differs", where, "arguments and resources must stay as they were")
    old_descriptor, new_descriptor = before.descriptor, after.descriptor
    if old_descriptor is None or new_descriptor is None:
        fail("E0505", f"'{before.name}' has no descriptor", where)
    if _without_entry(old_descriptor.raw) != _without_entry(new_descriptor.raw) and not is_declared_anew:
        fail("E0505", f"the descriptor of '{before.name}' differs", where, "registers, LDS and scratch must stay as they were")
    _check_encodings(before, after, where)
    place = _first_difference_elsewhere(old, new, before.name)
    if place is not None and not _is_rebuilt(old, after, new):
        message = f"the objects differ outside of the code of '{before.name}'"
        fail("E0505", message, Span(new.name, offset=place), "only that kernel's instructions are compared")


def _named(obj: CodeObject) -> str:
    shown = [f"'{printable(kernel.name)}'" for kernel in obj.kernels[:_SHOWN_NAMES]]
    return f"{printable(obj.name)} has {', '.join(shown)}" + (", ..." if len(obj.kernels) > _SHOWN_NAMES else "")


def _without_entry(raw: bytes) -> bytes:
    return raw[: _ENTRY_FIELD.start] + raw[_ENTRY_FIELD.stop :]


def _check_encodings(before: Kernel, after: Kernel, where: Span) -> None:
    """Refuse new bytes that say more than their text, which is all that is judged: reserved bits mean what hardware likes."""
    from asmevo.backend.assembler import assemble
    from asmevo.ir.printer import print_instruction

    known = {i.encoding for i in before.instructions()}
    fresh = {
        i.encoding: i
        for i in after.instructions()
        if i.encoding not in known and i.definition is not None and not any(isinstance(o, Label) for o in i.operands)
    }
    texts = [print_instruction(i) for i in fresh.values()]
    for (encoding, i), text, canonical in zip(fresh.items(), texts, assemble(texts, after.target), strict=True):
        if encoding != canonical:
            message = f"'{text}' is encoded with bits that its text does not show"
            fail("E0505", message, Span(where.file, offset=i.offset), f"assembled, it is {canonical.hex()}")


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
    """Return the bytes without the size of the kernel's symbol: of grown code it is not known where filler begins."""
    masked = bytearray(data)
    for symbol in layout.symbols:
        if symbol.name == name:
            masked[symbol.place + _SYMBOL_SIZE.start : symbol.place + _SYMBOL_SIZE.stop] = bytes(8)
    return bytes(masked)
