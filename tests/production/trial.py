"""A trial: one production kernel's launch and what it must leave; how it is run and judged.

Owns packing of arguments and the comparison. It knows no kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import run
from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch_data import POISON, element_types
from examples.references.expected import Expected, between

Array = npt.NDArray[Any]
SLOT_BYTES = 16
"""AITER's hand-written kernels take each argument in a slot of this size."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A buffer argument. `values` are numbers of any shape, encoded as `dtype`; of an output only their count matters.

    `role` is in, out or inout as in launch files; `offset` is added to the address that the kernel gets, in bytes.
    """

    name: str
    values: Array
    dtype: str
    role: str = "in"
    offset: int = 0


def out(name: str, shape: Sequence[int], dtype: str) -> Tensor:
    """An output of this shape, undefined at the start."""
    return Tensor(name, np.zeros(tuple(shape), np.float32), dtype, "out")


@dataclass(frozen=True, slots=True)
class Null:
    """A null pointer."""


NULL = Null()
Slot = Tensor | Null | int | float
"""A buffer's address, a 32-bit whole number or a float32."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A launch and its expected results by buffer name.

    `natural` packs arguments at their own alignment, as compilers do. `canonical` brings an output whose order is free into
    the expected one. `scratch` names outputs that mean nothing. `behind` are buffers that no argument points to: they come
    first, so that the emulator's `base_address` gives their addresses.
    """

    grid: tuple[int, int, int]
    slots: tuple[Slot, ...]
    expected: Mapping[str, Expected]
    workgroup: int = 256
    natural: bool = False
    canonical: Mapping[str, Callable[[Array], Array]] = field(default_factory=dict[str, Callable[[Array], Array]])
    scratch: tuple[str, ...] = ()
    behind: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel under test: its family, its object below hsa/gfx942, the launch's shape in words, and its trial.

    `tolerance` says what results may differ by and why. `why_fast` says why the strict mode can't be used; empty where it is.
    `alike` is the least share of results, by buffer, that must have the reference's very bits.
    """

    family: str
    path: str
    shape: str
    build: Callable[[], Trial]
    tolerance: str
    why_fast: str = ""
    alike: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def mode(self) -> str:
        return "fast" if self.why_fast else "strict"

    @property
    def name(self) -> str:
        return f"{self.path.removesuffix('.co')}: {self.shape}"


@dataclass(frozen=True, slots=True)
class Judged:
    """How an output compares: the share with the reference's bits, the largest difference, the largest part of the bound."""

    buffer: str
    same_bits: float
    largest: float
    used: float


def near(value: Array, slack: Array | float, rounded: Callable[[Array], Array] = np.asarray) -> Expected:
    """Results within `slack` of `value`, float64, of any shape. Equal bits are those of `value` as float32, then `rounded`."""
    flat, room = np.broadcast_arrays(np.asarray(value, np.float64), np.asarray(slack, np.float64))
    return between((flat - room).ravel(), rounded(flat.ravel().astype(np.float32)), (flat + room).ravel())


def dispatch_of(kernel: Kernel, trial: Trial) -> Dispatch:
    """The trial as a dispatch of `kernel`; argument bytes that no slot fills are zero."""
    types = element_types(kernel.target)
    buffers = [_buffer(tensor, types) for tensor in trial.behind]
    pointers: list[PointerSlot] = []
    kernarg = bytearray()
    for slot in trial.slots:
        if isinstance(slot, (Tensor, Null)):
            raw = bytes(8)
        else:
            raw = np.float32(slot).tobytes() if isinstance(slot, float) else (slot & 0xFFFFFFFF).to_bytes(4, "little")
        kernarg += bytes(-len(kernarg) % (len(raw) if trial.natural else SLOT_BYTES))
        if isinstance(slot, Tensor):
            names = [buffer.name for buffer in buffers]
            if slot.name not in names:
                buffers.append(_buffer(slot, types))
                names.append(slot.name)
            pointers.append(PointerSlot(len(kernarg), names.index(slot.name), slot.offset))
        kernarg += raw
    declared = kernel.descriptor.kernarg_bytes if kernel.descriptor else 0
    return Dispatch(
        kernel.name, kernel.name, trial.grid, (trial.workgroup, 1, 1),
        bytes(kernarg.ljust(declared, b"\0")), tuple(pointers), tuple(buffers),
    )  # fmt: skip


def _buffer(tensor: Tensor, types: Mapping[str, Any]) -> Buffer:
    element = types[tensor.dtype]
    if tensor.role == "out":
        data = np.full(math.prod(tensor.values.shape) * element.size, POISON, np.uint8)
    else:
        data = element.encode(np.ascontiguousarray(tensor.values))
    return Buffer(tensor.name, data, tensor.role != "in", tensor.role != "out", tensor.dtype)


def judge(kernel: Kernel, trial: Trial, mode: str, seed: int = 0) -> list[Judged]:
    """Runs the trial; raises AssertionError for a fault, a result out of bounds, or a result where none is expected."""
    dispatch = dispatch_of(kernel, trial)
    result = run(kernel, dispatch, mode=mode, seed=seed)
    assert not result.faults, result.faults[0]
    types = element_types(kernel.target)
    judged: list[Judged] = []
    for buffer, data, written in zip(dispatch.buffers, result.buffers, result.written, strict=True):
        if buffer.name not in trial.expected:
            assert not buffer.writable or buffer.name in trial.scratch, f"no reference for {buffer.name}"
            continue
        canonical = trial.canonical.get(buffer.name, _as_it_is)
        judged.append(_compare(buffer, types[buffer.dtype], data, written, trial.expected[buffer.name], canonical))
    return judged


def _as_it_is(values: Array) -> Array:
    return values


def _compare(
    buffer: Buffer, element: Any, data: Array, written: Array, wanted: Expected, canonical: Callable[[Array], Array]
) -> Judged:
    actual = np.asarray(canonical(element.decode(data)), wanted.value.dtype)
    if not buffer.defined:
        touched = written.reshape(-1, element.size).all(axis=1)
        assert touched.all(), f"{buffer.name}[{np.flatnonzero(~touched)[0]}] was not written"
    good = wanted.accepts(actual)
    wrong = np.flatnonzero(~good)
    if wrong.size:
        at = wrong[0]
        raise AssertionError(
            f"{buffer.name}: {wrong.size} of {actual.size} wrong, first [{at}]: {actual[at]}, not {wanted.value[at]}"
            f" ({wanted.low[at]} to {wanted.high[at]})"
        )
    with np.errstate(all="ignore"):
        middle = wanted.value.astype(np.float64)
        apart = np.nan_to_num(np.abs(actual.astype(np.float64) - middle), posinf=0.0)
        room = np.where(actual < wanted.value, middle - wanted.low, wanted.high - middle)
        used = np.where(apart > 0, apart / room, 0.0)
    return Judged(buffer.name, wanted.same_bits(actual), float(apart.max(initial=0)), float(used.max(initial=0)))
