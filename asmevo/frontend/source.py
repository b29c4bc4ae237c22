"""Assembly source files (.s) to a kernel: the plain face of `assembly.module` for sources with one function.

Owns no logic of its own.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from asmevo.diagnostics import Span, fail
from asmevo.frontend.assembly.module import DEFAULT_TARGET, SourceModule, parse_module
from asmevo.ir.kernel import Kernel

__all__ = ["DEFAULT_TARGET", "SourceModule", "parse_module", "parse_source"]


def parse_source(
    text: str, file: str = "<source>", *, target: str = DEFAULT_TARGET, include_root: Path | None = None
) -> Kernel:
    """The kernel a source file holds. Its target comes from `.amdgcn_target`, else from `target`.

    Its name is that of `.amdhsa_kernel`, else the first `.globl`, else the first label. The first instruction is the root
    unless comments `; asmevo-root: LABEL` name others. Descriptor and metadata are None: an assembled object has them.

    Operand widths, alignment and the like are not judged here: `ir.verifier` does.

    Raises: what `parse_module` raises, and E0148 for a source with several kernels.
    """
    module = parse_module(text, file, include_root, target=target, check=False)
    if len(module.kernels) != 1:
        names = ", ".join(kernel.name for kernel in module.kernels)
        fail("E0148", f"the source holds {len(module.kernels)} kernels: {names}", Span(file), "parse it as a module")
    return replace(module.kernels[0], descriptor=None, metadata=None)
