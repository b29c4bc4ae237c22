"""What a launch gives a kernel, argument by argument, and what looks wrong in it without a run.

Owns the warnings. They rest on accesses whose pointer is surely an argument; others are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from asmevo.backend.launch import Dispatch
from asmevo.diagnostics import printable
from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccesses
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.isa.model import Access
from asmevo.ir.kernel import Kernel

FILLED = frozenset(
    {f"hidden_{what}_{axis}" for what in ("block_count", "group_size", "remainder", "global_offset") for axis in "xyz"}
    | {"hidden_grid_dims", "hidden_dynamic_lds_size", "hidden_none"}
)
"""Hidden arguments that a launch gives their value; the others stay null."""


@dataclass(frozen=True, slots=True)
class Given:
    """Bytes of the kernarg segment: the argument's name and kind, and what it holds."""

    offset: int
    size: int
    name: str
    kind: str
    holds: str


@dataclass(frozen=True, slots=True)
class CheckedLaunch:
    """A launch with its arguments by offset and the warnings."""

    dispatch: Dispatch
    given: tuple[Given, ...]
    warnings: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """The arguments as text."""
        for one in self.given:
            yield f"kernarg {one.offset:>4} {one.size:>3} bytes  {printable(one.name)} ({one.kind}): {printable(one.holds)}"

    def as_data(self) -> dict[str, Any]:
        """The launch as plain data."""
        dispatch = self.dispatch
        return {
            "launch": dispatch.name,
            "grid": list(dispatch.grid),
            "workgroup": list(dispatch.workgroup),
            "dynamic_lds_bytes": dispatch.dynamic_lds_bytes,
            "arguments": [
                {"offset": g.offset, "bytes": g.size, "name": g.name, "kind": g.kind, "holds": g.holds} for g in self.given
            ],
            "warnings": list(self.warnings),
        }


def check_launches(kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[CheckedLaunch]:
    """Each launch with what it gives and what looks wrong."""
    manager = AnalysisManager(kernel)
    use = manager.get(KernargUse)
    stored = {
        access.argument_offset: access.instruction.mnemonic
        for access in manager.get(MemoryAccesses).accesses
        if access.argument_offset is not None and access.access in (Access.STORE, Access.ATOMIC)
    }
    return [CheckedLaunch(one, tuple(_given(kernel, one)), tuple(_warnings(one, use, stored))) for one in dispatches]


def _given(kernel: Kernel, dispatch: Dispatch) -> Iterator[Given]:
    arguments = kernel.metadata.arguments if kernel.metadata else ()
    declared = {argument.offset: argument for argument in arguments}
    pointers = {slot.offset: slot for slot in dispatch.pointers}
    for offset in sorted({*declared, *pointers}):
        argument = declared.get(offset, KernelArgument("", offset, 8, "not declared"))
        name = argument.name or "-"
        slot = pointers.get(offset)
        if slot is None:
            raw = dispatch.kernarg[offset : offset + argument.size]
            yield Given(offset, argument.size, name, argument.value_kind, _number(raw))
            continue
        buffer = dispatch.buffers[slot.buffer]
        role = "in" if not buffer.writable else "inout" if buffer.defined else "out"
        where = f"{buffer.name}+{slot.addend}" if slot.addend else buffer.name
        yield Given(offset, 8, name, argument.value_kind, f"{where}, {buffer.data.size:,} bytes of {buffer.dtype}, {role}")


def _number(raw: bytes) -> str:
    return str(int.from_bytes(raw, "little")) if len(raw) <= 8 else f"0x{raw[:32].hex()}"


def _warnings(dispatch: Dispatch, use: KernargUse, stored: dict[int, str]) -> Iterator[str]:
    unused = {argument.offset for argument in use.unused} if use.complete else set[int]()
    for slot in dispatch.pointers:
        buffer = dispatch.buffers[slot.buffer]
        if not buffer.writable and slot.offset in stored:
            yield f"'{buffer.name}' has role in, and {stored[slot.offset]} stores through it"
        if slot.offset in unused:
            yield f"no code reads the pointer to '{buffer.name}'"
    null = {slot.offset for slot in dispatch.pointers}
    for slot in use.slots:
        for argument in slot.arguments:
            if argument.value_kind.startswith("hidden_") and argument.value_kind not in FILLED and argument.offset not in null:
                null.add(argument.offset)
                yield f"the code reads {argument.value_kind}, which stays null: using it faults"
