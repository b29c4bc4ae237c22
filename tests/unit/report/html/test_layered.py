from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from asmevo.report.html.layered import MOST_PLACES, draw


@given(
    st.integers(1, 14).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    )
)
def test_boxes_do_not_overlap_and_lines_join_them(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, pairs = case
    sizes = {f"b{n}": (40.0 + 7 * n, 30.0) for n in range(count)}
    edges = [(f"b{a}", f"b{b}") for a, b in pairs]
    drawing = draw(sizes, edges)
    assert drawing is not None
    assert set(drawing.boxes) == set(sizes)
    for one, other in combinations(drawing.boxes.values(), 2):
        apart_x = one.x + one.width <= other.x + 1e-6 or other.x + other.width <= one.x + 1e-6
        apart_y = one.y + one.height <= other.y + 1e-6 or other.y + other.height <= one.y + 1e-6
        assert apart_x or apart_y
    assert [(line.source, line.target) for line in drawing.lines] == list(dict.fromkeys(edges))
    for line in drawing.lines:
        source, target = drawing.boxes[line.source], drawing.boxes[line.target]
        assert line.points[0][1] == source.y + source.height
        assert line.points[-1][1] == target.y
        assert line.back or source.y < target.y
        assert all(-1e-6 <= x <= drawing.width for x, _ in line.points)


def test_a_chain_is_straight() -> None:
    drawing = draw({n: (50.0, 20.0) for n in "abc"}, [("a", "b"), ("b", "c")])
    assert drawing is not None
    assert len({box.x for box in drawing.boxes.values()}) == 1


def test_too_large_a_graph_is_refused_in_time() -> None:
    nodes = [str(n) for n in range(2000)]
    edges = [*pairwise(nodes), *((nodes[0], n) for n in nodes[1:])]
    assert draw({n: (10.0, 10.0) for n in nodes}, edges) is None
    assert draw({str(n): (10.0, 10.0) for n in range(MOST_PLACES + 1)}, []) is None


def test_nothing_to_draw() -> None:
    drawing = draw({}, [])
    assert drawing is not None
    assert drawing.boxes == {}
