"""Launch files matched to a kernel: each case becomes a dispatch with its buffers and packed kernel arguments.

Owns the meaning of a launch file. The form is `verify.launch.file`'s, number formats are `verify.launch.data`'s.
"""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asmevo.backend.launch import Buffer, BufferLink, Dispatch, PointerSlot
from asmevo.ir.abi import KernelArgument
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.contents import make_buffer
from asmevo.verify.launch.data import ElementType, element_types
from asmevo.verify.launch.file import MAX_CASES, Argument, Key, LaunchFile, Link, Whole, parse_launch_file, read_launch_file
from asmevo.verify.launch.scope import Scope, first

MAX_GROUP_ITEMS = 1024
MAX_GRID = 1 << 31
MAX_GROUPS = 1 << 20
"""Work-groups of one case, which are run one by one."""
MAX_LDS_BYTES = 160 * 1024
MAX_KERNARG_BYTES = 1 << 16
POINTER_BYTES = 8


def load_launches(path: Path | str, kernel: Kernel) -> list[Dispatch]:
    """The cases of a launch file as dispatches of `kernel`, in file order; a case with a sweep is one for each choice.

    Arguments go to metadata arguments by name where the metadata has names and the file gives one, else by position among the
    visible ones; without metadata they are packed by natural alignment. Hidden arguments are filled from the launch. The same
    file gives the same bytes everywhere.

    Raises: DiagnosticError E0220 to E0226, pointing into the file.
    """
    return _build_all(read_launch_file(Path(path)), kernel)


def parse_launches(text: str, name: str, kernel: Kernel) -> list[Dispatch]:
    """As `load_launches`, of a text that messages call `name`."""
    return _build_all(parse_launch_file(text, Path(name)), kernel)


def _build_all(file: LaunchFile, kernel: Kernel) -> list[Dispatch]:
    tree = file.tree
    if tree.kernel is not None and tree.kernel != kernel.name:
        Scope(file, (), tree, tree).refuse(
            "E0223", f"the file launches '{tree.kernel}', the kernel is '{kernel.name}'", ("kernel",)
        )
    dispatches: list[Dispatch] = []
    taken = 0
    names: set[str] = set()
    for scope, name in _scopes(file):
        if name in names:
            scope.refuse("E0223", f"two cases are named '{name}'", (*scope.key, "name"))
        names.add(name)
        dispatches.append(_Builder(scope, kernel, name, taken).build())
        taken += sum(buffer.data.size for buffer in dispatches[-1].buffers)
    return dispatches


def _scopes(file: LaunchFile) -> Iterator[tuple[Scope, str]]:
    """Each launch with its name. Raises E0224 for sweeps that are empty or too many."""
    tree = file.tree
    total = 0
    for number, case in enumerate(tree.case or [tree]):
        key: Key = ("case", number) if tree.case else ()
        name = case.name or f"case{number}"
        sweep = {**tree.sweep, **case.sweep}
        place = (*(key if case.sweep else ()), "sweep")
        empty = [swept for swept, numbers in sweep.items() if not numbers]
        if empty:
            Scope(file, key, case, tree).refuse("E0224", f"sweep has no numbers for '{empty[0]}'", place)
        total += math.prod(len(numbers) for numbers in sweep.values())
        if total > MAX_CASES:
            Scope(file, key, case, tree).refuse("E0224", f"more than {MAX_CASES} launches", place)
        for choice in itertools.product(*sweep.values()):
            chosen = dict(zip(sweep, choice, strict=True))
            shown = ", ".join([name, *(f"{swept} = {value}" for swept, value in chosen.items())])
            yield Scope(file, key, case.model_copy(update={"values": {**case.values, **chosen}}), tree), shown


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where an argument goes: offset, and the metadata's entry when there is one."""

    offset: int
    declared: KernelArgument | None


def _is_piece(argument: Argument, declared: KernelArgument, size: int) -> bool:
    """Whether an argument may be the first part of a structure that is passed by value."""
    is_structure = declared.value_kind == "by_value" and declared.size > POINTER_BYTES
    return argument.at is not None and is_structure and size < declared.size


