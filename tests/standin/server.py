"""Emulates the launches of a stand-in library: device memory is a shared file, each launch a message."""

from __future__ import annotations

import ctypes
import mmap
import random
import socket
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from asmevo.backend.emulator import run
from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.frontend.codeobject import load
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel

MEMORY_BYTES = 1 << 28
SOURCE = Path(__file__).with_name("amdhip64.c")
_DONE, _FAULT, _HANG = range(3)
_BUDGET = 2_000_000
"""Wave-instructions after which a launch counts as one that never ends."""

Clock = Callable[[bytes, int, random.Random], float]
"""Milliseconds of a launch by the object's bytes, its wave-instructions and a seeded source of noise."""


def steady(data: bytes, instructions: int, noise: random.Random) -> float:
    """A microsecond for each ten wave-instructions, with 0.2 % of noise."""
    del data
    return instructions / 1e4 * (1 + noise.gauss(0, 0.002))


def build_library(folder: Path) -> Path:
    """The stand-in compiled as libamdhip64.so into `folder`."""
    library = folder / "libamdhip64.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, SOURCE], check=True)
    return library


def _arch_offset() -> int:
    """Where hip-python reads the target's name in a device's properties: every four bytes say where they are."""
    from hip import hip

    properties = hip.hipDeviceProp_t()
    size = properties.c_sizeof()
    text = "".join(f"{offset:04d}" for offset in range(0, size, 4)).encode()
    ctypes.memmove(int(properties), text, size)
    return int(properties.gcnArchName[:4])


@dataclass(slots=True)
class StandIn:
    """The emulating side, one thread a connection; `environment` is what the child process needs to find it."""

    folder: Path
    library: Path
    target: str
    clock: Clock = steady
    extra: dict[str, str] = field(default_factory=dict[str, str])
    launches: int = 0
    _listener: socket.socket = field(init=False)
    _memory: mmap.mmap = field(init=False)
    _noise: random.Random = field(default_factory=lambda: random.Random(0))

    def __enter__(self) -> StandIn:
        with (self.folder / "memory").open("w+b") as file:
            file.truncate(MEMORY_BYTES)
            self._memory = mmap.mmap(file.fileno(), MEMORY_BYTES)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / "socket"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.close()

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the child process."""
        return {
            "LD_LIBRARY_PATH": str(self.library.parent),
            "STANDIN_SOCKET": str(self.folder / "socket"),
            "STANDIN_MEMORY": str(self.folder / "memory"),
            "STANDIN_ARCH": f"{self.target}:sramecc+:xnack-",
            "STANDIN_ARCH_OFFSET": str(_arch_offset()),
            **self.extra,
        }

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=_Connection(self, connection).serve, daemon=True).start()


@dataclass(slots=True)
class _Connection:
    standin: StandIn
    socket: socket.socket
    blocks: dict[int, int] = field(default_factory=dict[int, int])
    modules: list[tuple[bytes, dict[str, Kernel]]] = field(default_factory=list[tuple[bytes, dict[str, Kernel]]])

    def serve(self) -> None:
        with self.socket:
            while header := self._received(24):
                kind, first, second = struct.unpack("<3Q", header)
                if kind == 1:
                    self.blocks[first] = second
                elif kind == 2:
                    del self.blocks[first]
                elif kind == 3:
                    self.modules.append((self._received(first), {}))
                    self.socket.sendall(struct.pack("<Q", len(self.modules) - 1))
                else:
                    self.socket.sendall(struct.pack("<Qd", *self._launch(first, second)))

    def _received(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self.socket.recv(size)
            if not part:
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _launch(self, size: int, base: int) -> tuple[int, float]:
        gx, gy, gz, wx, wy, wz, lds_bytes, module = struct.unpack("<8Q", self._received(64))
        name = self._received(256).partition(b"\0")[0].decode()
        kernarg = self._received(size)
        data, kernels = self.modules[module]
        kernel = kernels.setdefault(name, recover(load(data, "module"), name))
        starts = sorted(self.blocks)
        memory = np.frombuffer(self.standin._memory, np.uint8)
        buffers = tuple(Buffer(f"block {n}", memory[s : s + self.blocks[s]].copy(), True) for n, s in enumerate(starts))
        pointers = tuple(
            PointerSlot(offset, number, address - start)
            for offset in range(0, size - 7, 8)
            for number, start in enumerate(starts)
            if start <= (address := int.from_bytes(kernarg[offset : offset + 8], "little") - base) < start + self.blocks[start]
        )
        dispatch = Dispatch("", name, (gx, gy, gz), (wx, wy, wz), kernarg, pointers, buffers, lds_bytes)
        result = run(kernel, dispatch, mode="fast", seed=self.standin.launches, max_instructions=_BUDGET)
        self.standin.launches += 1
        for start, contents in zip(starts, result.buffers, strict=True):
            memory[start : start + len(contents)] = contents
        time = self.standin.clock(data, result.wave_instructions, self.standin._noise)
        if result.faults:
            return (_HANG if result.faults[0].kind == "budget" else _FAULT), time
        return _DONE, time
