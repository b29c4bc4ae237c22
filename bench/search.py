"""How many full evaluations a second one core makes: window edits of a production-sized kernel, every gate, the object rebuilt.

With ASMEVO_CORPUS set, on a production kernel of about 4,500 instructions with a launch of at most 50,000 wave-instructions;
without it, on the largest shipped kernel. Times are the process's CPU time. Also how many bad proposals the gates stop before
emulation: random changes of windows, of which nearly all are wrong.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asmevo.backend.launch import Dispatch
from asmevo.frontend.codeobject import CodeObject, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.passes.regions import RegionGraph, regions_of, reordered
from asmevo.search.drafting import drafted
from asmevo.search.lineage import edits
from asmevo.search.moves import DARING
from asmevo.search.profile import profile_kernel
from asmevo.search.proposal import Proposal, WindowText
from asmevo.search.rules import window_with
from asmevo.search.shop import Judging, Outfit, Shop
from asmevo.search.windows import hot_windows
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PRODUCTION = "fmoe/silu/fmoe_bf16_pertokenInt8_g1u1_vs_silu_1tg_32x256.co"
MOST_INSTRUCTIONS = 50_000
WIDEST = 64


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel with its launch."""

    name: str
    code_object: CodeObject
    kernel: Kernel
    dispatches: list[Dispatch]


def subject() -> Subject:
    corpus = os.environ.get("ASMEVO_CORPUS")
    if corpus is None:
        path = max((EXAMPLES / "kernels").glob("*.co"), key=lambda path: path.stat().st_size)
        code_object = load_file(path)
        kernel = recover(code_object)
        return Subject(path.stem, code_object, kernel, load_launches(EXAMPLES / "launches" / f"{path.stem}.toml", kernel)[:1])
    code_object = load_file(Path(corpus) / PRODUCTION)
    kernel = recover(code_object)
    name = Path(PRODUCTION).stem
    return Subject(name, code_object, kernel, load_launches(EXAMPLES / "production" / f"{name}.toml", kernel)[:1])


def orders(kernel: Kernel, source: random.Random) -> Iterator[Kernel]:
    """Candidates in which a few neighbours of a window changed places legally: what a proposer would hand over."""
    analyses = AnalysisManager(kernel)
    regions = [r for b in kernel.blocks for r in regions_of(b) if r.stop - r.start >= 16]
    while True:
        graph = RegionGraph.build(kernel, source.choice(regions), analyses)
        order = list(range(len(graph.nodes)))
        near = source.randrange(max(len(order) - WIDEST, 1))
        for _ in range(12):
            place = source.randrange(near, min(near + WIDEST, len(order) - 1))
            if order[place] not in graph.predecessors[order[place + 1]]:
                order[place], order[place + 1] = order[place + 1], order[place]
        candidate = reordered(graph, order)
        if candidate is not None and candidate.blocks != kernel.blocks:
            yield candidate


def evaluations(found: Subject, shop: Shop, count: int) -> None:
    source = random.Random(1)
    candidates = [candidate for candidate, _ in zip(orders(found.kernel, source), range(count + 1), strict=False)]
    gates: dict[str, float] = Counter()
    ended: Counter[str] = Counter()
    for number, candidate in enumerate(candidates):
        started = time.process_time()
        draft = drafted(Proposal("bench", "orders", candidate), found.kernel, shop.evaluator, float("inf"))
        drawn = time.process_time()
        assert draft.edit is not None, draft.reason
        result = shop.do(Judging(edits.encoded(found.kernel, candidate)))
        if number:  # the first one pays for what all share: K0's facts and runs
            gates["form to rebuild"] += drawn - started
            gates["static to emulation"] += time.process_time() - drawn
            ended[f"{result.status.value} at {result.gate.value}"] += 1  # type: ignore[union-attr]
    total = sum(gates.values())
    for name, seconds in gates.items():
        print(f"  {name}: {1e3 * seconds / count:.0f} ms")
    print(f"  {count / total:.1f} full evaluations a second a core ({', '.join(f'{n} {s}' for s, n in ended.items())})")


def refusals(found: Subject, shop: Shop, count: int) -> None:
    source = random.Random(2)
    windows = [w for w in hot_windows(found.kernel, shop.outfit.profile.estimate, 4) if w.stop - w.start >= 4]
    ended: Counter[str] = Counter()
    while sum(ended.values()) < count:
        window = source.choice(windows)
        members = found.kernel.block(window.label).instructions[window.start : window.stop]
        made = source.choice(DARING)(members, source, found.kernel.target)
        if made is None:
            continue
        change = WindowText(window.label, window.start, window.stop, window_with(made, 0, 0, ()))
        draft = drafted(Proposal("bench", "random", change), found.kernel, shop.evaluator, float("inf"))
        if draft.status is not None:
            ended[draft.gate.value] += 1
            continue
        assert draft.edit is not None
        result = shop.do(Judging(draft.edit))
        ended["harmless" if result.status.value == "accepted" else result.gate.value] += 1  # type: ignore[union-attr]
    bad = sum(ended.values()) - ended["harmless"]
    early = bad - ended["emulation"]
    told = ", ".join(f"{n} at {gate}" for gate, n in sorted(ended.items()) if gate != "harmless")
    print(f"  {bad} bad proposals: {told}; {100 * early / max(bad, 1):.1f} % stopped before emulation")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    options = parser.parse_args()
    found = subject()
    profile = profile_kernel(found.kernel, found.dispatches)
    size = sum(len(block.instructions) for block in found.kernel.blocks)
    waves = sum(profile.executions.values())
    print(f"{found.name}: {size:,} instructions; a launch of {waves:,} wave-instructions")
    if waves > MOST_INSTRUCTIONS:
        print(f"  (more than the {MOST_INSTRUCTIONS:,} that the bar speaks of)")
    judge = Judge(Level.EMULATE, found.dispatches, seeds=(0,))
    shop = Shop(Outfit(found.kernel, profile, found.dispatches, judge, (), None, found.code_object))
    evaluations(found, shop, options.count)
    refusals(found, shop, options.count * 3)


if __name__ == "__main__":
    main()
