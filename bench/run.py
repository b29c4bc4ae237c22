"""Times parsing, emulation and a candidate's preparation on this machine; medians of several runs, ratios in one run.

Prints what it ran on. With ASMEVO_CORPUS set, parsing and first preparation are timed on the production kernel nearest to 4,500
instructions; without it, on the largest shipped one. With ASMEVO_TINYGRAD set to a checkout of tinygrad, its emulator is timed
in the same run. Emulation uses one thread but where it says otherwise; its times are the process's CPU time, since a shared
machine's wall time says little.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from asmevo import __version__
from asmevo.backend.emulator import compiled_handlers, run
from asmevo.backend.launch import Buffer, Dispatch, PointerSlot
from asmevo.backend.writer import rebuild
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.frontend.source import parse_source
from asmevo.ir.analysis.dataflow.defuse import DefUse
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.verify.launch.dispatches import load_launches
from asmevo.verify.static.hazards import check_hazards
from asmevo.verify.static.waits import check_waits

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
TINYGRAD_NS = (5_000, 17_000)
"""What to compare with where no checkout is at hand: tinygrad's emulator, ns a wave-instruction, on a machine of this class."""
RIVALS = (("softmax", "softmax_large.toml", "whole width"), ("matmul_fp16", "matmul_large.toml", "one tile"))
"""A shipped kernel, a launch of it that is large enough for a rate, and the case of the shipped launch that the rival runs."""
GEMM = 1024


