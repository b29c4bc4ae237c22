"""Rows as Markdown: gains by family, whole dispatches, loops and their bounds, and what was refused, failed or not done."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from bench.passes.measure import FAILED, UNCHANGED, Row
from bench.passes.sample import SHIPPED, SUITE

_GOOD = ("proved", "tested", UNCHANGED, "identical")


def geometric_mean(values: Sequence[float]) -> float:
    """1 for none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def gain(row: Row) -> float:
    """Modelled cycles before over after; 1 when the result may not be used."""
    return row.before / row.after if row.outcome in _GOOD and row.after else 1.0


def is_fault(row: Row) -> bool:
    """Whether the result may not be used."""
    return row.outcome not in _GOOD


def verdicts(rows: Sequence[Row]) -> Iterator[str]:
    """What became of each pipeline: how many kernels it changed, the outcomes, and each result that was no success."""
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    again: Counter[str] = Counter()
    for row in rows:
        outcomes[row.pipeline][row.outcome] += 1
        again[row.pipeline] += bool(row.again)
    names = sorted({row.outcome for row in rows}, key=lambda name: (name not in _GOOD, name))
    yield f"| pipeline | kernels | {' | '.join(names)} | a second run changes more | mean gain | least |"
    yield "|---|--:|" + "--:|" * (len(names) + 3)
    for pipeline, counts in outcomes.items():
        gains = [gain(row) for row in rows if row.pipeline == pipeline]
        cells = [counts.total(), *(counts[name] for name in names), again[pipeline]]
        shown = f"{geometric_mean(gains):.3f} | {min(gains):.3f}"
        yield f"| `{pipeline}` | {' | '.join(f'{cell:,}' for cell in cells)} | {shown} |"
    bad = [row for row in rows if is_fault(row)]
    if bad:
        yield ""
        yield from (f"- {row.kernel}, `{row.pipeline}`: {row.outcome}: {row.reason}" for row in bad)


def dropped(rows: Iterable[Row]) -> Iterator[str]:
    """What presets left out, and why."""
    for row in rows:
        yield from (f"- {row.kernel}, `{row.pipeline}`: {told}" for told in row.dropped)


def gains(rows: Iterable[Row], pipelines: Sequence[str]) -> Iterator[str]:
    """Geometric means by family of the kernels that have every pipeline, then each kernel."""
    by_kernel: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        if row.pipeline in pipelines and row.outcome != FAILED:
            by_kernel[row.kernel][row.pipeline] = row
    whole = {kernel: found for kernel, found in by_kernel.items() if len(found) == len(pipelines)}
    families = list(dict.fromkeys(next(iter(found.values())).family for found in whole.values()))
    ours = [name for name in families if name in (SHIPPED, SUITE)]
    others = [name for name in families if name not in ours]
    yield f"| kernels | number | {' | '.join(pipelines)} | least |"
    yield "|---|--:|" + "--:|" * (len(pipelines) + 1)
    for label, group in (
        *((name, [name]) for name in (*ours, *others)),
        ("all compiled", ours),
        ("all production", others),
        ("production but all-reduce", [name for name in others if not name.startswith("all")]),
    ):
        members = [found for found in whole.values() if next(iter(found.values())).family in group]
        if members:
            means = [geometric_mean([gain(found[text]) for found in members]) for text in pipelines]
            least = min(gain(found[text]) for found in members for text in pipelines)
            yield f"| {label} | {len(members)} | {' | '.join(f'{m:.3f}' for m in means)} | {least:.3f} |"
    yield ""
    yield f"| kernel | instructions | cycles | {' | '.join(pipelines)} | CPU s of the last, with proof |"
    yield "|---|--:|--:|" + "--:|" * (len(pipelines) + 1)
    for kernel, found in whole.items():
        last = found[pipelines[-1]]
        shown = " | ".join(f"{gain(found[text]):.3f}" for text in pipelines)
        took = f"{last.pass_seconds:.1f} + {last.judge_seconds:.1f}"
        yield f"| {kernel} | {last.instructions:,} | {last.before:,.0f} | {shown} | {took} |"


def dispatches(rows: Iterable[Row], pipelines: Sequence[str]) -> Iterator[str]:
    """Whole dispatches of the kernels with launches: gains of each pipeline, the worst and the best launch of a kernel."""
    found: defaultdict[str, dict[str, list[float]]] = defaultdict(dict)
    for row in rows:
        if row.pipeline in pipelines and row.dispatches:
            usable = row.outcome in _GOOD
            found[row.kernel][row.pipeline] = [old / new if usable else 1.0 for old, new in row.dispatches.values()]
    yield f"| kernel | launches | {' | '.join(pipelines)} |"
    yield "|---|--:|" + "--:|" * len(pipelines)
    everything: defaultdict[str, list[float]] = defaultdict(list)
    for kernel, by_pipeline in found.items():
        cells: list[str] = []
        for text in pipelines:
            of = by_pipeline.get(text, [])
            everything[text].append(geometric_mean(of))
            cells.append(f"{min(of):.3f} to {max(of):.3f}" if of else "")
        yield f"| {kernel} | {len(next(iter(by_pipeline.values())))} | {' | '.join(cells)} |"
    means = " | ".join(f"{geometric_mean(everything[text]):.3f}" for text in pipelines)
    yield f"| geometric mean of {len(found)} | | {means} |"


def loops(rows: Iterable[Row], pipelines: Sequence[str]) -> Iterator[str]:
    """Hot loops: cycles a round before and after, and how far each ends above its bound."""
    found: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    about: dict[tuple[str, str], tuple[float, int, float]] = {}
    for row in rows:
        if row.pipeline in pipelines and row.outcome in _GOOD:
            for loop in row.loops:
                found[row.kernel, loop.header][row.pipeline] = loop.after
                about[row.kernel, loop.header] = loop.before, loop.bound, loop.share
    yield f"| loop | share | bound | before | {' | '.join(pipelines)} | last above bound |"
    yield "|---|--:|--:|--:|" + "--:|" * (len(pipelines) + 1)
    old: list[float] = []
    new: list[float] = []
    for (kernel, header), after in found.items():
        if len(after) < len(pipelines):
            continue
        before, bound, share = about[kernel, header]
        last = after[pipelines[-1]]
        if bound:
            old.append(before / bound)
            new.append(last / bound)
        cells = " | ".join(f"{after[text]:,.0f}" for text in pipelines)
        above = f"{(last / bound - 1) * 100:+.0f} %" if bound else "-"
        yield f"| {kernel} {header} | {share:.0%} | {bound:,} | {before:,.0f} | {cells} | {above} |"
    yield ""
    yield f"{len(old)} loops with a bound: {geometric_mean(old):.3f} times it before, {geometric_mean(new):.3f} times after."
