"""Both exports on production objects. ASMEVO_CORPUS names their folder."""

import os
import random
import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from asmevo.backend.inputs import load_input
from asmevo.frontend.recover import recover
from asmevo.report.lift import print_llvm_ir
from asmevo.report.mlir import print_mlir

CORPUS = os.environ.get("ASMEVO_CORPUS")


@pytest.mark.slow
@pytest.mark.skipif(CORPUS is None, reason="ASMEVO_CORPUS names no folder of production objects")
def test_exports_of_production_objects_are_lossless_and_valid():
    paths = sorted(path for path in Path(CORPUS or "").rglob("*.co") if path.stat().st_size < 200_000)
    for path in random.Random(20).sample(paths, min(20, len(paths))):
        code_object = load_input(path)
        for entry in code_object.kernels:
            kernel = recover(code_object, entry.name)
            encodings = re.findall(r'bytes = "([0-9a-f]*)"', print_mlir([kernel]))
            assert bytes.fromhex("".join(encodings)) == bytes(code_object.code(entry)), path
            llvm.parse_assembly(print_llvm_ir([kernel])).verify()
