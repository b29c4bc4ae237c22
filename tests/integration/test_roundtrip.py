import os
import random
from pathlib import Path

import pytest

from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover


def test_no_edit_rebuild_is_byte_identical(shipped, shipped_name):
    _, code_object, kernel, _ = shipped[shipped_name]
    assert rebuild(code_object, kernel) == code_object.data


def test_no_edit_rebuild_of_production_objects():
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        pytest.skip("set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa/gfx942)")
    files = sorted(Path(corpus).rglob("*.co"))
    assert len(files) >= 100
    different = []
    for path in random.Random(0).sample(files, 100):
        code_object = load_file(path)
        if rebuild(code_object, recover(code_object)) != code_object.data:
            different.append(path.name)
    assert different == []
