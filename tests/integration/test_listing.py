import os
import random
from pathlib import Path

import pytest

from asmevo.backend.build import text_roundtrip
from asmevo.frontend.codeobject import load_file

COUNT = 100


def test_text_of_production_objects_gives_identical_files():
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        pytest.skip("set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa/gfx942)")
    files = sorted(Path(corpus).rglob("*.co"))
    assert len(files) >= COUNT
    different = [
        path.name for path in random.Random(0).sample(files, COUNT) if text_roundtrip(obj := load_file(path)) != obj.data
    ]
    assert different == []
