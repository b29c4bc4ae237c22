"""What every command needs: Python, the packages, the LLVM library.

Owns the list of packages with their purposes; pyproject.toml owns their versions. The library is tried on each chip.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib import metadata

from asmevo.diagnostics import DiagnosticError
from asmevo.report.doctor.check import Check

PACKAGES = (
    ("z3", "z3-solver", "proofs"),
    ("llvmlite", "llvmlite", "emulator"),
    ("numpy", "numpy", "emulator"),
    ("lark", "lark", "grammars"),
    ("msgpack", "msgpack", "kernel metadata"),
    ("networkx", "networkx", "control flow"),
    ("pydantic", "pydantic", "settings and launch files"),
    ("elftools", "pyelftools", "code objects"),
    ("yaml", "pyyaml", "metadata as text"),
    ("rich", "rich", "progress"),
    ("typer", "typer", "command line"),
    ("zstandard", "zstandard", "compressed bundles"),
    *((("tomli", "tomli", "settings and launch files"),) if sys.version_info < (3, 11) else ()),
)
"""Module, package and purpose of what is installed with AsmEvo."""
_OLDEST = (3, 10)
_NOP = bytes.fromhex("000080bf")
_REINSTALL = "pip install --force-reinstall asmevo"


def needed() -> Iterator[Check]:
    """Yield the checks of what every command needs."""
    version = sys.version.split()[0]
    is_new = sys.version_info >= _OLDEST
    yield Check("Python", is_new, version, "" if is_new else f"install Python {_OLDEST[0]}.{_OLDEST[1]} or later")
    yield from _llvm()
    for module, package, purpose in PACKAGES:
        yield package_check(module, package, purpose)


def package_check(module: str, package: str, purpose: str, wanted: str | None = None, *, needed: bool = True) -> Check:
    """Whether a module can be imported, without importing it; `wanted` is what to install for it, `package` if None."""
    serves = "" if needed else purpose
    if importlib.util.find_spec(module) is None:
        return Check(module, False, f"missing ({purpose})", f"pip install {wanted or package}", needed, serves)
    try:
        version = f" {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        # A module without its package's records works as well.
        version = ""
    return Check(module, True, f"found{version} ({purpose})", needed=needed, serves=serves)


def _llvm() -> Iterator[Check]:
    from asmevo.frontend.llvm import TARGETS, find_library, version

    try:
        yield Check("LLVM", True, f"{version()} at {find_library()}")
    except DiagnosticError as error:
        first = error.diagnostics[0]
        yield Check("LLVM", False, first.message, first.help or _REINSTALL)
        return
    for target in TARGETS:
        yield _assembler(target)


def _assembler(target: str) -> Check:
    """Whether the library assembles for a chip, and reads back what it made."""
    from asmevo.backend.assembler import assemble
    from asmevo.frontend.disassembler import disassemble

    name = f"assembler for {target}"
    try:
        made = assemble(["s_nop 0"], target)
        if made != [_NOP]:
            return Check(name, False, "gives wrong bytes", _REINSTALL)
        texts = [decoded.text for decoded in disassemble(_NOP, target)]
    except DiagnosticError as error:
        return Check(name, False, error.diagnostics[0].message, error.diagnostics[0].help or _REINSTALL)
    works = texts == ["s_nop 0"]
    return Check(name, works, "works" if works else "does not read its own bytes", "" if works else _REINSTALL)
