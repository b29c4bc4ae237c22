"""The few calls of the HIP runtime that are needed, with their errors as exceptions.

Owns hip-python's conventions: every call returns a status before its values. Used in the child process only: loading the
driver's library must not happen to whoever merely imports AsmEvo.
"""

# hip-python has no types that a strict check could use: a runtime is an object with functions that return tuples.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

_BUFFER_POINTER, _BUFFER_SIZE, _END = 1, 2, 3
"""Words of hipModuleLaunchKernel's `extra`: where the kernel arguments are, how many bytes, no more."""


class HipError(Exception):
    """A call that the runtime refused: its name and the status."""

    def __init__(self, call: str, status: str) -> None:
        super().__init__(f"{call}: {status}")


@dataclass(frozen=True, slots=True)
class Runtime:
    """One device through hip-python's module `hip`."""

    hip: Any
    device: int

    def call(self, name: str, *arguments: object) -> Any:
        """What a call returns besides its status. Raises HipError when that is no success."""
        status, *values = getattr(self.hip, name)(*arguments)
        if int(status) != 0:
            raise HipError(name, status.name)
        return values[0] if len(values) == 1 else values

    def properties(self) -> dict[str, Any]:
        """Name, target, compute units, nominal clocks in MHz, versions and the PCI address."""
        try:
            found = self.call("hipGetDeviceProperties", self.device)
        except TypeError:
            # Before version 10 hip-python filled what it was given.
            found = self.hip.hipDeviceProp_t()
            self.call("hipGetDeviceProperties", found, self.device)
        return {
            "name": _text(found.name),
            "target": _text(found.gcnArchName).partition(":")[0],
            "compute_units": found.multiProcessorCount,
            "clock_mhz": found.clockRate / 1000,
            "memory_clock_mhz": found.memoryClockRate / 1000,
            "runtime_version": self.call("hipRuntimeGetVersion"),
            "driver_version": self.call("hipDriverGetVersion"),
            "pci": f"{found.pciDomainID:04x}:{found.pciBusID:02x}:{found.pciDeviceID:02x}.0",
        }

    def launch(
        self, function: object, grid: tuple[int, int, int], workgroup: tuple[int, int, int], lds_bytes: int, kernarg: bytes
    ) -> None:
        """Start a kernel on the default stream; grid in work-groups."""
        held = ctypes.create_string_buffer(kernarg, len(kernarg))
        size = ctypes.c_size_t(len(kernarg))
        extra = (ctypes.c_void_p * 5)(_BUFFER_POINTER, ctypes.addressof(held), _BUFFER_SIZE, ctypes.addressof(size), _END)
        self.call("hipModuleLaunchKernel", function, *grid, *workgroup, lds_bytes, None, None, ctypes.addressof(extra))

    def synchronise(self) -> None:
        """Wait for all work of the device."""
        self.call("hipDeviceSynchronize")


def _text(value: str | bytes) -> str:
    """A C string, which some versions of hip-python give as bytes."""
    text = value if isinstance(value, str) else value.decode(errors="replace")
    return text.partition("\0")[0]


def open_device(number: int) -> Runtime:
    """The device of this number. Raises HipError when there is none, ImportError and RuntimeError without HIP."""
    from hip import hip  # type: ignore[import-not-found,unused-ignore]

    runtime = Runtime(hip, number)
    count = runtime.call("hipGetDeviceCount")
    if not 0 <= number < count:
        raise HipError("hipGetDeviceCount", f"there are {count} devices, none has number {number}")
    runtime.call("hipSetDevice", number)
    return runtime
