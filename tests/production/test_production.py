"""Production kernels, run on the emulator, against their NumPy references. ASMEVO_CORPUS names AITER's hsa or hsa/gfx942."""

import os
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from tests.production.cases import CASES
from tests.production.trial import tried

CORPUS = os.environ.get("ASMEVO_CORPUS", "")


def load(path):
    root = Path(CORPUS)
    return recover(load_file((root if root.name == "gfx942" else root / "gfx942") / path))


@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa)")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel_leaves_what_its_reference_says(case):
    for judged in tried(load(case.path), case):
        assert judged.same_bits >= case.alike.get(judged.buffer, 0.0)