@dataclass(slots=True)
class _Builder:
    """Builds one dispatch."""

    scope: Scope
    kernel: Kernel
    name: str
    taken: int = 0
    """Bytes of earlier cases' buffers."""
    buffers: list[Buffer] = field(default_factory=lambda: [])
    pointers: list[PointerSlot] = field(default_factory=lambda: [])
    links: list[BufferLink] = field(default_factory=lambda: [])
    pieces: dict[int, bytes] = field(default_factory=lambda: {})

    def build(self) -> Dispatch:
        case, tree = self.scope.case, self.scope.tree
        grid = self._triple("grid", first(case.grid, tree.grid, []), MAX_GRID)
        workgroup = self._triple("workgroup", first(case.workgroup, tree.workgroup, []), MAX_GROUP_ITEMS)
        self._check_group(workgroup)
        self._check_grid(grid)
        place = self.scope.place("dynamic_lds_bytes")
        lds = self.scope.whole(first(case.dynamic_lds_bytes, tree.dynamic_lds_bytes, 0), place)
        if not 0 <= lds <= MAX_LDS_BYTES:
            self.scope.refuse("E0224", f"dynamic_lds_bytes is {lds}, not within 0 to {MAX_LDS_BYTES}", place)
        arguments = first(case.args, tree.args, [])
        slots = self._slots(arguments)
        for number, (argument, slot) in enumerate(zip(arguments, slots, strict=True)):
            self._place_argument(number, argument, slot)
        others = first(case.buffers, tree.buffers, [])
        for number, argument in enumerate(others):
            self._other_buffer(number, argument)
        for number, argument in enumerate(arguments):
            if argument.pointer is not None:
                self._point(number, argument, slots[number])
        for name, given in (("args", arguments), ("buffers", others)):
            for number, argument in enumerate(given):
                self._link(self.scope.place(name, number), argument)
        self._refuse_missing({slot.offset for slot in slots})
        self._hidden(grid, workgroup, lds)
        return Dispatch(
            self.name, self.kernel.name, grid, workgroup, self._pack(), tuple(self.pointers), tuple(self.buffers), lds,
            tuple(self.links),
        )  # fmt: skip

    def _triple(self, name: str, given: Sequence[Whole], most: int) -> tuple[int, int, int]:
        place = self.scope.place(name)
        if not given:
            self.scope.refuse("E0224", f"case '{self.name}' has no {name}", self.scope.key, f"write {name} = [..., 1, 1]")
        sizes = [self.scope.whole(item, place) for item in given] + [1] * (3 - len(given))
        for size in sizes:
            if not 1 <= size <= most:
                self.scope.refuse("E0224", f"{name} has {size}, not within 1 to {most}", place)
        return sizes[0], sizes[1], sizes[2]

    def _check_grid(self, grid: tuple[int, int, int]) -> None:
        groups = math.prod(grid)
        if groups > MAX_GROUPS:
            message = f"the grid has {groups} work-groups, more than {MAX_GROUPS}"
            self.scope.refuse("E0224", message, self.scope.place("grid"), "a smaller grid that reaches the same code will do")

    def _check_group(self, workgroup: tuple[int, int, int]) -> None:
        items = math.prod(workgroup)
        metadata = self.kernel.metadata
        most = min((metadata and metadata.max_flat_workgroup_size) or MAX_GROUP_ITEMS, MAX_GROUP_ITEMS)
        if items > most:
            self.scope.refuse(
                "E0224",
                f"the workgroup has {items} work-items; this kernel takes {most}",
                self.scope.place("workgroup"),
            )

    def _slots(self, arguments: Sequence[Argument]) -> list[_Slot]:
        declared = self._visible()
        slots: list[_Slot] = []
        end = 0
        for number, argument in enumerate(arguments):
            place = self.scope.place("args", number)
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
                self.scope.refuse("E0226", f"two arguments are at kernarg offset {slots[-1].offset}", place)
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
                self.scope.refuse(
                    "E0226", f"the kernel {problem} argument named '{argument.name}'",
                    self.scope.place("args", number, "name"),
                    f"did you mean '{near[0]}'?" if near and problem == "has no" else f"its arguments: {', '.join(names)}",
                )  # fmt: skip
            return declared[names.index(argument.name)]
        if number >= len(declared):
            self.scope.refuse(
                "E0226", f"argument {number} is too many: the kernel takes {len(declared)}",
                self.scope.place("args", number),
            )  # fmt: skip
        return declared[number]

    def _type(self, place: Key, argument: Argument) -> ElementType:
        types = element_types(self.kernel.target)
        if argument.dtype not in types:
            message = f"unknown dtype '{argument.dtype}'" if argument.dtype else "the argument needs a dtype"
            where = (*place, "dtype") if argument.dtype else place
            self.scope.refuse("E0225", message, where, f"one of {', '.join(types)}")
        return types[argument.dtype]

    def _size(self, number: int, argument: Argument) -> int:
        given = [name for name in ("buffer", "scalar", "pointer", "bytes") if getattr(argument, name) is not None]
        if len(given) != 1:
            found = f"not {' and '.join(given)}" if given else "none is given"
            self.scope.refuse(
                "E0225",
                f"an argument is one of buffer, scalar, pointer, bytes: {found}",
                self.scope.place("args", number),
            )
        if argument.scalar is not None:
            return self._type(self.scope.place("args", number), argument).size
        return len(self._raw(number, argument)) if argument.bytes is not None else POINTER_BYTES

    def _raw(self, number: int, argument: Argument) -> bytes:
        try:
            data = bytes.fromhex(argument.bytes or "")
        except ValueError:
            data = b""
        if not data:
            self.scope.refuse(
                "E0225", 'bytes is not hexadecimal text such as "00ff"', self.scope.place("args", number, "bytes")
            )
        return data

    def _place_argument(self, number: int, argument: Argument, slot: _Slot) -> None:
        place = self.scope.place("args", number)
        size = self._size(number, argument)
        if slot.declared and slot.declared.size != size and not _is_piece(argument, slot.declared, size):
            self.scope.refuse(
                "E0226", f"the kernel's argument at offset {slot.offset} has {slot.declared.size} bytes, this one {size}",
                place,
            )  # fmt: skip
        if argument.buffer is not None:
            self._buffer(place, number, argument, self._type(place, argument), argument.name or f"arg{number}")
            self.pointers.append(PointerSlot(slot.offset, len(self.buffers) - 1))
        elif argument.scalar is not None:
            self.pieces[slot.offset] = self._scalar(number, argument)
        elif argument.bytes is not None:
            self.pieces[slot.offset] = self._raw(number, argument)

    def _scalar(self, number: int, argument: Argument) -> bytes:
        element = self._type(self.scope.place("args", number), argument)
        place = self.scope.place("args", number, "scalar")
        assert argument.scalar is not None
        value = self.scope.number(argument.scalar, place)
        if not element.is_float:
            bits = element.size * 8
            low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if element.name[0] == "i" else (0, (1 << bits) - 1)
            if not isinstance(value, int) or not low <= value <= high:
                self.scope.refuse("E0225", f"{value} is no {element.name}", place)
            return value.to_bytes(element.size, "little", signed=element.name[0] == "i")
        return element.encode(np.array([self.scope.real(argument.scalar, place)], dtype=np.float64)).tobytes()

    def _buffer(self, place: Key, number: int, argument: Argument, element: ElementType, name: str) -> None:
        if any(buffer.name == name for buffer in self.buffers):
            self.scope.refuse("E0225", f"two buffers are named '{name}'", (*place, "name"))
        case, tree = self.scope.case, self.scope.tree
        seed = (number if argument.seed is None else argument.seed) + (case.seed or tree.seed)
        taken = self.taken + sum(buffer.data.size for buffer in self.buffers)
        self.buffers.append(make_buffer(self.scope, place, argument, name, element, seed, taken))

    def _other_buffer(self, number: int, argument: Argument) -> None:
        """A buffer that no argument holds."""
        place = self.scope.place("buffers", number)
        if argument.buffer is None or argument.name is None:
            self.scope.refuse("E0225", "what stands in buffers has a name and a buffer's shape", place)
        odd = [key for key in ("at", "scalar", "pointer", "bytes") if getattr(argument, key) is not None]
        if odd:
            self.scope.refuse("E0225", f"what stands in buffers has no {odd[0]}", (*place, odd[0]))
        self._buffer(place, number, argument, self._type(place, argument), argument.name)

    def _link(self, place: Key, argument: Argument) -> None:
        """The addresses that a buffer of pointers holds; an empty name leaves a null pointer."""
        if argument.buffer is None or (argument.to is None and argument.links is None):
            return
        names = [buffer.name for buffer in self.buffers]
        source = next(n for n, name in enumerate(names) if name == (argument.name or f"arg{place[-1]}"))
        for link in argument.links or ():
            self._link_inside(place, names, source, link)
        if argument.to is None:
            return
        if len(argument.to) * POINTER_BYTES > self.buffers[source].data.size:
            self.scope.refuse("E0225", f"{len(argument.to)} pointers do not fit the buffer", (*place, "to"))
        for position, name in enumerate(argument.to):
            if name and name not in names:
                self.scope.refuse("E0225", f"no buffer is named '{name}'", (*place, "to"), f"buffers: {', '.join(names)}")
            if name:
                self.links.append(BufferLink(source, POINTER_BYTES * position, names.index(name)))

    def _link_inside(self, place: Key, names: Sequence[str], source: int, link: Link) -> None:
        """One pointer among the contents of a file."""
        if link.to not in names:
            self.scope.refuse("E0225", f"no buffer is named '{link.to}'", (*place, "links"), f"buffers: {', '.join(names)}")
        target = names.index(link.to)
        if link.at + POINTER_BYTES > self.buffers[source].data.size:
            self.scope.refuse("E0225", f"a pointer at byte {link.at} does not fit the buffer", (*place, "links"))
        if link.offset > self.buffers[target].data.size:
            self.scope.refuse("E0225", f"offset {link.offset} lies outside '{link.to}'", (*place, "links"))
        self.links.append(BufferLink(source, link.at, target, link.offset))

    def _point(self, number: int, argument: Argument, slot: _Slot) -> None:
        place = self.scope.place("args", number)
        names = [buffer.name for buffer in self.buffers]
        if argument.pointer not in names:
            self.scope.refuse(
                "E0225",
                f"no buffer is named '{argument.pointer}'",
                (*place, "pointer"),
                f"buffers: {', '.join(names)}",
            )
        index = names.index(argument.pointer)
        offset = self.scope.whole(argument.offset, (*place, "offset"))
        if not 0 <= offset <= self.buffers[index].data.size:
            self.scope.refuse("E0225", f"offset {offset} lies outside '{argument.pointer}'", (*place, "offset"))
        self.pointers.append(PointerSlot(slot.offset, index, offset))

    def _refuse_missing(self, given: set[int]) -> None:
        missing = [entry for entry in self._visible() if entry.offset not in given]
        if missing and first(self.scope.case.rest, self.scope.tree.rest, "refuse") == "refuse":
            shown = ", ".join(entry.name or f"the one at offset {entry.offset}" for entry in missing[:5])
            self.scope.refuse(
                "E0226", f"{len(missing)} arguments are not given: {shown}", self.scope.place("args"),
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
        if max(ends, default=0) > MAX_KERNARG_BYTES:
            message = f"the kernel's arguments take {max(ends)} bytes, more than {MAX_KERNARG_BYTES}"
            self.scope.refuse("E0226", message, self.scope.place("args"))
        data = bytearray(max(ends, default=0))
        taken = sorted(
            [(o, o + len(p)) for o, p in self.pieces.items()] + [(s.offset, s.offset + POINTER_BYTES) for s in self.pointers]
        )
        for (_, end), (start, _) in itertools.pairwise(taken):
            if start < end:
                self.scope.refuse("E0226", f"arguments overlap at kernarg offset {start}", self.scope.place("args"))
        for offset, piece in self.pieces.items():
            data[offset : offset + len(piece)] = piece
        return bytes(data)
