"""A dispatch's buffers on the device, each between two guard zones.

Owns allocation, contents before a run, and what is read back. A write beyond a buffer by less than a guard zone is seen; one
further away may be a memory fault, or hit another buffer's guard.
"""

# hip-python has no types that a strict check could use.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from asmevo.backend.hip.runtime import Runtime
from asmevo.backend.launch import Bytes, Dispatch

GUARD_BYTES = 4096
"""Bytes of each guard zone; a multiple of every alignment a kernel may want, so that buffers stay aligned."""


@dataclass(slots=True)
class GuardedBuffers:
    """Device memory for one dispatch. Closing frees it."""

    runtime: Runtime
    dispatch: Dispatch
    _blocks: list[object] = field(default_factory=list[object])
    _images: dict[int, list[Bytes]] = field(default_factory=dict[int, list[Bytes]])

    def __enter__(self) -> GuardedBuffers:
        try:
            for buffer in self.dispatch.buffers:
                self._blocks.append(self.runtime.call("hipMalloc", buffer.data.size + 2 * GUARD_BYTES))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what was allocated."""
        while self._blocks:
            self.runtime.call("hipFree", self._blocks.pop())

    def address(self, buffer: int) -> int:
        """Where a buffer begins on the device."""
        return int(self._blocks[buffer]) + GUARD_BYTES  # type: ignore[call-overload]

    def kernarg(self) -> bytes:
        """The kernel arguments with this memory's addresses in their slots."""
        filled = bytearray(self.dispatch.kernarg)
        for slot in self.dispatch.pointers:
            struct.pack_into("<Q", filled, slot.offset, (self.address(slot.buffer) + slot.addend) & (2**64 - 1))
        return bytes(filled)

    def fill(self, poison: int, *, only_changed: bool = False) -> None:
        """Put every buffer and guard zone into the state before a run; with `only_changed` what a run changes."""
        images = self._images.setdefault(poison, []) or self._made(poison)
        for number, image in enumerate(images):
            buffer = self.dispatch.buffers[number]
            if not only_changed or (buffer.writable and buffer.defined):
                self._copy(self._blocks[number], image, image.size, "hipMemcpyHostToDevice")

    def _made(self, poison: int) -> list[Bytes]:
        images = self._images[poison]
        for number, buffer in enumerate(self.dispatch.buffers):
            size = buffer.data.size
            image = np.random.default_rng([poison, number]).integers(0, 256, size + 2 * GUARD_BYTES, np.uint8)
            if buffer.defined:
                image[GUARD_BYTES : GUARD_BYTES + size] = buffer.data.reshape(-1)
            images.append(image)
        for link in self.dispatch.links:
            start = GUARD_BYTES + link.offset
            address = self.address(link.target) + link.addend
            images[link.source][start : start + 8] = np.frombuffer(struct.pack("<Q", address), np.uint8)
        return images

    def read(self, poison: int) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
        """Each buffer's bytes, and the names of buffers whose guard zones were overwritten since `fill`."""
        contents: list[bytes] = []
        overrun: list[str] = []
        for number, image in enumerate(self._images[poison]):
            now = np.empty_like(image)
            self._copy(now, self._blocks[number], now.size, "hipMemcpyDeviceToHost")
            end = now.size - GUARD_BYTES
            contents.append(now[GUARD_BYTES:end].tobytes())
            if not (np.array_equal(now[:GUARD_BYTES], image[:GUARD_BYTES]) and np.array_equal(now[end:], image[end:])):
                overrun.append(self.dispatch.buffers[number].name)
        return tuple(contents), tuple(overrun)

    def _copy(self, target: object, source: object, size: int, kind: str) -> None:
        self.runtime.call("hipMemcpy", target, source, size, getattr(self.runtime.hip.hipMemcpyKind, kind))
