"""The suite's results as Markdown and CSV. Owns the words and the means; gains are cycles before over cycles after."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence

from asmevo import __version__
from asmevo.ir.isa.chips import chip_for
from bench.suite.entries import LEVELS, TARGET
from bench.suite.measure import Cycles, Row

LEAST = 1.001
"""A gain below this counts as none."""


def geometric_mean(values: Sequence[float]) -> float:
    """1 for no values."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 1.0


def gain(before: Cycles, after: Cycles) -> float:
    """How many times as fast by the static model, for the launches as they are."""
    return before.estimate / after.estimate


def best_of_llvm(row: Row) -> Cycles:
    """The fastest of LLVM's objects, the suite's own included."""
    return row.rivals[row.best] if row.best else row.before


def groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows by level, then level 1 and 2 together."""
    for level in LEVELS:
        found = [row for row in rows if row.level == level]
        if found:
            yield level, found
    both = [row for row in rows if row.level in LEVELS[:2]]
    if len({row.level for row in both}) == 2:
        yield "level1 + level2", both


def heading(command: str, compilers: Sequence[str], method: str) -> Sequence[str]:
    """The lines before the tables: the figures' basis, versions, and the command that made them."""
    return (
        "# Benchmark suite: results",
        "",
        f"Basis: modelled cycles of {chip_for(TARGET).name} ({TARGET}); no device was used, nothing was measured.",
        f"AsmEvo {__version__}; objects by {', '.join(compilers)}.",
        "Every result was judged by static checks, z3 and strict emulation of all launches. Made by:",
        "",
        f"    {command}",
        "",
        "Gains are cycles before over cycles after for the launches as they are, by the static model that ranks candidates.",
        '"Full chip" is the same with as many waves on a SIMD as fit (in brackets), "dispatch model" the event-driven model of',
        f"`asmevo bench`. A gain below 0.1 % does not count as improved. Single columns are those of `{method}`.",
        "",
        "![Gains](suite.svg)",
    )


def markdown(rows: Sequence[Row], methods: Sequence[str], head: Sequence[str]) -> str:
    """Everything that is shown, `head` first."""
    lines = [*head, "", *_summary(rows, methods), "", *_kernels(rows, methods)]
    if any(row.rivals for row in rows):
        lines += ["", *_rivals(rows, methods[-1])]
    lines += ["", *_bounds(rows, methods[-1])]
    return "\n".join(lines) + "\n"


def _table(names: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(names) + " |"
    yield "|---" * len(names) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def _summary(rows: Sequence[Row], methods: Sequence[str]) -> Iterator[str]:
    yield "## Summary"
    yield ""
    names = (
        "kernels",
        "method",
        "improved",
        "geometric mean",
        "most",
        "least",
        "full chip",
        "dispatch model",
        "attempts",
        "commits",
    )
    yield from _table(names, list(_summary_rows(rows, methods)))


def _summary_rows(rows: Sequence[Row], methods: Sequence[str]) -> Iterator[Sequence[str]]:
    for name, group in groups(rows):
        for method in methods:
            gains = [gain(row.before, row.found[method].cycles) for row in group]
            improved = sum(value >= LEAST for value in gains)

            def mean(ratio: Callable[[Cycles], float], group: list[Row] = group, method: str = method) -> str:
                return f"{geometric_mean([ratio(row.before) / ratio(row.found[method].cycles) for row in group]):.3f}"

            yield (
                *(name, method, f"{improved} of {len(group)}", f"{geometric_mean(gains):.3f}", f"{max(gains):.3f}"),
                *(f"{min(gains):.3f}", mean(lambda c: c.full), mean(lambda c: c.dispatch)),
                f"{sum(row.found[method].attempts for row in group) / len(group):.1f}",
                f"{sum(row.found[method].commits for row in group) / len(group):.1f}",
            )


def _kernels(rows: Sequence[Row], methods: Sequence[str]) -> Iterator[str]:
    yield "## Kernels"
    yield ""
    names = ("kernel", "built by", "cycles", *methods, "full chip", "dispatch model", "attempts", "commits", "verdict", "CPU s")
    yield from _table(names, [_kernel(row, methods) for row in rows])


def _kernel(row: Row, methods: Sequence[str]) -> Sequence[str]:
    last = row.found[methods[-1]]
    return (
        *(row.kernel, row.compiler, f"{row.before.estimate:,.0f}"),
        *(f"{gain(row.before, row.found[method].cycles):.3f}" for method in methods),
        f"{row.before.full / last.cycles.full:.3f} ({row.full_waves})",
        f"{row.before.dispatch / last.cycles.dispatch:.3f}",
        *(str(last.attempts), str(last.commits), last.outcome, f"{last.seconds:.0f}"),
    )


def _rivals(rows: Sequence[Row], method: str) -> Iterator[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.rivals))
    yield "## LLVM's alternatives"
    yield ""
    yield (
        'Against the object as shipped, above 1 is faster. "LLVM\'s best" is the fastest of these and the shipped one; '
        f'"AsmEvo on it" is `{method}` on that object, "beats it by" the ratio of the two.'
    )
    yield ""
    shown = [row for row in rows if row.rivals]
    means = [
        (f"**{name}**", *(_mean(group, rival) for rival in names), *_best_columns(group), "") for name, group in groups(shown)
    ]
    header = ("kernel", *names, "LLVM's best", "AsmEvo on it", "beats it by", "which")
    yield from _table(header, [*map(lambda row: _rival(row, names), shown), *means])
    refused = [(row.kernel, name, why) for row in rows for name, why in row.refused.items()]
    if refused:
        yield ""
        yield "Left out, as the emulator refuses them:"
        yield from (f"- {kernel}, {name}: {why}" for kernel, name, why in refused)


