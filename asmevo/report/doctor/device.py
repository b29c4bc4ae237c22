"""The GPU, its driver and its runtime, as far as files tell.

Owns the ways to them. Nothing is opened and no library is loaded: a driver in trouble hangs whoever asks it.
Source: the Linux kernel's amdkfd topology in sysfs (simd_count, gfx_target_version as major * 10000 + minor * 100 + stepping).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from asmevo.frontend.llvm import TARGETS
from asmevo.report.doctor.check import Check, Machine, first_line
from asmevo.report.doctor.needed import package_check

_NODES = "sys/class/kfd/kfd/topology/nodes"
_RUNTIME = "libamdhip64.so*"
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib")
_SERVES = "measuring and testing on a GPU (docs/gpu.md)"


def device(machine: Machine) -> Iterator[Check]:
    """Yield the checks of what running on a GPU needs."""
    yield _driver(machine)
    yield _gpu(machine)
    yield _runtime(machine)
    yield package_check("hip", "hip-python", _SERVES, "'asmevo[hip]'", needed=False)


def _driver(machine: Machine) -> Check:
    node = machine.root / "dev" / "kfd"
    if not node.exists():
        remedy = "load the amdgpu driver; a container is started with --device=/dev/kfd --device=/dev/dri"
        return _missing("GPU driver", f"no {node}", remedy)
    if not os.access(node, os.R_OK | os.W_OK):
        return _missing(
            "GPU driver", f"{node} may not be opened by this user", "sudo usermod -aG render,video $USER, log in anew"
        )
    version = first_line(machine.root / "sys" / "module" / "amdgpu" / "version")
    return Check("GPU driver", True, f"{node}{f', amdgpu {version}' if version else ''}", needed=False, serves=_SERVES)


def _gpu(machine: Machine) -> Check:
    found = [name for folder in sorted(machine.root.glob(f"{_NODES}/*")) if (name := _target(folder)) is not None]
    if not found:
        return _missing("GPU", "none that the driver shows", f"use a machine with one of {', '.join(TARGETS)}")
    shown = ", ".join(found)
    if not set(found) & set(TARGETS):
        return _missing("GPU", f"{shown}, and none that AsmEvo knows", f"use a machine with one of {', '.join(TARGETS)}")
    return Check("GPU", True, shown, needed=False, serves=_SERVES)


def _target(folder: Path) -> str | None:
    """The chip of a node, None for a CPU or for what is not understood."""
    values = dict(line.split(maxsplit=1) for line in _lines(folder / "properties") if len(line.split()) == 2)
    simds, version = values.get("simd_count", ""), values.get("gfx_target_version", "")
    if not (simds.isdecimal() and int(simds) and version.isdecimal() and int(version)):
        return None
    major, rest = divmod(int(version), 10_000)
    return f"gfx{major}{rest // 100:x}{rest % 100:x}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace")[:16_384].splitlines()
    except OSError:
        # The driver may keep it from this user: the node is then not known.
        return []


def _runtime(machine: Machine) -> Check:
    named = [Path(part) for part in machine.environment.get("LD_LIBRARY_PATH", "").split(os.pathsep) if part]
    for folder in (*named, machine.rocm / "lib", *(machine.root / part for part in _LIBRARIES)):
        if found := sorted(folder.glob(_RUNTIME)):
            return Check("HIP runtime", True, str(found[0]), needed=False, serves=_SERVES)
    return _missing("HIP runtime", "no libamdhip64", "install ROCm's hip-runtime-amd, or set ROCM_PATH or LD_LIBRARY_PATH")


def _missing(name: str, state: str, remedy: str) -> Check:
    return Check(name, False, state, remedy, False, _SERVES)
