"""Every analysis on production objects: no internal error, and claims that hold together. ASMEVO_CORPUS names their folder."""

import os
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.control.postdominance import PostDominance
from asmevo.ir.analysis.cost.loop_bounds import LoopBounds
from asmevo.ir.analysis.cost.occupancy_steps import OccupancySteps
from asmevo.ir.analysis.dataflow.dead_code import DeadCode
from asmevo.ir.analysis.dataflow.divergence import Divergence
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccesses
from asmevo.ir.analysis.memory.bank_conflicts import BankConflicts
from asmevo.ir.analysis.memory.coalescing import Coalescing
from asmevo.ir.analysis.memory.kernargs import KernargUse
from asmevo.ir.analysis.values.induction import Inductions
from asmevo.ir.analysis.waits.redundancy import Redundancy
from support import EXAMPLES, SHIPPED

CORPUS = os.environ.get("ASMEVO_CORPUS")


def check(path: Path) -> None:
    kernel = recover(load_file(path))
    manager = AnalysisManager(kernel)
    for analysis in (BankConflicts, Coalescing, DeadCode, Divergence, PostDominance, Redundancy):
        manager.get(analysis)
    for use in manager.get(BankConflicts).uses:
        assert use.cost is None or use.cost.cycles >= use.cost.ideal > 0
    for loop in manager.get(Loops).loops:
        trips = manager.get(Inductions).trips(loop.header)
        assert trips.exact is None or trips.exact >= 1
    for bound in manager.get(LoopBounds).loops:
        assert bound.bound_cycles > 0
    steps = manager.get(OccupancySteps)
    assert steps.waves == min(resource.waves for resource in steps.resources)
    size = kernel.descriptor.kernarg_bytes if kernel.descriptor is not None else 0
    for slot in manager.get(KernargUse).slots:
        assert not size or slot.offset < size or slot.is_preload
    for access in manager.get(MemoryAccesses).accesses:
        for form in access.addresses:
            assert form is None or form.lanes is None or len(form.lanes) == 64


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels(name):
    check(EXAMPLES / "kernels" / f"{name}.co")


@pytest.mark.slow
@pytest.mark.skipif(CORPUS is None, reason="set ASMEVO_CORPUS to a folder of production objects")
def test_production_objects():
    paths = sorted(path for chip in ("gfx942", "gfx950") for path in (Path(str(CORPUS)) / chip).rglob("*.co"))
    assert paths
    for path in paths[::20]:
        check(path)
