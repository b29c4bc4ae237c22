"""A code object with one kernel's code replaced.

Owns the order of the work: lay the kernel out, fit it between its neighbours, put the text into the file, set the
descriptors' entries, and have the result checked. Whatever an edit need not change stays byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from asmevo.backend.layout import S_NOP, Layout, branch_target, lay_out, without_trailing_padding
from asmevo.backend.metadata_update import with_metadata
from asmevo.backend.relayout import replace_text
from asmevo.backend.validate import validate
from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject, KernelEntry
from asmevo.frontend.descriptor import DESCRIPTOR_BYTES, encode_descriptor, with_entry
from asmevo.frontend.disassembler import disassemble
from asmevo.ir.kernel import Kernel

_ENTRY_ALIGNMENT = 256
_DIRECT_BRANCHES = ("s_branch", "s_cbranch_", "s_call_b64")
_COMPUTED_ADDRESSES = frozenset({"s_getpc_b64", "s_setpc_b64", "s_swappc_b64"})


def rebuild(obj: CodeObject, kernel: Kernel) -> bytes:
    """Return the object with `kernel` in the place of the kernel of that name; the same bytes when nothing was edited.

    Shorter code is filled up with s_nop to the old size. Longer code uses slack behind it, then moves what follows: other
    functions by multiples of 256 bytes, the rest of the file by whole pages. The result has passed `validate`.
    Raises E0109 for an unknown kernel, E0603 and E0604 for an edited instruction that cannot be encoded, E0610 to E0615 for
    a change that cannot be laid out, E0616 when the check of the result fails.
    """
    entry = obj.kernel(kernel.name)
    if kernel.target != obj.target:
        fail("E0615", f"a kernel for {kernel.target} does not fit into an object for {obj.target}", Span(obj.name))
    if kernel.metadata is not None and kernel.metadata != entry.metadata:
        obj = with_metadata(obj, kernel.name, kernel.metadata)
        entry = obj.kernel(kernel.name)
    fitted = _fit(obj, entry, lay_out(kernel, entry.start))
    relaid = replace_text(obj.elf, obj.text, obj.symbols, fitted.text, fitted.move, moves_others=fitted.following_shift != 0)
    _write_descriptors(obj, kernel, relaid.data, relaid.shift, fitted.move)
    data = bytes(relaid.data)
    validate(obj, kernel, data)
    return data


@dataclass(frozen=True, slots=True)
class _Fitted:
    text: bytes
    move: Callable[[int], int]
    following_shift: int


def _fit(obj: CodeObject, entry: KernelEntry, layout: Layout) -> _Fitted:
    """Fit a kernel's code between what stands before and behind it in .text."""
    old = obj.data[obj.text.offset : obj.text.offset + obj.text.size]
    room = entry.stop - entry.start
    following = old[entry.stop :]
    if len(layout.code) > room and following:
        layout = without_trailing_padding(layout)
    shift = 0
    if not layout.is_in_place or len(layout.code) > room:
        _check_neighbours(obj, entry, grows=len(layout.code) > room)
    if len(layout.code) > room:
        extra = len(layout.code) - room
        # The entries of the functions behind must stay aligned; with none behind, the text just ends later.
        shift = -(-extra // _ENTRY_ALIGNMENT) * _ENTRY_ALIGNMENT if following else extra
    filler = S_NOP * ((room + shift - len(layout.code)) // len(S_NOP))

    def move(offset: int) -> int:
        if offset < entry.start:
            return offset
        return offset + shift if offset >= entry.stop else layout.moved(offset)

    return _Fitted(old[: entry.start] + layout.code + filler + following, move, shift if following else 0)


def _check_neighbours(obj: CodeObject, entry: KernelEntry, *, grows: bool) -> None:
    """Refuse a move that code outside the kernel would not follow: jumps into it or across it, and computed addresses."""
    text = obj.data[obj.text.offset : obj.text.offset + obj.text.size]
    for first, last in ((0, entry.start), (entry.stop, len(text))):
        for line in disassemble(text[first:last], obj.target) if first < last else ():
            mnemonic = (line.text or "").split(" ", 1)[0]
            offset = first + line.offset
            crosses = mnemonic.startswith(_DIRECT_BRANCHES) and not first <= branch_target(offset, line.encoding[:2]) < last
            if crosses or (grows and mnemonic in _COMPUTED_ADDRESSES):
                what = f"the code of '{entry.name}' cannot move: {mnemonic} of another function depends on its place"
                fail("E0613", what, Span(obj.name, offset=obj.text.offset + offset), "keep every instruction's place")


def _write_descriptors(obj: CodeObject, kernel: Kernel, data: bytearray, shift: int, move: Callable[[int], int]) -> None:
    end, high = obj.text.offset + obj.text.size, obj.text.address + obj.text.size
    for entry in obj.kernels:
        edited = kernel.descriptor if entry.name == kernel.name else None
        address = entry.descriptor_address + (shift if entry.descriptor_address >= high else 0)
        place = entry.descriptor_place + (shift if entry.descriptor_place >= end else 0)
        # A root stays in its place, so only another kernel's entry can have moved.
        target = entry.entry if entry.name == kernel.name else move(entry.entry)
        new = with_entry(edited or entry.descriptor, obj.text.address + target - address)
        data[place : place + DESCRIPTOR_BYTES] = encode_descriptor(new)
