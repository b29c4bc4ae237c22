"""Published times of production kernels beside the model's cycles for the same binaries: what `bench.timing --corpus` runs.

Owns which shapes are taken and how a matrix product becomes a simulation. The times are those of AITER's tuning tables.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asmevo.backend.timing import chip, waves_per_simd
from asmevo.backend.timing.simulate import Assumptions, Timing, simulate
from asmevo.backend.timing.whole import extrapolated
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel

SHAPES = 8
LEAST_US = 60.0
"""Published times below this are left out: the start of the dispatch, which is not modelled, is a large part of them."""

_CHIPS = {("gfx942", "80"): "mi308x", ("gfx942", "304"): "mi300x", ("gfx950", "256"): "mi355x"}
_SHAPE = re.compile(r"_(\d+)x(\d+)x(\d+)")
_TILE = re.compile(r"_(\d+)x(\d+)(?:_|E$)")


def measured_kernels(corpus: Path) -> list[dict[str, object]]:
    """Published times of hand-written matrix products beside the model's cycles for the very binaries.

    The times are those of AITER's tuning tables. A work-group covers one tile; its loop runs as often as the matrix
    instructions of a round need for K. Operands are taken to be found in L2.
    """
    published = _sampled(_published(corpus.parent / "aiter" / "configs"))
    objects = {(path.relative_to(corpus).parts[0], path.stem.lower()): path for path in sorted(corpus.rglob("*.co"))}
    kernels: dict[Path, Kernel] = {}
    found: list[dict[str, object]] = []
    for (target, units, m, n, k, split, name), us in sorted(published.items()):
        path = objects.get((target, re.sub(r"^_ZN5aiter\d+|E$", "", name).lower()))
        tile = _TILE.search(name)
        if path is None or tile is None or (target, units) not in _CHIPS:
            continue
        if path not in kernels:
            kernels[path] = recover(load_file(path))
        cycles = _product_cycles(kernels[path], _CHIPS[target, units], (m, n, k, split), (int(tile[1]), int(tile[2])))
        if cycles is not None:
            found.append(
                {
                    "chip": _CHIPS[target, units],
                    "kernel": path.stem,
                    "m": m,
                    "n": n,
                    "k": k,
                    "split": split,
                    "us": us,
                    "cycles": round(cycles),
                }
            )
            print(f"{len(found)}: {found[-1]}", file=sys.stderr)
    return found


Shape = tuple[str, str, int, int, int, int, str]
Published = dict[Shape, float]


def _published(folder: Path) -> Published:
    found: Published = {}
    for path in sorted(folder.rglob("*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row.get("libtype") == "asm" and row.get("kernelName") and row.get("us"):
                    shape = (int(row["M"]), int(row["N"]), int(row["K"]), int(row["splitK"] or 1))
                    found.setdefault((row["gfx"], row["cu_num"], *shape, row["kernelName"]), float(row["us"]))
    return found


def _sampled(published: Published) -> Published:
    """At most SHAPES shapes of each kernel and chip, evenly over the published times above LEAST_US."""
    groups: dict[tuple[str, ...], list[tuple[float, Shape]]] = {}
    for key, us in published.items():
        if us >= LEAST_US:
            groups.setdefault((key[0], key[1], key[6]), []).append((us, key))
    found: Published = {}
    for members in groups.values():
        members.sort()
        last = len(members) - 1
        for place in sorted({round(n * last / (SHAPES - 1)) for n in range(SHAPES)}):
            us, key = members[place]
            found[key] = us
    return found


def _product_cycles(ir: Kernel, name: str, shape: tuple[int, int, int, int], tile: tuple[int, int]) -> float | None:
    m, n, k, split = shape
    figures = chip(name)
    items = ir.metadata.max_flat_workgroup_size if ir.metadata else None
    work = _work_of_loop(ir)
    if not items or ir.descriptor is None or not work:
        return None
    waves = items // 64
    depth = work * waves / (tile[0] * tile[1])
    rounds = max(1.0, k / max(split, 1) / depth)
    groups = -(-m // tile[0]) * -(-n // tile[1]) * max(split, 1)
    units = figures.compute_units.value
    per_unit = -(-groups // units)
    resident = min(max(1, waves_per_simd(ir.descriptor, items, 0, figures) * 4 // waves), per_unit)

    def cycles(whole: int) -> float:
        def run(count: int) -> Timing:
            basis = Assumptions(loop_rounds=whole, group_waves=waves, groups=count, active_units=min(groups, units))
            return simulate(ir, basis, chip=figures, places=resident)

        return extrapolated(run(min(per_unit, 2 * resident)), lambda count: run(count).cycles, resident, per_unit)

    # An unrolled loop is left in the middle when K is no whole number of rounds.
    part = rounds - int(rounds)
    return (1 - part) * cycles(int(rounds)) + (part * cycles(int(rounds) + 1) if part else 0.0)


def _work_of_loop(ir: Kernel) -> int:
    """Multiply-adds of one wave in a round of the loop with most of them."""
    loops = AnalysisManager(ir).get(Loops).loops
    best = 0
    for loop in loops:
        inside = [i.mnemonic for block in ir.blocks if block.label in loop.blocks for i in block.instructions]
        shapes = [_SHAPE.search(mnemonic) for mnemonic in inside if mnemonic.startswith("v_mfma")]
        best = max(best, sum(int(s[1]) * int(s[2]) * int(s[3]) for s in shapes if s))
    return best


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Rank correlation, equal values by their mean rank."""

    def ranks(values: Sequence[float]) -> np.ndarray:
        _, inverse, counts = np.unique(np.array(values), return_inverse=True, return_counts=True)
        last = counts.cumsum()
        return (last - (counts - 1) / 2)[inverse]

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])
