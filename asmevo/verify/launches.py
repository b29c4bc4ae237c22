"""Launch files matched to a kernel: each case becomes a dispatch with its buffers and packed kernel arguments.

Owns the meaning of a launch file. The form is `verify.launch_file`'s, number formats are `verify.launch_data`'s.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.diagnostics import fail
from asmevo.ir.abi import KernelArgument
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch_data import FILLS, POISON, ElementType, Fill, element_types, fill_values, special_values
from asmevo.verify.launch_file import Argument, Case, LaunchFile, Number, Whole, read_launch_file

MAX_BUFFER_BYTES = 1 << 30
"""What the buffers of all cases take together: every case is built before the first is run."""

MAX_FILLED = 1 << 26
"""Elements of a buffer that a fill computes, in double precision and with temporaries of that size."""

MAX_GROUP_ITEMS = 1024
MAX_GRID = 1 << 31
MAX_GROUPS = 1 << 20
"""Work-groups of one case, which are run one by one."""
MAX_LDS_BYTES = 160 * 1024
MAX_WHOLE = 1 << 62
POINTER_BYTES = 8


def load_launches(path: Path | str, kernel: Kernel) -> list[Dispatch]:
    """The cases of a launch file as dispatches of `kernel`, in file order.

    Arguments go to metadata arguments by name where the metadata has names and the file gives one, else by position among the
    visible ones; without metadata they are packed by natural alignment. Hidden arguments are filled from the launch. The same
    file gives the same bytes everywhere.

    Raises: DiagnosticError E0220 to E0226, pointing into the file.
    """
    file = read_launch_file(Path(path))
    tree = file.tree
    if tree.kernel is not None and tree.kernel != kernel.name:
        fail("E0223", f"the file launches '{tree.kernel}', the kernel is '{kernel.name}'", file.span("kernel"))
    if not tree.case:
        return [_Builder(file, (), tree, tree, kernel, "case0").build()]
    names = [case.name or f"case{number}" for number, case in enumerate(tree.case)]
    for number, name in enumerate(names):
        if name in names[:number]:
            fail("E0223", f"two cases are named '{name}'", file.span("case", number, "name"))
    dispatches: list[Dispatch] = []
    taken = 0
    for number, case in enumerate(tree.case):
        dispatches.append(_Builder(file, ("case", number), case, tree, kernel, names[number], taken).build())
        taken += sum(buffer.data.size for buffer in dispatches[-1].buffers)
    return dispatches


_T = TypeVar("_T")


def _first(own: _T | None, shared: _T | None, default: _T) -> _T:
    return own if own is not None else shared if shared is not None else default


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where an argument goes: offset, and the metadata's entry when there is one."""

    offset: int
    declared: KernelArgument | None


