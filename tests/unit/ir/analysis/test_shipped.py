"""The shipped kernels, which compilers made: no finding, and every analysis and estimate works."""

import pytest

from asmevo.backend.timing import estimate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.cost.pressure import Pressure
from asmevo.ir.analysis.hazards.needed import HazardState, NopNeeds
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitNeeds, WaitState
from support import EXAMPLES, SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_compiled_kernels_are_clean(name):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    manager = AnalysisManager(kernel)
    assert manager.get(WaitState).missing() == []
    assert manager.get(HazardState).findings() == []
    needs = manager.get(NopNeeds)
    assert all(needs.physical[site] <= states for site, states in needs.llvm.items())
    assert manager.get(WaitNeeds).by_site
    assert kernel.descriptor is not None
    assert manager.get(Pressure).named_vgprs <= kernel.descriptor.vgpr_count
    assert estimate(kernel).total_cycles > 0
