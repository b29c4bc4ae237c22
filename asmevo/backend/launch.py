"""A dispatch: one launch of one kernel, resolved to bytes. Read by every backend; `verify.launch.dispatches` makes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two results may lie apart where exactness is waived; one bound that holds is enough, None bounds nothing."""

    ulps: int | None = None
    absolute: float | None = None
    relative: float | None = None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A device buffer's initial bytes, shape (n,) uint8. Backends copy it: a dispatch is never changed by a run.

    `defined` is False for outputs, whose initial bytes are poison: reading one before writing it is a fault in strict mode.
    `tolerance` is for comparisons that ask for it; None is exact.
    """

    name: str
    data: Bytes
    writable: bool
    defined: bool = True
    dtype: str = "u8"
    tolerance: Tolerance | None = None


@dataclass(frozen=True, slots=True)
class PointerSlot:
    """Eight kernarg bytes at `offset` hold the address of `buffers[buffer]` plus `addend`."""

    offset: int
    buffer: int
    addend: int = 0


@dataclass(frozen=True, slots=True)
class BufferLink:
    """Eight bytes at `offset` of `buffers[source]` hold the address of `buffers[target]` plus `addend`."""

    source: int
    offset: int
    target: int
    addend: int = 0


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Grid in workgroups, workgroup in work-items, kernarg bytes with pointer slots to fill, the buffers and their links."""

    name: str
    kernel: str
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    kernarg: bytes
    pointers: tuple[PointerSlot, ...]
    buffers: tuple[Buffer, ...]
    dynamic_lds_bytes: int = 0
    links: tuple[BufferLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """What a strict run reports: a stable kind, a sentence, and where: kernel, instruction, wave, lane, work-group.

    `source` is the instruction's place in a source text, `register` or `place` what was touched ("v2", "out+0x10"), and `cause`
    the uid of the instruction that should have been waited for, or that this one conflicts with, with its `cause_offset`. Each
    is None where it does not apply or is not known.

    Kinds: pending-read, pending-write, uninitialised-register, uninitialised-memory, out-of-bounds, misaligned, race, budget,
    unsupported, trap, bad-control-flow, write-to-readonly.
    """

    kind: str
    message: str
    uid: int
    offset: int | None
    wave: int
    lane: int | None = None
    workgroup: tuple[int, int, int] = (0, 0, 0)
    kernel: str = ""
    source: str | None = None
    register: str | None = None
    place: str | None = None
    cause: int | None = None
    cause_offset: int | None = None


@dataclass(frozen=True, slots=True)
class MetApart:
    """Two barriers at which waves of one work-group met, each at its own: by uid, and by offset where it is known."""

    uids: tuple[int, int]
    offsets: tuple[int | None, int | None]

    def __str__(self) -> str:
        places = (f"instruction {u}" if o is None else f"+0x{o:x}" for u, o in zip(self.uids, self.offsets, strict=True))
        return " and ".join(places)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left: each buffer's final bytes (order of the dispatch), executions of each instruction by uid, faults.

    `apart` tells of barriers at which waves met, each at its own: the hardware allows it, and often it is not meant.
    `approximate` is True when an executed instruction's exact bits are not published (see semantics). `written` tells, for
    each buffer, which bytes were written, shape (n,) bool.
    """

    buffers: tuple[Bytes, ...]
    written: tuple[npt.NDArray[np.bool_], ...]
    executions: dict[int, int]
    faults: tuple[Fault, ...]
    wave_instructions: int
    approximate: bool
    seed: int
    apart: MetApart | None = None