@dataclass(slots=True)
class _Builder:
    """Builds one dispatch; `key` is the case's place in the file."""

    file: LaunchFile
    key: tuple[str | int, ...]
    case: Case
    tree: Case
    kernel: Kernel
    name: str
    taken: int = 0
    """Bytes of earlier cases' buffers."""
    buffers: list[Buffer] = field(default_factory=lambda: [])
    pointers: list[PointerSlot] = field(default_factory=lambda: [])
    pieces: dict[int, bytes] = field(default_factory=lambda: {})

    def build(self) -> Dispatch:
        grid, workgroup = (
            self._triple("grid", _first(self.case.grid, self.tree.grid, []), MAX_GRID),
            self._triple("workgroup", _first(self.case.workgroup, self.tree.workgroup, []), MAX_GROUP_ITEMS),
        )
        self._check_group(workgroup)
        self._check_grid(grid)
        lds = self._whole(_first(self.case.dynamic_lds_bytes, self.tree.dynamic_lds_bytes, 0), self._place("dynamic_lds_bytes"))
        if not 0 <= lds <= 160 * 1024:
            fail(
                "E0224",
                f"dynamic_lds_bytes is {lds}, not within 0 to 163840",
                self.file.span(*self._place("dynamic_lds_bytes")),
            )
        arguments = _first(self.case.args, self.tree.args, [])
        slots = self._slots(arguments)
        for number, (argument, slot) in enumerate(zip(arguments, slots, strict=True)):
            self._place_argument(number, argument, slot)
        for number, argument in enumerate(arguments):
            if argument.pointer is not None:
                self._point(number, argument, slots[number])
        self._refuse_missing({slot.offset for slot in slots})
        self._hidden(grid, workgroup, lds)
        return Dispatch(
            self.name, self.kernel.name, grid, workgroup, self._pack(), tuple(self.pointers), tuple(self.buffers), lds
        )

    def _place(self, name: str, *rest: str | int) -> tuple[str | int, ...]:
        return (*(self.key if getattr(self.case, name) is not None else ()), name, *rest)

    def _number(self, value: Number, place: tuple[str | int, ...]) -> int | float:
        if not isinstance(value, str):
            return value
        known = {**self.tree.values, **self.case.values}
        if value not in known:
            near = difflib.get_close_matches(value, list(known), n=1)
            names = f"values has {', '.join(known) or 'nothing'}"
            fail(
                "E0224", f"no value is named '{value}'", self.file.span(*place), f"did you mean '{near[0]}'?" if near else names
            )
        return known[value]

    def _whole(self, value: Number, place: tuple[str | int, ...]) -> int:
        number = self._number(value, place)
        if not isinstance(number, int):
            fail("E0224", f"{number} is not a whole number", self.file.span(*place))
        return number

    def _triple(self, name: str, given: Sequence[Whole], most: int) -> tuple[int, int, int]:
        place = self._place(name)
        if not given:
            fail("E0224", f"case '{self.name}' has no {name}", self.file.span(*self.key), f"write {name} = [..., 1, 1]")
        sizes = [self._whole(item, place) for item in given] + [1] * (3 - len(given))
        for size in sizes:
            if not 1 <= size <= most:
                fail("E0224", f"{name} has {size}, not within 1 to {most}", self.file.span(*place))
        return sizes[0], sizes[1], sizes[2]

    def _check_grid(self, grid: tuple[int, int, int]) -> None:
        groups = math.prod(grid)
        if groups > MAX_GROUPS:
            message = f"the grid has {groups} work-groups, more than {MAX_GROUPS}"
            fail("E0224", message, self.file.span(*self._place("grid")), "a smaller grid that reaches the same code will do")

    def _check_group(self, workgroup: tuple[int, int, int]) -> None:
        items = math.prod(workgroup)
        metadata = self.kernel.metadata
        most = min((metadata and metadata.max_flat_workgroup_size) or MAX_GROUP_ITEMS, MAX_GROUP_ITEMS)
        if items > most:
            fail(
                "E0224",
                f"the workgroup has {items} work-items; this kernel takes {most}",
                self.file.span(*self._place("workgroup")),
            )

    def _slots(self, arguments: Sequence[Argument]) -> list[_Slot]:
        declared = self._visible()
        slots: list[_Slot] = []
        end = 0
        for number, argument in enumerate(arguments):
            place = self._place("args", number)
            if argument.at is not None:
                match = [item for item in declared if item.offset == argument.at]
                slots.append(_Slot(argument.at, match[0] if match else None))
            elif declared:
                entry = self._declared(number, argument, declared)
                slots.append(_Slot(entry.offset, entry))
            else:
                size = self._size(number, argument)
                slots.append(_Slot(-(-end // min(size, 8)) * min(size, 8), None))
            end = slots[-1].offset + self._size(number, argument)
            if any(slot.offset == slots[-1].offset for slot in slots[:-1]):
                fail("E0226", f"two arguments are at kernarg offset {slots[-1].offset}", self.file.span(*place))
        return slots

    def _visible(self) -> list[KernelArgument]:
        entries = self.kernel.metadata.arguments if self.kernel.metadata else ()
        return [entry for entry in entries if not entry.value_kind.startswith("hidden_")]

    def _declared(self, number: int, argument: Argument, declared: Sequence[KernelArgument]) -> KernelArgument:
        names = [entry.name for entry in declared]
        if argument.name is not None and any(names):
            if names.count(argument.name) != 1:
                near = difflib.get_close_matches(argument.name, names, n=1)
                problem = "has no" if argument.name not in names else "has several"
                fail(
                    "E0226", f"the kernel {problem} argument named '{argument.name}'",
                    self.file.span(*self._place("args", number, "name")),
                    f"did you mean '{near[0]}'?" if near and problem == "has no" else f"its arguments: {', '.join(names)}",
                )  # fmt: skip
            return declared[names.index(argument.name)]
        if number >= len(declared):
            fail(
                "E0226", f"argument {number} is too many: the kernel takes {len(declared)}",
                self.file.span(*self._place("args", number)),
            )  # fmt: skip
        return declared[number]

    def _type(self, number: int, argument: Argument) -> ElementType:
        types = element_types(self.kernel.target)
        if argument.dtype not in types:
            place = self._place("args", number, *(("dtype",) if argument.dtype else ()))
            message = f"unknown dtype '{argument.dtype}'" if argument.dtype else "the argument needs a dtype"
            fail("E0225", message, self.file.span(*place), f"one of {', '.join(types)}")
        return types[argument.dtype]

    def _size(self, number: int, argument: Argument) -> int:
        given = [name for name in ("buffer", "scalar", "pointer", "bytes") if getattr(argument, name) is not None]
        if len(given) != 1:
            found = f"not {' and '.join(given)}" if given else "none is given"
            fail(
                "E0225",
                f"an argument is one of buffer, scalar, pointer, bytes: {found}",
                self.file.span(*self._place("args", number)),
            )
        if argument.scalar is not None:
            return self._type(number, argument).size
        return len(self._raw(number, argument)) if argument.bytes is not None else POINTER_BYTES

    def _raw(self, number: int, argument: Argument) -> bytes:
        try:
            data = bytes.fromhex(argument.bytes or "")
        except ValueError:
            data = b""
        if not data:
            fail("E0225", 'bytes is not hexadecimal text such as "00ff"', self.file.span(*self._place("args", number, "bytes")))
        return data

    def _place_argument(self, number: int, argument: Argument, slot: _Slot) -> None:
        place = self._place("args", number)
        size = self._size(number, argument)
        if slot.declared and slot.declared.size != size:
            fail(
                "E0226", f"the kernel's argument at offset {slot.offset} has {slot.declared.size} bytes, this one {size}",
                self.file.span(*place),
            )  # fmt: skip
        if argument.buffer is not None:
            self._buffer(number, argument)
            self.pointers.append(PointerSlot(slot.offset, len(self.buffers) - 1))
        elif argument.scalar is not None:
            self.pieces[slot.offset] = self._scalar(number, argument)
        elif argument.bytes is not None:
            self.pieces[slot.offset] = self._raw(number, argument)

    def _scalar(self, number: int, argument: Argument) -> bytes:
        element = self._type(number, argument)
        place = self._place("args", number, "scalar")
        assert argument.scalar is not None
        value = self._number(argument.scalar, place)
        if not element.is_float:
            bits = element.size * 8
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if element.name[0] == "i" else (0, (1 << bits) - 1)
            if not isinstance(value, int) or not low <= value <= high:
                fail("E0225", f"{value} is no {element.name}", self.file.span(*place))
            return value.to_bytes(element.size, "little", signed=element.name[0] == "i")
        return element.encode(np.array([value], dtype=np.float64)).tobytes()

    def _buffer(self, number: int, argument: Argument) -> None:
        place = self._place("args", number)
        element = self._type(number, argument)
        assert argument.buffer is not None
        shape = [self._whole(item, (*place, "buffer")) for item in argument.buffer]
        if not shape or any(item < 1 for item in shape):
            fail("E0225", f"a buffer's shape is whole numbers from 1, not {shape}", self.file.span(*place, "buffer"))
        count = math.prod(shape)
        total = self.taken + count * element.size + sum(buffer.data.size for buffer in self.buffers)
        if total > MAX_BUFFER_BYTES:
            fail("E0225", f"the buffers take {total} bytes, more than {MAX_BUFFER_BYTES}", self.file.span(*place, "buffer"))
        if count > MAX_FILLED and argument.role != "out":
            fail("E0225", f"{count} elements are more than the {MAX_FILLED} that are filled", self.file.span(*place, "buffer"))
        name = argument.name or f"arg{number}"
        if any(buffer.name == name for buffer in self.buffers):
            fail("E0225", f"two buffers are named '{name}'", self.file.span(*place, "name"))
        if argument.role == "out":
            if argument.fill is not None:
                fail("E0225", "an output has no fill: it starts undefined", self.file.span(*place, "fill"), 'role = "inout"?')
            data = np.full(count * element.size, POISON, dtype=np.uint8)
        else:
            data = element.encode(fill_values(self._fill(number, argument, element), count))
        self.buffers.append(Buffer(name, data, argument.role != "in", argument.role != "out", element.name))

    def _fill(self, number: int, argument: Argument, element: ElementType) -> Fill:
        place = self._place("args", number)
        if argument.fill not in FILLS:
            message = f"unknown fill '{argument.fill}'" if argument.fill else "an input buffer needs a fill"
            fail("E0225", message, self.file.span(*place, "fill"), f"one of {', '.join(FILLS)}")
        if argument.fill in ("normal", "special", "uniform") and not element.is_float:
            fail("E0225", f"fill '{argument.fill}' needs a float dtype", self.file.span(*place, "fill"), 'use "integers"')
        seed = number if argument.seed is None else argument.seed
        given = {
            name: float(self._number(value, (*place, name)))
            for name in ("low", "high", "value", "scale", "share")
            if (value := getattr(argument, name)) is not None
        }
        for name, value in given.items():
            if (argument.fill == "integers" or not element.is_float) and not abs(value) < MAX_WHOLE:
                fail("E0225", f"{name} {value} is no whole number that a fill can make", self.file.span(*place, name))
        fill = Fill(argument.fill, seed, **given, specials=special_values(element) if argument.fill == "special" else ())
        if not 0 < fill.share <= 1:
            fail("E0225", f"share {fill.share} is not above 0 and at most 1", self.file.span(*place, "share"))
        if argument.fill in ("uniform", "integers") and not fill.low < fill.high:
            fail("E0225", f"low {fill.low} is not below high {fill.high}", self.file.span(*place))
        return fill

    def _point(self, number: int, argument: Argument, slot: _Slot) -> None:
        place = self._place("args", number)
        names = [buffer.name for buffer in self.buffers]
        if argument.pointer not in names:
            fail(
                "E0225",
                f"no buffer is named '{argument.pointer}'",
                self.file.span(*place, "pointer"),
                f"buffers: {', '.join(names)}",
            )
        index = names.index(argument.pointer)
        offset = self._whole(argument.offset, (*place, "offset"))
        if not 0 <= offset <= self.buffers[index].data.size:
            fail("E0225", f"offset {offset} lies outside '{argument.pointer}'", self.file.span(*place, "offset"))
        self.pointers.append(PointerSlot(slot.offset, index, offset))

    def _refuse_missing(self, given: set[int]) -> None:
        missing = [entry for entry in self._visible() if entry.offset not in given]
        if missing and _first(self.case.rest, self.tree.rest, "refuse") == "refuse":
            shown = ", ".join(entry.name or f"the one at offset {entry.offset}" for entry in missing[:5])
            fail(
                "E0226", f"{len(missing)} arguments are not given: {shown}", self.file.span(*self._place("args")),
                'give them, or write rest = "zero"',
            )  # fmt: skip

    def _hidden(self, grid: tuple[int, int, int], workgroup: tuple[int, int, int], lds: int) -> None:
        """Fills hidden arguments by kind; those that point at runtime services stay null, so that using one faults.

        Source: LLVM AMDGPUUsage, code object v5 metadata.
        """
        known = {
            "hidden_dynamic_lds_size": lds,
            "hidden_grid_dims": max((i + 1 for i in range(3) if grid[i] * workgroup[i] > 1), default=1),
        }
        for axis, letter in enumerate("xyz"):
            known[f"hidden_block_count_{letter}"] = grid[axis]
            known[f"hidden_group_size_{letter}"] = workgroup[axis]
        for entry in self.kernel.metadata.arguments if self.kernel.metadata else ():
            if entry.value_kind in known:
                self.pieces[entry.offset] = known[entry.value_kind].to_bytes(entry.size, "little")

    def _pack(self) -> bytes:
        ends = [offset + len(piece) for offset, piece in self.pieces.items()]
        ends += [slot.offset + POINTER_BYTES for slot in self.pointers]
        if self.kernel.metadata:
            ends += [entry.offset + entry.size for entry in self.kernel.metadata.arguments]
            ends.append(self.kernel.metadata.kernarg_bytes or 0)
        if self.kernel.descriptor:
            ends.append(self.kernel.descriptor.kernarg_bytes)
        data = bytearray(max(ends, default=0))
        taken = sorted(
            [(o, o + len(p)) for o, p in self.pieces.items()] + [(s.offset, s.offset + POINTER_BYTES) for s in self.pointers]
        )
        for (_, end), (start, _) in itertools.pairwise(taken):
            if start < end:
                fail("E0226", f"arguments overlap at kernarg offset {start}", self.file.span(*self._place("args")))
        for offset, piece in self.pieces.items():
            data[offset : offset + len(piece)] = piece
        return bytes(data)
