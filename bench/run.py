"""Times parsing, emulation and a candidate's preparation on this machine; medians of several runs, ratios in one run.

Prints what it ran on. With ASMEVO_CORPUS set, parsing is timed on the production kernel nearest to 4,500 instructions; without
it, on the largest shipped one.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from asmevo import __version__
from asmevo.backend.emulator import compiled_handlers, run
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.defuse import DefUse
from asmevo.ir.analysis.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.verify.launches import load_launches
from asmevo.verify.static_hazards import check_hazards
from asmevo.verify.static_waits import check_waits

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TINYGRAD_NS = (6_000, 17_000)
"""Published-style figure to compare with: tinygrad's emulator, ns a wave-instruction, measured on a machine of this class."""


def median_seconds(body: Callable[[], object], repeats: int) -> float:
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        body()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def subject() -> Path:
    corpus = os.environ.get("ASMEVO_CORPUS")
    if not corpus:
        return max((EXAMPLES / "kernels").glob("*.co"), key=lambda path: path.stat().st_size)
    sizes: list[tuple[int, Path]] = []
    for path in sorted(Path(corpus).rglob("*.co"))[:200]:
        kernel = recover(load_file(path))
        sizes.append((abs(sum(len(b.instructions) for b in kernel.blocks) - 4_500), path))
    return min(sizes)[1]


def parse_to_analysed(path: Path) -> Kernel:
    kernel = recover(load_file(path))
    analyses = AnalysisManager(kernel)
    analyses.get(Liveness)
    analyses.get(DefUse)
    check_waits(kernel)
    check_hazards(kernel)
    return kernel


def bench_parse(path: Path, repeats: int) -> None:
    """Times a fresh process each run, so that no memoised text helps."""
    import subprocess

    count = sum(len(b.instructions) for b in recover(load_file(path)).blocks)
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[2]); from pathlib import Path; import run\n"
        "run.recover(run.load_file(run.EXAMPLES / 'kernels' / 'vector_add.co'))\n"
        "t = time.perf_counter(); run.parse_to_analysed(Path(sys.argv[1])); print(time.perf_counter() - t)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", program, str(path), str(Path(__file__).parent)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for _ in range(repeats)
    ]
    seconds = statistics.median(times)
    print(f"parse to analysed IR: {path.name}, {count} instructions: {seconds:.2f} s ({count / seconds:,.0f}/s)")


def bench_emulator(repeats: int) -> None:
    path = EXAMPLES / "kernels" / "softmax.co"
    kernel = recover(load_file(path))
    dispatch = load_launches(Path(__file__).with_name("softmax_large.toml"), kernel)[0]
    per_mode: dict[str, float] = {}
    for mode in ("strict", "fast"):
        result = run(kernel, dispatch, mode=mode)
        seconds = median_seconds(lambda mode=mode: run(kernel, dispatch, mode=mode), repeats)
        per_mode[mode] = seconds / result.wave_instructions * 1e9
        print(f"emulator, softmax, {mode}: {per_mode[mode]:.0f} ns a wave-instruction of {result.wave_instructions}")
    low, high = (bound / per_mode["strict"] for bound in TINYGRAD_NS)
    print(f"strict against tinygrad's {TINYGRAD_NS[0] / 1e3:.0f}-{TINYGRAD_NS[1] / 1e3:.0f} us: {low:.0f}x to {high:.0f}x")
    print(f"strict over fast: {per_mode['strict'] / per_mode['fast']:.2f}x")


def bench_candidate() -> None:
    path = EXAMPLES / "kernels" / "softmax.co"
    kernel = recover(load_file(path))
    dispatch = load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[0]
    run(kernel, dispatch)
    graph = next(g for b in kernel.blocks for r in regions_of(b) if (g := RegionGraph.build(kernel, r)).has_choice())
    position = next(i for i in range(len(graph.nodes)) if graph.freedom(i)[1] > i)
    order = list(range(len(graph.nodes)))
    order.insert(graph.freedom(position)[1], order.pop(position))
    candidate = reordered(graph, order)
    assert candidate is not None
    before = compiled_handlers()
    seconds = median_seconds(lambda: run(candidate, dispatch), 3)
    print(f"candidate with one edited window: {compiled_handlers() - before} handlers compiled, {seconds * 1e3:.1f} ms a run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"asmevo {__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    bench_parse(subject(), options.repeats)
    bench_emulator(options.repeats)
    bench_candidate()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