def median_seconds(body: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    times: list[float] = []
    for _ in range(repeats):
        started = clock()
        body()
        times.append(clock() - started)
    return statistics.median(times)


def in_fresh_process(program: str, path: Path, repeats: int) -> float:
    """The median of what `program` prints, with argument `path`; no memoised text or decoded instruction helps it."""
    command = [sys.executable, "-c", program, str(path), str(HERE)]
    times = [float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(repeats)]
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


PARSE = """
import sys, time; sys.path.insert(0, sys.argv[2]); from pathlib import Path; import run
run.recover(run.load_file(run.EXAMPLES / 'kernels' / 'vector_add.co'))
t = time.perf_counter(); run.parse_to_analysed(Path(sys.argv[1])); print(time.perf_counter() - t)
"""
PREPARE = """
import sys, time; sys.path.insert(0, sys.argv[2]); from pathlib import Path; import run
from asmevo.backend.emulator import prepare
kernel = run.recover(run.load_file(Path(sys.argv[1])))
t = time.process_time(); prepare(kernel); print(time.process_time() - t)
"""


def bench_kernel(path: Path, repeats: int) -> None:
    """Both in a fresh process each run; the second with the handlers on disk."""
    count = sum(len(b.instructions) for b in recover(load_file(path)).blocks)
    seconds = in_fresh_process(PARSE, path, repeats)
    print(f"parse to analysed IR: {path.name}, {count} instructions: {seconds:.2f} s ({count / seconds:,.0f}/s)")
    in_fresh_process(PREPARE, path, 1)
    print(f"first preparation for the emulator, handlers on disk: {in_fresh_process(PREPARE, path, repeats):.2f} s")


def bench_rivals(repeats: int) -> None:
    for name, launch, case in RIVALS:
        kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
        dispatch = load_launches(HERE / launch, kernel)[0]
        rates = {f"{mode}, one thread": rate for mode, rate in bench_modes(name, kernel, dispatch, repeats).items()}
        for mode in ("strict", "fast"):
            configuration = f"{mode}, two threads, wall time"
            rates[configuration] = bench_threads(kernel, dispatch, mode, repeats)
            print(f"emulator, {name}, {configuration}: {rates[configuration]:.1f} ns a wave-instruction")
        bench_rival(name, case, rates)


def bench_threads(kernel: Kernel, dispatch: Dispatch, mode: str, repeats: int) -> float:
    """Nanoseconds of wall time a wave-instruction with two threads."""
    count = run(kernel, dispatch, mode=mode, threads=2).wave_instructions
    wall = median_seconds(lambda: run(kernel, dispatch, mode=mode, threads=2), repeats, time.perf_counter)
    return wall / count * 1e9


def bench_modes(name: str, kernel: Kernel, dispatch: Dispatch, repeats: int) -> dict[str, float]:
    """Nanoseconds a wave-instruction by mode."""
    per_mode: dict[str, float] = {}
    for mode in ("strict", "fast"):
        result = run(kernel, dispatch, mode=mode, threads=1)
        assert not result.faults, result.faults
        seconds = median_seconds(lambda mode=mode: run(kernel, dispatch, mode=mode, threads=1), repeats)
        per_mode[mode] = seconds / result.wave_instructions * 1e9
        print(f"emulator, {name}, {mode}: {per_mode[mode]:.1f} ns a wave-instruction of {result.wave_instructions}")
    print(f"strict over fast: {per_mode['strict'] / per_mode['fast']:.2f}x")
    return per_mode


def bench_rival(kernel: str, case: str, rates: dict[str, float]) -> None:
    """Prints how many times as long as each of `rates` tinygrad's emulator takes; where it cannot run the kernel, why."""
    if not os.environ.get("ASMEVO_TINYGRAD"):
        for name, rate in rates.items():
            low, high = (bound / rate for bound in TINYGRAD_NS)
            bounds = f"{TINYGRAD_NS[0] / 1e3:.0f}-{TINYGRAD_NS[1] / 1e3:.0f} us"
            print(f"{kernel}, {name}, against tinygrad's {bounds}: {low:.0f}x to {high:.0f}x")
        return
    files = [str(EXAMPLES / "kernels" / f"{kernel}.co"), str(EXAMPLES / "launches" / f"{kernel}.toml"), case]
    done = subprocess.run([sys.executable, str(HERE / "rival.py"), *files], check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"tinygrad's emulator, {kernel}: does not run: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
        return
    theirs, agrees = done.stdout.split()
    same = "the same" if agrees == "1" else "other"
    print(f"tinygrad's emulator (one thread), {kernel}: {float(theirs):,.0f} ns a wave-instruction, with {same} results")
    for name, rate in rates.items():
        print(f"{kernel}, {name}, against tinygrad in this run: {float(theirs) / rate:.0f}x")


def bench_alu(repeats: int) -> None:
    kernel = parse_source((HERE / "alu.s").read_text(encoding="utf-8"))
    bench_modes("arithmetic", kernel, Dispatch("alu", "alu", (64, 1, 1), (64, 1, 1), b"", (), ()), repeats)


def bench_gemm(repeats: int) -> None:
    kernel = parse_source((HERE / "gemm_fp8.s").read_text(encoding="utf-8"))
    random = np.random.default_rng(1)
    small = [random.integers(-8, 9, (GEMM, GEMM)).astype(np.float32) / 4 for _ in range(2)]
    codes = [_fp8(matrix) for matrix in small]
    buffers = (
        *(Buffer(name, code.reshape(-1), False) for name, code in zip("AB", codes, strict=True)),
        Buffer("C", np.zeros(4 * GEMM * GEMM, np.uint8), True, defined=False),
    )
    slots = tuple(PointerSlot(8 * n, n) for n in range(3))
    dispatch = Dispatch("gemm", "gemm", (GEMM // 64, GEMM // 64, 1), (64, 1, 1), bytes(24), slots, buffers)
    result = run(kernel, dispatch, threads=1)
    product = result.buffers[2].view(np.float32).reshape(GEMM, GEMM)
    # Every sum is a multiple of 1/16 far below 2^24/16, so that the exact product is the only right one.
    assert not result.faults
    assert (product == small[0] @ small[1].T).all()
    seconds = median_seconds(lambda: run(kernel, dispatch, threads=1), repeats)
    print(f"emulator, {GEMM}x{GEMM}x{GEMM} FP8 matrix product, strict, bit exact: {seconds:.2f} s")
    walls = [
        median_seconds(lambda count=count: run(kernel, dispatch, threads=count), repeats, time.perf_counter) for count in (1, 2)
    ]
    print(f"the same with two threads: {walls[0] / walls[1]:.2f}x as fast as with one, by wall time")


def _fp8(values: np.ndarray) -> np.ndarray:
    """E4M3 FNUZ codes (bias 8) of values that it holds exactly."""
    mantissa, exponent = np.frexp(np.abs(values))
    code = (exponent + 7 << 3) | (np.ldexp(mantissa, 4).astype(np.int32) - 8)
    return np.where(values == 0, 0, code | np.where(values < 0, 128, 0)).astype(np.uint8)


def bench_candidate(repeats: int) -> None:
    """What one candidate of a search costs: a new object, and a strict run of it on a reduced launch."""
    name = "attention_fwd"
    original = load_file(EXAMPLES / "kernels" / f"{name}.co")
    kernel = recover(original)
    dispatch = load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)[0]
    done = run(kernel, dispatch)
    graph = next(g for b in kernel.blocks for r in regions_of(b) if (g := RegionGraph.build(kernel, r)).has_choice())
    position = next(i for i in range(len(graph.nodes)) if graph.freedom(i)[1] > i)
    order = list(range(len(graph.nodes)))
    order.insert(graph.freedom(position)[1], order.pop(position))
    before = compiled_handlers()
    parts = {
        "rebuild": lambda candidate: rebuild(original, candidate),
        "first run": lambda candidate: run(candidate, dispatch, threads=1),
        "next run": lambda candidate: run(candidate, dispatch, threads=1),
    }
    times: dict[str, list[float]] = {part: [] for part in parts}
    for _ in range(repeats):
        candidate = reordered(graph, order)
        assert candidate is not None
        for part, body in parts.items():
            times[part].append(median_seconds(lambda body=body, candidate=candidate: body(candidate), 1))
    took = ", ".join(f"{part} {statistics.median(seconds) * 1e3:.1f} ms" for part, seconds in times.items())
    size = f"{name}, {len(list(kernel.instructions()))} instructions, {done.wave_instructions} wave-instructions"
    print(f"candidate with one edited window, strict ({size}): {compiled_handlers() - before} handlers compiled; {took}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"asmevo {__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs")
    bench_kernel(subject(), options.repeats)
    bench_rivals(options.repeats)
    bench_alu(options.repeats)
    bench_gemm(options.repeats)
    bench_candidate(options.repeats)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
