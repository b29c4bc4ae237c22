"""What the passes gain by the cycle model: kernels and their loops, before and after each preset, and how far from the bound.

One table for the objects in folders (ASMEVO_CORPUS without any; families by folder, a few of each) and the shipped kernels, as
Markdown on standard output and as JSON with --json. Cycles are modelled: a static estimate in which loops run 16 times, or as
often as the shipped kernel's launch runs them. Nothing is measured on a device. With --verify every result is judged.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from asmevo.atomic import write_atomically
from asmevo.backend.timing.model import Estimate, estimate
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.loop_bounds import LoopBounds
from asmevo.ir.analysis.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.profile import profile_kernel
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launches import load_launches

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SHIPPED = "shipped"


@dataclass(frozen=True, slots=True)
class LoopRow:
    """An innermost loop: cycles a round before and after each pipeline, the bound, and its share of the kernel before."""

    header: str
    before: float
    after: dict[str, float]
    bound: int
    share: float


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel: cycles before and after each pipeline, CPU seconds and the verdict of each, and its loops."""

    family: str
    name: str
    instructions: int
    before: float
    after: dict[str, float]
    seconds: dict[str, float]
    verdicts: dict[str, str]
    loops: tuple[LoopRow, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of code objects; ASMEVO_CORPUS without any")
    parser.add_argument("--per-family", type=int, default=4, help="kernels of each family, spread over their sizes; 0: all")
    parser.add_argument("--most-kilobytes", type=int, default=100, help="larger objects are left out, as slow to schedule")
    parser.add_argument("--pipelines", default="list-schedule;O1;O2;O3", help="pipelines, with semicolons between")
    parser.add_argument("--verify", choices=["none", "static", "smt"], default="none", help="how each result is judged")
    parser.add_argument("--json", type=Path, help="where the rows go as JSON")
    parser.add_argument("--no-shipped", action="store_true", help="leave the shipped kernels out")
    options = parser.parse_args()
    folders = options.folders or [Path(p) for p in (os.environ.get("ASMEVO_CORPUS"),) if p]
    pipelines = [text.strip() for text in options.pipelines.split(";")]
    work = [] if options.no_shipped else [(SHIPPED, path) for path in sorted((EXAMPLES / "kernels").glob("*.co"))]
    work += [item for folder in folders for item in chosen(folder, options.per_family, options.most_kilobytes)]
    rows: list[KernelRow] = []
    for family, path in work:
        try:
            rows.append(row(family, path, pipelines, options.verify))
        except DiagnosticError as error:
            print(f"left out: {path.name}: {error.diagnostics[0].message}", file=sys.stderr)
            continue
        print(f"{len(rows)}/{len(work)} {path.name}", file=sys.stderr)
        if options.json:
            write_atomically(options.json, json.dumps([asdict(r) for r in rows], indent=1).encode())
    print("\n".join(markdown(rows, pipelines)))


def chosen(folder: Path, count: int, most_kilobytes: int) -> Iterator[tuple[str, Path]]:
    """Objects of each family: its smallest, its largest and what lies evenly between; all with 0."""
    families: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*.co")):
        parts = path.relative_to(folder).parts
        if path.stat().st_size > most_kilobytes * 1024:
            continue
        families[parts[0] if len(parts) > 1 else path.stem.split("_")[0]].append(path)
    for family, paths in sorted(families.items()):
        paths.sort(key=lambda p: (p.stat().st_size, p.name))
        last = len(paths) - 1
        few = count and count < len(paths)
        places = {round(n * last / max(count - 1, 1)) for n in range(count)} if few else set(range(len(paths)))
        yield from ((family, paths[n]) for n in sorted(places))


def row(family: str, path: Path, pipelines: Sequence[str], verify: str) -> KernelRow:
    kernel = recover(load_file(path))
    executions: Mapping[int, int] = {}
    waves = 1
    launch = EXAMPLES / "launches" / f"{path.stem}.toml"
    if family == SHIPPED and launch.exists():
        profile = profile_kernel(kernel, load_launches(launch, kernel))
        executions, waves = profile.executions, profile.waves_per_simd

    def modelled(candidate: Kernel, counts: Mapping[int, int]) -> Estimate:
        return estimate(candidate, dict(counts) or None, waves_per_simd=waves)

    before = modelled(kernel, executions)
    after: dict[str, Estimate] = {}
    seconds: dict[str, float] = {}
    verdicts: dict[str, str] = {}
    for text in pipelines:
        started = time.process_time()
        result = PassManager(parse_pipeline(text), executions=executions, waves_per_simd=waves).run(kernel)
        seconds[text] = time.process_time() - started
        after[text] = modelled(result.kernel, result.executions)
        if verify != "none":
            verdict = Judge(Level(verify))(kernel, result.kernel) if result.changed else None
            verdicts[text] = "unchanged" if verdict is None else f"{verdict.outcome.value} {verdict.reason}".strip()
    return KernelRow(
        family=family,
        name=path.stem,
        instructions=sum(len(block.instructions) for block in kernel.blocks),
        before=before.total_cycles,
        after={text: found.total_cycles for text, found in after.items()},
        seconds=seconds,
        verdicts=verdicts,
        loops=tuple(loop_rows(kernel, before, after)),
    )


def loop_rows(kernel: Kernel, before: Estimate, after: Mapping[str, Estimate]) -> Iterator[LoopRow]:
    """The innermost loops that take a twentieth of the kernel's cycles or more."""
    analyses = AnalysisManager(kernel)
    blocks = {loop.header: loop.blocks for loop in analyses.get(Loops).loops}
    for bound in analyses.get(LoopBounds).loops:
        header = before.per_block.get(bound.header)
        if header is None:
            continue

        def cycles(found: Estimate, labels: frozenset[str] = frozenset(blocks[bound.header])) -> float:
            return sum(cost.cycles * cost.executions for label, cost in found.per_block.items() if label in labels)

        share = cycles(before) / before.total_cycles
        if share >= 0.05:
            rounds = header.executions
            rates = {text: cycles(found) / rounds for text, found in after.items()}
            yield LoopRow(bound.header, cycles(before) / rounds, rates, bound.bound_cycles, share)


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def markdown(rows: Sequence[KernelRow], pipelines: Sequence[str]) -> Iterator[str]:
    families = list(dict.fromkeys(r.family for r in rows))
    yield "Modelled cycles before / after; geometric means. No device was used."
    yield ""
    yield f"| family | kernels | {' | '.join(pipelines)} | least |"
    yield "|---|---|" + "---|" * (len(pipelines) + 1)
    for family in (*families, "all but shipped"):
        group = [r for r in rows if r.family == family or (family not in families and r.family != SHIPPED)]
        if group:
            means = [geometric_mean([r.before / r.after[text] for r in group]) for text in pipelines]
            least = min(r.before / r.after[text] for r in group for text in pipelines)
            yield f"| {family} | {len(group)} | {' | '.join(f'{m:.3f}' for m in means)} | {least:.3f} |"
    yield ""
    yield f"| kernel | instructions | cycles | {' | '.join(pipelines)} | CPU s of the last |"
    yield "|---|---|---|" + "---|" * (len(pipelines) + 1)
    for r in rows:
        gains = " | ".join(f"{r.before / r.after[text]:.3f}" for text in pipelines)
        yield f"| {r.name} | {r.instructions:,} | {r.before:,.0f} | {gains} | {r.seconds[pipelines[-1]]:.1f} |"
    yield ""
    yield f"| loop | share | bound | before | {' | '.join(pipelines)} | last above bound |"
    yield "|---|---|---|---|" + "---|" * (len(pipelines) + 1)
    for r in rows:
        for loop in r.loops:
            cycles = " | ".join(f"{loop.after[text]:,.0f}" for text in pipelines)
            above = f"{(loop.after[pipelines[-1]] / loop.bound - 1) * 100:+.0f} %" if loop.bound else "-"
            yield f"| {r.name} {loop.header} | {loop.share:.0%} | {loop.bound:,} | {loop.before:,.0f} | {cycles} | {above} |"
    refused = [(r.name, text, said) for r in rows for text, said in r.verdicts.items() if not said.startswith(("pro", "unc"))]
    judged = sum(len(r.verdicts) for r in rows)
    if judged:
        yield ""
        yield f"{judged - len(refused)} of {judged} results judged: proved or unchanged."
        yield from (f"- {name}, {text}: {said}" for name, text, said in refused)


if __name__ == "__main__":
    main()
