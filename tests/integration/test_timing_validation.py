"""The cycle model against published measurements: the page is current, rows are within their bars, the model is quick."""

import json
import os
import time
from pathlib import Path

import pytest

from asmevo.backend.timing.simulate import Assumptions, simulate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from bench import timing as validation
from support import EXAMPLES


def stored():
    return json.loads(validation.KERNELS.read_text(encoding="utf-8"))


def test_the_page_is_what_the_command_makes():
    made = validation.page(stored())
    assert made == validation.PAGE.read_text(encoding="utf-8"), "run `python -m bench.timing --write`"


@pytest.mark.parametrize("number", range(len(validation.SECTIONS)), ids=[title for title, _ in validation.SECTIONS])
def test_every_row_with_a_bar_is_within_it(number):
    rows = validation.SECTIONS[number][1]()
    assert [row for row in rows if row.verdict == "no"] == []


def test_a_row_off_its_bar_would_be_seen():
    row = validation.Row("probe", 100.0, 106.0, "cycles", 5.0, "nobody")
    assert (row.verdict, row.error) == ("no", pytest.approx(6.0))
    assert validation.Row("probe", 32.0, 33.0, "clocks", 0.0, "nobody").verdict == "no"
    assert validation.Row("probe", 100.0, 104.0, "cycles", 5.0, "nobody").verdict == "yes"


def test_ranks_of_published_times_are_the_model_s():
    """Spearman's correlation at least 0.8 on every chip with five or more published numbers."""
    rows = stored()
    for name in {row["chip"] for row in rows}:
        chosen = [row for row in rows if row["chip"] == name]
        if len(chosen) >= 5:
            assert validation.spearman([r["cycles"] for r in chosen], [r["us"] for r in chosen]) >= 0.8, name


def test_rank_correlation():
    assert validation.spearman([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert validation.spearman([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert validation.spearman([1, 1, 2, 3], [5, 5, 6, 7]) == pytest.approx(1)


def test_a_million_wave_instructions_a_second():
    """Four waves on every SIMD; the bar is 1 M, the model does several."""
    kernel = recover(load_file(EXAMPLES / "kernels" / "matmul_256x128.co"))
    simulate(kernel, Assumptions(loop_rounds=2))
    started = time.process_time()
    found = simulate(kernel, Assumptions(loop_rounds=600, groups=8), waves=2)
    spent = time.process_time() - started
    assert found.wave_instructions > 1_000_000
    assert found.wave_instructions / spent > 1_000_000


@pytest.mark.slow
def test_stored_cycles_of_production_kernels_are_the_model_s():
    """With ASMEVO_CORPUS naming the folder of production objects, tuning tables beside it."""
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        pytest.skip("ASMEVO_CORPUS is not set")
    if not (Path(corpus).parent / "aiter" / "configs").is_dir():
        pytest.skip("the corpus has no tuning tables beside it")
    assert validation.measured_kernels(Path(corpus)) == stored()
