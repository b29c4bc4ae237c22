import random

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.search.local import OrderSearch
from support import EXAMPLES


@pytest.fixture(scope="module")
def graph():
    kernel = recover(load_file(EXAMPLES / "kernels" / "matmul_fp16.co"))
    found = [RegionGraph.build(kernel, r) for b in kernel.blocks for r in regions_of(b)]
    return max((g for g in found if g.has_choice() and len(g.nodes) < 80), key=lambda g: len(g.nodes))


def search(graph, seed=0, waves=1):
    return OrderSearch(graph, waves, True, random.Random(seed))


def test_every_order_it_reaches_is_legal_and_none_is_worse_than_the_start(graph):
    found = search(graph)
    start = found.cost.cycles
    last = start
    found.start_from_schedules()
    for _ in range(20):
        found.climb(5, lambda: False)
        assert graph.is_legal(found.order)
        assert found.cost.cycles <= last
        last = found.cost.cycles
    assert reordered(graph, found.order) is not None


def test_same_seed_same_order(graph):
    one, two, three = (search(graph, seed) for seed in (5, 5, 6))
    for found in (one, two, three):
        found.climb(60, lambda: False)
    assert one.order == two.order
    assert one.cost.cycles == two.cost.cycles


def test_it_stops_when_told(graph):
    found = search(graph)
    found.climb(10_000, lambda: True)
    assert found.order == list(range(len(graph.nodes)))


def test_several_waves(graph):
    found = search(graph, waves=3)
    start = found.cost.cycles
    found.climb(40, lambda: False)
    assert found.cost.cycles <= start
