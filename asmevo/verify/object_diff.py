"""Whether two objects differ in nothing but the instructions of the kernel under judgement."""

from __future__ import annotations

from asmevo.diagnostics import Span, fail
from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel


def kernels_only_differ(old: CodeObject, before: Kernel, new: CodeObject, after: Kernel) -> None:
    """Returns when only instructions differ. Raises E0505 for another target, kernel, descriptor or argument layout.

    A descriptor's entry offset may differ, since a rebuilt object may have moved its text by whole pages.
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


def _without_entry(raw: bytes) -> bytes:
    return raw[:16] + raw[24:]
