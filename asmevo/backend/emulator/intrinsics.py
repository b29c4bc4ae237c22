"""Builds the handlers of operations that are not lane by lane, by intrinsic name.

Owns the table from name to builder.
"""

# llvmlite has no type stubs: what its builder returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false, reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from llvmlite import ir

from asmevo.backend.emulator.handlers import Form
from asmevo.diagnostics import fail


def build_intrinsic(module: ir.Module, name: str, form: Form, strict: bool) -> None:
    """Adds the handler of an intrinsic form to `module`; E0507 when the emulator has none."""
    fail("E0507", f"the emulator has no '{form.program.intrinsic}'")
