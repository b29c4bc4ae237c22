"""A trial: one production kernel's launch file, and what its run must leave; how it is run and judged.

Owns what references are given and the comparison. It knows no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.emulator import run
from asmevo.backend.launch import Buffer, Dispatch
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.data import element_types
from asmevo.verify.launch.dispatches import load_launches
from examples.references.expected import Expected, between
from tests.support import EXAMPLES

Array = npt.NDArray[Any]
LAUNCHES = EXAMPLES / "production"


@dataclass(frozen=True, slots=True)
class Given:
    """The numbers that a launch puts into its buffers."""

    dispatch: Dispatch
    target: str

    def __call__(self, name: str, *shape: int) -> Array:
        """A buffer as numbers of this shape, floats as float32."""
        (buffer,) = (buffer for buffer in self.dispatch.buffers if buffer.name == name)
        element = element_types(self.target)[buffer.dtype]
        values = element.decode(buffer.data)
        return (values.astype(np.float32) if element.is_float else values.astype(np.int64)).reshape(shape)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Expected results by buffer name.

    `canonical` brings an output whose order is free into the expected one. `scratch` names outputs that mean nothing.
    """

    expected: Mapping[str, Expected]
    canonical: Mapping[str, Callable[[Array], Array]] = field(default_factory=dict[str, Callable[[Array], Array]])
    scratch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel under test: its family, its object below hsa/gfx942, the name of a launch in its launch file, its reference.

    `tolerance` says what results may differ by and why. `why_fast` says why the strict mode can't be used; empty where it is.
    `alike` is the least share of results, by buffer, that must have the reference's very bits.
    """

    family: str
    path: str
    shape: str
    reference: Callable[[Given], Wanted]
    tolerance: str
    why_fast: str = ""
    alike: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def mode(self) -> str:
        return "fast" if self.why_fast else "strict"

    @property
    def name(self) -> str:
        return f"{self.path.removesuffix('.co')}: {self.shape}"

    @property
    def launch_file(self) -> Path:
        """The kernel's launch file; the case's launch in it is called `shape`."""
        return LAUNCHES / f"{Path(self.path).stem}.toml"

    def dispatch(self, kernel: Kernel) -> Dispatch:
        """The launch, of the kernel's object."""
        (found,) = (one for one in load_launches(self.launch_file, kernel) if one.name == self.shape)
        return found


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


def judge(kernel: Kernel, dispatch: Dispatch, wanted: Wanted, mode: str, seed: int = 0) -> list[Judged]:
    """Runs a launch; raises AssertionError for a fault, a result out of bounds, or a result where none is expected."""
    result = run(kernel, dispatch, mode=mode, seed=seed)
    assert not result.faults, result.faults[0]
    types = element_types(kernel.target)
    judged: list[Judged] = []
    for buffer, data, written in zip(dispatch.buffers, result.buffers, result.written, strict=True):
        if buffer.name not in wanted.expected:
            assert not buffer.writable or buffer.name in wanted.scratch, f"no reference for {buffer.name}"
            continue
        canonical = wanted.canonical.get(buffer.name, _as_it_is)
        judged.append(_compare(buffer, types[buffer.dtype], data, written, wanted.expected[buffer.name], canonical))
    return judged


def tried(kernel: Kernel, case: Case) -> list[Judged]:
    """Runs a case's launch and compares with its reference, as `judge`."""
    dispatch = case.dispatch(kernel)
    return judge(kernel, dispatch, case.reference(Given(dispatch, kernel.target)), case.mode)


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
