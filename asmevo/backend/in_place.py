"""A kernel's edits written over its old code, with no address, size or resource changed.

Owns refusing whatever would need more: the file keeps its length, every block its place, and nothing outside of the kernel's
code is touched. For what may move, there is the writer.
"""

from __future__ import annotations

from asmevo.backend.layout import lay_out
from asmevo.backend.validate import validate
from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel


def patch(obj: CodeObject, kernel: Kernel) -> bytes:
    """Return the object with `kernel`'s instructions in the place of the old ones; every block keeps its place and size.

    Instructions may be replaced by others, and trade places, within a block whose size stays.
    Raises E0615 for another target, E0630 for a block that became longer or shorter, E0631 for a changed descriptor or changed
    metadata, E0109 and E0603 to E0613 as `writer.rebuild`, E0616 when the check of the result fails.
    """
    entry = obj.kernel(kernel.name)
    if kernel.target != obj.target:
        fail("E0615", f"a kernel for {kernel.target} does not fit into an object for {obj.target}", Span(obj.name))
    where = Span(obj.name, offset=entry.descriptor_place)
    if kernel.descriptor not in (None, entry.descriptor):
        fail("E0631", f"the descriptor of '{kernel.name}' changed: not possible in place", where, "leave out --in-place")
    if kernel.metadata not in (None, entry.metadata):
        fail("E0631", f"the metadata of '{kernel.name}' changed: not possible in place", where, "leave out --in-place")
    layout = lay_out(kernel, entry.start)
    start, stop = obj.text.offset + entry.start, obj.text.offset + entry.stop
    for block, following in zip(kernel.blocks, (*kernel.blocks[1:], None), strict=True):
        old_end = entry.stop if following is None else following.offset
        new_end = entry.start + len(layout.code) if following is None else layout.places[following.label]
        if block.offset is None or old_end is None:
            fail("E0630", f"'{kernel.name}': block '{block.label}' is new: not possible in place", Span(obj.name))
        if new_end != old_end:
            change = f"{abs(new_end - old_end)} bytes {'longer' if new_end > old_end else 'shorter'}"
            what = f"'{kernel.name}': block '{block.label}' became {change}: not possible in place"
            fail("E0630", what, Span(obj.name, offset=obj.text.offset + block.offset), "leave out --in-place")
    data = obj.data[:start] + layout.code + obj.data[stop:]
    validate(obj, kernel, data)
    return data