def _rival(row: Row, names: Sequence[str]) -> Sequence[str]:
    shown = (f"{gain(row.before, row.rivals[name]):.3f}" if name in row.rivals else "-" for name in names)
    return (row.kernel, *shown, *_best_columns([row]), row.best or "shipped")


def _mean(rows: Sequence[Row], rival: str) -> str:
    gains = [gain(row.before, row.rivals[rival]) for row in rows if rival in row.rivals]
    return f"{geometric_mean(gains):.3f} ({len(gains)})" if gains else "-"


def _best_columns(rows: Sequence[Row]) -> Sequence[str]:
    best = geometric_mean([gain(row.before, best_of_llvm(row)) for row in rows])
    ours = geometric_mean([gain(row.before, row.on_best.cycles) for row in rows if row.on_best])
    return f"{best:.3f}", f"{ours:.3f}", f"{ours / best:.3f}"


def _bounds(rows: Sequence[Row], method: str) -> Iterator[str]:
    yield "## What stops the gain"
    yield ""
    yield (
        '"No order beats" is the most that reordering within regions and trimming waits and nops can gain by the static model '
        f"(`bench/suite/bounds.py`); `{method}` reaches the gain beside it."
    )
    yield ""
    header = ("kernel", "waves per SIMD", "no order beats", method, "busiest unit", "waves wait for, % of their time")
    yield from _table(header, [_bound(row, method) for row in rows])
    yield ""
    for name, group in groups(rows):
        most = geometric_mean([row.before.estimate / row.bound.cycles for row in group])
        yield f"- {name}: no order beats {most:.3f} in the geometric mean."


def _bound(row: Row, method: str) -> Sequence[str]:
    waits = ", ".join(f"{cause} {100 * share:.0f}" for cause, share in list(row.bound.waits.items())[:4])
    return (
        *(row.kernel, str(row.waves), f"{row.before.estimate / row.bound.cycles:.3f}"),
        f"{gain(row.before, row.found[method].cycles):.3f}",
        *(f"{row.bound.busiest} {row.bound.busiest_share:.0%}", waits),
    )


def comma_separated(rows: Sequence[Row], methods: Sequence[str]) -> str:
    """One line a kernel and object, every figure: shipped, each method, each of LLVM's alternatives, the last on the best."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        "kernel,level,compiler,object,cycles,cycles_full,cycles_dispatch,gain,verdict,attempts,commits,cpu_seconds".split(",")
    )
    for row in rows:
        lines: list[tuple[str, Cycles, Sequence[object]]] = [("shipped", row.before, ("", "", "", ""))]
        chosen = [(method, row.found[method]) for method in methods]
        if row.on_best:
            chosen.append((f"{methods[-1]} on {row.best or 'shipped'}", row.on_best))
        lines += [(name, f.cycles, (f.outcome, f.attempts, f.commits, f"{f.seconds:.1f}")) for name, f in chosen]
        lines += [(f"LLVM {name}", cycles, ("", "", "", "")) for name, cycles in row.rivals.items()]
        for name, c, rest in lines:
            figures = (f"{c.estimate:.0f}", f"{c.full:.0f}", f"{c.dispatch:.0f}", f"{gain(row.before, c):.4f}")
            writer.writerow((row.kernel, row.level, row.compiler, name, *figures, *rest))
    return text.getvalue()
