"""Kernels that grow and shrink at random places: the rebuilt object is what was meant, to AsmEvo and to other tools."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from code_objects import Function, make_object
from layout_edits import check_rebuilt, grown, shrunk, tools
from support import EXAMPLES, SHIPPED

BRANCHY = Function(
    "branchy",
    (
        "s_cmp_eq_u32 s0, 0",
        "s_cbranch_scc1 4",
        "v_mov_b32_e32 v1, 0x12345678",
        "v_mov_b32_e32 v2, v1",
        "s_branch 65530",
        "v_add_u32_e32 v1, v1, v2",
        "s_cbranch_vccz 65534",
        "s_endpgm",
    ),
    extra=3,
)
TAIL = Function("tail", ("s_nop 3", "s_cbranch_scc0 65534", "s_endpgm"), extra=5)
HELPER = Function("helper", ("v_add_u32_e32 v0, v0, v1", "s_endpgm"), is_kernel=False)
SIZES = (4, 8, 60, 256, 1000, 4096, 20000, 65536)
# A branch that no longer reaches, and code that computes addresses: refused, never written wrong.
REFUSALS = ("E0611", "E0613")


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("size", SIZES)
def test_shipped_kernels_grow_and_shrink(name: str, size: int, tmp_path: Path) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    rng = random.Random(f"{name} {size}")
    kernel = recover(obj)
    edit = grown(kernel, size, rng)
    assert size <= edit.added < size + 8
    data = check_rebuilt(obj, edit.kernel, tmp_path)
    assert len(data) >= len(obj.data)
    less = shrunk(kernel, size, rng)
    assert less.removed
    assert len(check_rebuilt(obj, less.kernel, tmp_path)) == len(obj.data)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    size=st.integers(1, 2000).map(lambda n: 4 * n),
    which=st.sampled_from(["branchy", "tail"]),
    slack=st.sampled_from([0, 64, 4096]),
)
def test_several_functions_in_one_object(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: int, which: str, slack: int
) -> None:
    obj = load(make_object([BRANCHY, HELPER, TAIL], slack=slack), "x.co")
    rng = random.Random(seed)
    first = grown(recover(obj, which), size, rng)
    folder = tmp_path_factory.getbasetemp()
    again = load(check_rebuilt(obj, first.kernel, folder), "again")
    check_rebuilt(again, shrunk(recover(again, which), size, rng).kernel, folder)


def test_what_is_added_and_taken_away_again_leaves_the_code() -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{SHIPPED[0]}.co")
    kernel = recover(obj)
    grown_object = load(rebuild(obj, grown(kernel, 4096, random.Random(1)).kernel), "grown")
    back = load(rebuild(grown_object, kernel), "back")
    size = len(obj.code(obj.kernel()))
    assert back.code(back.kernel())[:size] == obj.code(obj.kernel())


@pytest.mark.slow
def test_production_objects_grow_and_shrink(tmp_path: Path) -> None:
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        pytest.skip("set ASMEVO_CORPUS to a folder of production objects (ROCm/aiter, hsa)")
    if set(tools()) != {"readelf", "llvm-objdump"}:
        pytest.skip(f"readelf and llvm-objdump 18 or later are needed; found {sorted(tools())}")
    counts = edit_corpus(sorted(Path(corpus).rglob("*.co")), 200, tmp_path)
    assert counts["grown"] >= 150
    assert counts["shrunk"] >= 180


def edit_corpus(files: list[Path], count: int, folder: Path) -> Counter[str]:
    """Grow and shrink `count` random objects; what happened, counted. A refusal other than REFUSALS is raised."""
    rng = random.Random(0)
    counts: Counter[str] = Counter()
    for path in rng.sample(files, min(count, len(files))):
        obj = load_file(path)
        kernel = recover(obj, obj.kernels[0].name)
        if all(block.frozen for block in kernel.blocks):
            counts["frozen"] += 1
            continue
        for name, edit in (("grown", grown), ("shrunk", shrunk)):
            edited = edit(kernel, 4 * rng.choice([rng.randint(1, 16), rng.randint(1, 1024), rng.randint(1, 16384)]), rng)
            try:
                check_rebuilt(obj, edited.kernel, folder)
            except DiagnosticError as error:
                code = error.diagnostics[0].code
                if code not in REFUSALS:
                    raise
                counts[f"{name} refused {code}"] += 1
            else:
                counts[name] += 1
                counts[f"{name} bytes"] += edited.added + edited.removed
    return counts
