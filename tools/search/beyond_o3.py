"""What the search finds beyond preset O3, by the cycle model: a table and each kernel's curve.

Runs `optimise` with the shipped proposers on shipped kernels and, with ASMEVO_CORPUS set, on production ones, each for the same
wall time, or with --attempts as many attempts, on as many processes as --jobs says. A log makes it resumable. Cycles are
modelled; nothing is measured on a device.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import CodeObject, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.optimise import Budget, in_processes, optimise
from asmevo.search.profile import profile_kernel
from asmevo.search.shop import Outfit
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from tools.done_log import HELP, logged, read_log

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHIPPED = ("softmax", "matmul_fp16", "layer_norm", "reduce_sum", "attention_fwd", "matmul_256x128")
PRODUCTION = (
    "topksoftmax/topksoftmax_4x128x4.co",
    "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co",
    "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co",
    "topksoftmax/topksoftmax_4x384x8_bf16.co",
)


@dataclass(frozen=True, slots=True)
class Found:
    """One kernel: modelled cycles as it was, after O3 alone, after the search; the verdict; and the curve.

    `curve` holds (seconds, cycles of the best) each time it got better; `o3_verdict` says whether O3's result holds.
    """

    file: str
    before: float
    o3: float
    o3_verdict: str
    after: float
    verdict: str
    attempts: int
    seconds: float
    cpu_seconds: float
    statuses: dict[str, int]
    curve: list[list[float]]

    @property
    def extra(self) -> float:
        """How many times faster than O3 alone; O3's result counts as the kernel itself where it is refused."""
        return min(self.o3, self.before) / self.after


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel with its launches."""

    name: str
    code_object: CodeObject
    kernel: Kernel
    dispatches: list[Dispatch]


def subjects() -> Iterator[Subject]:
    """The shipped ones, then production ones where they are at hand."""
    for name in SHIPPED:
        code_object = load_file(EXAMPLES / "kernels" / f"{name}.co")
        kernel = recover(code_object)
        yield Subject(name, code_object, kernel, load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel))
    corpus = os.environ.get("ASMEVO_CORPUS")
    if corpus is None:
        print("ASMEVO_CORPUS is not set: production kernels are left out", file=sys.stderr)
        return
    for path in PRODUCTION:
        code_object = load_file(Path(corpus) / path)
        kernel = recover(code_object)
        name = Path(path).stem
        yield Subject(name, code_object, kernel, load_launches(EXAMPLES / "production" / f"{name}.toml", kernel)[:1])


def searched(subject: Subject, budget: Budget, seed: int, jobs: int) -> Found:
    """O3 alone, then the search."""
    judge = Judge(Level.EMULATE, subject.dispatches)
    profile = profile_kernel(subject.kernel, subject.dispatches)
    evaluator = Outfit(subject.kernel, profile, subject.dispatches, judge, ()).evaluator()
    passes = PassManager(parse_pipeline("O3"), executions=profile.executions, waves_per_simd=profile.waves_per_simd)
    by_o3 = passes.run(subject.kernel)
    verdict = judge(subject.kernel, by_o3.kernel)
    o3 = profile.estimate.total_cycles
    if verdict.outcome.is_success:
        o3 = evaluator.estimate(by_o3.kernel, profile.differing(by_o3.kernel, by_o3.executions)).total_cycles
    started, cpu = time.monotonic(), _cpu()
    curve: list[list[float]] = []

    def told(number: int, before: float, best: float) -> None:
        del number
        if best < (curve[-1][1] if curve else before):
            curve.append([round(time.monotonic() - started, 1), best])

    result = optimise(
        subject.kernel, subject.dispatches, judge, budget=budget, seed=seed, profile=profile,
        progress=told, executor=in_processes(jobs), code_object=subject.code_object,
    )  # fmt: skip
    statuses: dict[str, int] = {}
    for attempt in result.attempts:
        statuses[attempt.status.value] = statuses.get(attempt.status.value, 0) + 1
    final = result.verdict.outcome.value if result.verdict else "nothing found"
    return Found(
        subject.name, result.before_cycles, o3, verdict.outcome.value, result.after_cycles, final, len(result.attempts),
        round(result.seconds, 1), round(_cpu() - cpu, 1), statuses, curve,
    )  # fmt: skip


def _cpu() -> float:
    """CPU seconds of this process and of those that it ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def report(found: list[Found]) -> str:
    """Markdown: the table, its mean, and a curve a kernel."""
    lines = [
        "| kernel | cycles before | O3 alone | search | beyond O3 | verdict | attempts | CPU seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        lines.append(
            f"| {row.file} | {row.before:,.0f} | {row.o3:,.0f} | {row.after:,.0f} | {row.extra:.3f}x | {row.verdict} | "
            f"{row.attempts} | {row.cpu_seconds:.0f} |"
        )
    mean = math.exp(sum(math.log(row.extra) for row in found) / len(found))
    better = sum(row.extra > 1 for row in found)
    lines += ["", f"Better than O3 alone on {better} of {len(found)}; geometric mean {mean:.3f}x.", ""]
    for row in found:
        points = ", ".join(f"{seconds:g} s {row.before / cycles:.3f}x" for seconds, cycles in row.curve)
        lines.append(f"- {row.file}: {points or 'nothing found'}")
    return "\n".join(lines)


def _decoded(data: dict[str, Any]) -> Found:
    return Found(**data)


def main() -> int:
    """Print the report; 1 when some result is not verified."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800.0, help="wall time of each search")
    parser.add_argument("--attempts", type=int, default=1 << 30, help="most attempts of each search")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="names of kernels, by default all")
    parser.add_argument("--log", type=Path, required=True, help=HELP)
    options = parser.parse_args()
    known = read_log(options.log, _decoded)
    chosen = (s for s in subjects() if s.name not in known and (not options.only or s.name in options.only))
    budget = Budget(options.seconds, options.attempts, 1 << 30)
    fresh = (searched(subject, budget, options.seed, options.jobs) for subject in chosen)
    found = list(known.values())
    for row in logged(options.log, list(known.values()), fresh):
        print(f"{row.file}: {row.extra:.3f}x beyond O3, {row.verdict}", file=sys.stderr, flush=True)
        found.append(row)
    print(report(found))
    return int(any(row.verdict not in ("proved", "tested", "nothing found") for row in found))


if __name__ == "__main__":
    sys.exit(main())
