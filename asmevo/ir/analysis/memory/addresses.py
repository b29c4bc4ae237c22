"""Addresses of memory instructions in affine form, with the kernel argument or buffer descriptor that they start from.

Owns the views of `values` that the other memory analyses read: a sum of named terms, the part of it that depends on the lane,
and the argument. What cannot be told is None. It must not judge accesses: conflicts and coalescing are analyses of their own.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field

from asmevo.ir.abi import KernelArgument
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.induction import Inductions, Resolved
from asmevo.ir.analysis.values.step import MemoryValues
from asmevo.ir.analysis.values.value import LANES, Kind, Place, Symbol, Table, Terms, Value, constant, describe_form
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Access, Space
from asmevo.ir.kernel import Kernel

_CARRIES = (Kind.QUOTIENT, Kind.SIGN)
_STRIDE_MASK = 0x3FFF
_MAX_NESTING = 4


@dataclass(frozen=True, slots=True)
class Term:
    """factor * name, the same in every lane unless `per_lane`. `kind` says what the name is: see `value.Kind`."""

    name: str
    kind: str
    factor: int
    per_lane: bool


@dataclass(frozen=True, slots=True)
class AddressForm:
    """A byte address (or offset) as  sum of terms + lanes[lane].

    `lanes` are 64 byte offsets with the constant part included; None when lanes differ by something unknown (a term that is
    `per_lane`). `assumes_no_wrap`: holds provided 32-bit sums on the way did not wrap.
    """

    terms: tuple[Term, ...]
    lanes: tuple[int, ...] | None
    assumes_no_wrap: bool
    _form: tuple[int, Terms, Table | None] = field(compare=False, repr=False)

    @property
    def text(self) -> str:
        """The form as text."""
        return describe_form(*self._form)

    @property
    def lane_stride_bytes(self) -> int | None:
        """The constant distance from lane to lane; None when there is none."""
        if self.lanes is None:
            return None
        step = self.lanes[1] - self.lanes[0]
        return step if all(b - a == step for a, b in zip(self.lanes, self.lanes[1:], strict=False)) else None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A buffer descriptor: the address of its buffer, and its size in bytes or records, as text; stride None when unknown."""

    base: AddressForm
    argument: KernelArgument | None
    argument_offset: int | None
    records: str | None
    stride_bytes: int | None


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One memory instruction with semantics. `addresses`: two for ds_read2 and its kin, None where nothing is known.

    `bytes` counts one address of one lane (of the wave for scalar loads). Buffer offsets count from the descriptor's base.
    `argument` is the kernel argument that the address surely starts from, `argument_offset` its place in the kernarg segment.
    `full`: every lane of the launch is active.
    """

    label: str
    index: int
    instruction: Instruction
    space: Space
    access: Access
    bytes: int
    addresses: tuple[AddressForm | None, ...]
    descriptor: Descriptor | None
    argument: KernelArgument | None
    argument_offset: int | None
    full: bool


@dataclass(frozen=True, slots=True)
class MemoryAccesses:
    """All memory accesses of reachable code in layout order, and what the forms rest on."""

    accesses: tuple[MemoryAccess, ...]
    assumptions: tuple[str, ...]

    @classmethod
    def compute(cls, kernel: Kernel, manager: AnalysisManager) -> MemoryAccesses:
        """The accesses of `kernel`."""
        values = manager.get(Values)
        builder = _Builder(values, manager.get(Inductions))
        found: list[MemoryAccess] = []
        for block in kernel.blocks:
            for index, instruction in enumerate(block.instructions):
                seen = values.memory.get((block.label, index))
                if seen is not None:
                    found.append(builder.access(block.label, index, instruction, seen))
        return cls(tuple(found), values.assumptions)


class _Builder:
    def __init__(self, values: Values, inductions: Inductions) -> None:
        self._values = values
        self._inductions = inductions
        self._domain = values.reader.domain
        self._kernargs = values.reader.entry.kernargs
        self._descriptors: dict[tuple[object, ...], Descriptor | None] = {}

    def access(self, label: str, index: int, instruction: Instruction, seen: MemoryValues) -> MemoryAccess:
        definition = instruction.definition
        assert definition is not None
        assert definition.space is not None
        assert definition.access is not None
        descriptor = None
        if seen.resource is not None and len(seen.resource) == 4:
            descriptor = self._descriptor(seen.resource)
        forms = tuple(self._form(value, seen, descriptor) for value in seen.addresses)
        argument, offset = None, None
        if descriptor is not None:
            argument, offset = descriptor.argument, descriptor.argument_offset
        elif definition.space is not Space.LDS and seen.resource is None:
            argument, offset = self._argument(self._inductions.resolve(seen.addresses[0]))
        return MemoryAccess(
            label, index, instruction, definition.space, definition.access, seen.operation.bytes, forms,
            descriptor, argument, offset, seen.full,
        )  # fmt: skip

    def _form(self, value: Value, seen: MemoryValues, descriptor: Descriptor | None) -> AddressForm | None:
        if seen.soffset is not None:
            value = self._domain.add(value, seen.soffset)
        if seen.index is not None:
            stride = None if descriptor is None else descriptor.stride_bytes
            if stride is None:
                return None
            value = self._domain.add(value, self._domain.multiply(seen.index, constant(value.bits, stride)))
        resolved = self._inductions.resolve(value)
        return None if resolved is None else _address_form(resolved, value.bits)

    def _descriptor(self, words: tuple[Value, ...]) -> Descriptor | None:
        key = tuple(id(word) for word in words)
        if key not in self._descriptors:
            self._descriptors[key] = self._describe(words)
        return self._descriptors[key]

    def _describe(self, words: tuple[Value, ...]) -> Descriptor | None:
        domain = self._domain
        high = domain.extract(words[1], 0, 16)
        base = self._inductions.resolve(domain.concat(high, words[0]))
        if base is None:
            return None
        records = self._inductions.resolve(words[2])
        upper = domain.extract(words[1], 16, 14)
        argument, offset = self._argument(base)
        return Descriptor(
            _address_form(base, 48),
            argument,
            offset,
            None if records is None else describe_form(records.const, records.terms, records.table),
            upper.const & _STRIDE_MASK if upper.is_constant else None,
        )

    def _without_moves(self, form: Resolved | None) -> Resolved | None:
        """The form with pointers that loops advance as they were before the loops: enough to tell whose pointer it is."""
        for _ in range(_MAX_NESTING):
            if form is None:
                return None
            places = {s.detail: f for s, f in form.terms if isinstance(s.detail, Place)}
            lower = [p for p, f in places.items() if f == 1 and places.get(Place(p.label, p.unit + 1)) == 1 << 32]
            if len(lower) != 1:
                return form
            before = self._inductions.pointer_before(lower[0].label, lower[0].unit)
            form = None if before is None else self._inductions.resolve(before)
        return form

    def _argument(self, form: Resolved | None) -> tuple[KernelArgument | None, int | None]:
        """The pointer argument that a form contains once; (None, offset) when metadata does not name it."""
        form = self._without_moves(form)
        if form is None:
            return None, None
        factors = {s.detail: f for s, f in form.terms if s.kind is Kind.KERNARG and isinstance(s.detail, int)}
        found: list[int] = []
        for offset, factor in factors.items():
            if factor != 1:
                continue
            argument = self._kernargs.at(offset)
            pointer = argument is not None and argument.value_kind.endswith(("buffer", "pointer"))
            if pointer or factors.get(offset + 4) == 1 << 32:
                found.append(offset)
        if len(found) != 1:
            return None, None
        return self._kernargs.at(found[0]), found[0]


def _is_carry(symbol: Symbol, factor: int) -> bool:
    return symbol.kind in _CARRIES and factor % (1 << 32) == 0


def _address_form(form: Resolved, bits: int) -> AddressForm:
    """The form as terms. What stands for carries beyond 32 bits is left out: it is 0 when sums do not wrap."""
    kept: Terms = tuple((s, f) for s, f in form.terms if not _is_carry(s, f))
    wraps = len(kept) != len(form.terms) or form.assumes_no_wrap
    const = form.const & ((1 << bits) - 1)
    const = const - (1 << bits) if const >> (bits - 1) else const
    terms = tuple(Term(s.name, s.kind.value, f, s.divergent) for s, f in kept)
    lanes: tuple[int, ...] | None = None
    if not any(term.per_lane for term in terms):
        lanes = (const,) * LANES if form.table is None else tuple([offset + const for offset in form.table.tolist()])
    return AddressForm(terms, lanes, wraps, (const, kept, form.table))
