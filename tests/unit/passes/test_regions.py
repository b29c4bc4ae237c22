import random

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.waits.needed import WaitState
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.fillers import is_filler
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.passes.wait_states import AllowedShortfalls
from asmevo.verify.static.hazards import check_hazards
from asmevo.verify.static.waits import check_waits
from support import EXAMPLES, SHIPPED


def graphs(name, limit=6):
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    analyses = AnalysisManager(kernel)
    found = [RegionGraph.build(kernel, r, analyses) for b in kernel.blocks for r in regions_of(b)]
    return kernel, sorted((g for g in found if g.has_choice()), key=lambda g: -len(g.nodes))[:limit]


def random_order(graph, source):
    """A uniform choice among ready nodes, step by step: far from any scheduler's taste."""
    waiting = [len(p) for p in graph.predecessors]
    ready = [i for i, w in enumerate(waiting) if w == 0]
    order = []
    while ready:
        node = ready.pop(source.randrange(len(ready)))
        order.append(node)
        for successor in graph.successors[node]:
            waiting[successor] -= 1
            if waiting[successor] == 0:
                ready.append(successor)
    return order


def errors(findings):
    return [f for f in findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize("name", SHIPPED)
def test_identity_keeps_every_instruction_that_is_no_filler(name):
    _, found = graphs(name)
    for graph in found:
        after = reordered(graph, range(len(graph.nodes)))
        assert after is not None
        before = graph.kernel.block(graph.region.label).instructions
        assert [i for i in after.block(graph.region.label).instructions if not is_filler(i)] == [
            i for i in before if not is_filler(i)
        ]


@pytest.mark.parametrize("name", SHIPPED)
def test_any_legal_order_has_all_waits_and_wait_states(name):
    """The passes' own analyses and the independent checks must both be content."""
    kernel, found = graphs(name)
    allowed = AllowedShortfalls.compute(kernel, AnalysisManager(kernel))
    source = random.Random(1)
    for graph in found:
        for _ in range(2):
            after = reordered(graph, random_order(graph, source))
            if after is None:
                continue
            assert verify_kernel(after, kernel) == []
            assert AnalysisManager(after).get(WaitState).missing() == []
            assert allowed.exceeded_by(after, graph.region.label) == []
            assert errors(check_waits(after)) == []
            assert errors(check_hazards(after)) == []


@pytest.mark.parametrize("name", SHIPPED)
def test_no_order_leaves_more_outstanding_than_the_original(name):
    kernel, found = graphs(name)
    before = AnalysisManager(kernel).get(WaitState)
    source = random.Random(2)
    for graph in found:
        after = reordered(graph, random_order(graph, source))
        if after is None:
            continue
        state = AnalysisManager(after).get(WaitState)
        for block in kernel.blocks:
            end = state.before(block.label, len(after.block(block.label).instructions))
            allowed = before.before(block.label, len(block.instructions))
            for counter in ("vmcnt", "lgkmcnt"):
                permitted = getattr(allowed, counter).slots
                for age, slot in enumerate(getattr(end, counter).slots):
                    assert slot & ~(permitted[age] if age < len(permitted) else 0) == 0


def test_an_illegal_order_is_refused():
    _, found = graphs("softmax", 1)
    graph = found[0]
    target = next(i for i, p in enumerate(graph.predecessors) if p)
    order = list(range(len(graph.nodes)))
    order.insert(graph.predecessors[target][0], order.pop(target))
    with pytest.raises(ValueError, match="illegal order"):
        reordered(graph, order)
    with pytest.raises(ValueError, match="illegal order"):
        reordered(graph, order[:-1])


def test_regions_hold_no_branch_or_frozen_block():
    kernel = recover(load_file(EXAMPLES / "kernels" / "attention_fwd.co"))
    for block in kernel.blocks:
        for region in regions_of(block):
            assert not block.frozen
            for instruction in block.instructions[region.start : region.stop]:
                assert instruction.definition is not None
                assert not instruction.definition.is_branch
