"""A launch is proposed for production objects of every family, and most of what is proposed runs."""

import os
from pathlib import Path

import pytest

from asmevo.backend.inputs import load_input
from asmevo.frontend.recover import recover
from asmevo.verify.infer.proposal import Hints, propose
from asmevo.verify.infer.text import as_toml
from asmevo.verify.launch.dispatches import parse_launches

CORPUS = os.environ.get("ASMEVO_CORPUS")
MIN_FOUND = 0.8


def one_of_each_family(corpus):
    """The first object of each folder, and each object that lies in the corpus itself and begins with other letters."""
    families = {}
    for path in sorted(Path(corpus).rglob("*.co")):
        families.setdefault(path.parent if path.parent != Path(corpus) else path.name.split("_")[0], path)
    return sorted(families.values())


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason="ASMEVO_CORPUS does not name a folder of production objects (ROCm/aiter, hsa/gfx942)")
def test_launches_are_proposed_for_production_objects():
    paths = one_of_each_family(CORPUS)
    assert paths
    runs = 0
    for path in paths:
        kernel = recover(load_input(path))
        found = propose(kernel, Hints(), 30)
        (dispatch,) = parse_launches(as_toml(found), path.name, kernel)
        assert dispatch.buffers, path
        assert any(buffer.use.is_touched for buffer in found.buffers), path
        runs += found.runs
    assert runs >= MIN_FOUND * len(paths)
