"""LLVM IR of kernels, as the semantics table defines their instructions. docs/ir_export.md describes what it looks like."""

from asmevo.report.lift.function import print_block_as_llvm_ir, print_llvm_ir

__all__ = ["print_block_as_llvm_ir", "print_llvm_ir"]
