"""loop-align: code so placed that few instructions lie across two fetch windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from asmevo.backend.layout import lay_out
from asmevo.backend.timing.trace import block_executions
from asmevo.ir.analysis.control.flow import Flow
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.dataflow.facts import EffectsTable
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.operand_forms import lengthened, shortened
from asmevo.passes.registry import register_pass

_WORDS = 8
"""Of four bytes, in one aligned fetch."""
_STRADDLE = 4
"""Cycles that an instruction across two windows waits. Source: llvm-project pull request 203934."""
_LATE = 2
"""Cycles for each word of the first window that a taken branch jumps over: the next window comes later by so much."""
_ONE_CYCLE = 1 << 32
"""Costs are cycles in these units, plus words: of equal ways the shortest is taken."""

Choice = tuple[Instruction, int]
"""A form of an instruction and its words."""


@dataclass(frozen=True, slots=True)
class _Site:
    """One instruction in layout order: its forms, the present one first, how often it runs, and whether a branch leads to it.

    `fixed` is the word within a window at which it must stand, None where it follows what is before it.
    """

    label: str
    forms: tuple[Choice, ...]
    runs: int
    is_target: bool
    fixed: int | None


@register_pass
@dataclass(frozen=True, slots=True)
class LoopAlign:
    """Choose between the forms of vector instructions so that few instructions lie across two 32-byte windows.

    Rewrite:  v_add_f32_e32 v1, v2, v3; v_fma_f32 ... (across) --> v_add_f32_e64 v1, v2, v3; v_fma_f32 ... (within)
    Legality: both forms are the same operation on the same operands.
    Preserves: all that instructions do, their order, waits and wait states.
    Targets: gfx90a, gfx942, gfx950.
    Source: fetch of 32 aligned bytes, measured by AMD (llvm-project pull requests 203934 and 181999).
    """

    name: ClassVar[str] = "loop-align"

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Finds the forms with the fewest cycles lost over the whole layout, and the fewest bytes among those."""
        sites = _sites(kernel, ctx)
        if not sites:
            return ctx.finish()
        present, (chosen, best) = _cost_as_it_is(sites), _best(sites)
        if best // _ONE_CYCLE >= present // _ONE_CYCLE:
            return ctx.finish()
        ctx.stat("cycles saved at window ends, by count", present // _ONE_CYCLE - best // _ONE_CYCLE)
        bodies: dict[str, list[Instruction]] = {}
        for site, (instruction, words) in zip(sites, chosen, strict=True):
            bodies.setdefault(site.label, []).append(instruction)
            ctx.stat("instructions lengthened", words > site.forms[0][1])
            ctx.stat("instructions shortened", words < site.forms[0][1])
        for block in kernel.blocks:
            body = tuple(bodies.get(block.label, ()))
            if body != block.instructions:
                ctx.rewriter.replace_block_instructions(block.label, body)
        return ctx.finish()


def _sites(kernel: Kernel, ctx: PassContext) -> list[_Site]:
    loops, flow = ctx.analysis(Loops), ctx.analysis(Flow)
    counts = block_executions(kernel, loops, dict(ctx.executions) or None)
    start = kernel.blocks[0].offset or 0 if kernel.blocks else 0
    words = iter([len(item.code) // 4 for item in lay_out(kernel, start).placed])
    # Code before a place where waves start must not grow.
    roots = [n for n, block in enumerate(kernel.blocks) if block.label in kernel.roots and block.offset is not None]
    free_from = max(roots, default=0)
    # Where register numbers may be relative nothing is proved, so nothing is touched.
    table = ctx.analysis(EffectsTable)
    is_plain = {label: effects == table.printed[label] for label, effects in table.by_block.items()}
    sites: list[_Site] = []
    before: str | None = None
    for number, block in enumerate(kernel.blocks):
        jumped_to = any(source != before for source in flow.predecessors[block.label])
        runs = counts.get(block.label, 0)
        fixed = (block.offset or 0) // 4 % _WORDS if number in roots or not sites else None
        for index, instruction in enumerate(block.instructions):
            forms: list[Choice] = [(instruction, next(words))]
            if number >= free_from and not block.frozen and runs and is_plain[block.label]:
                forms += _other_forms(instruction)
            sites.append(_Site(block.label, tuple(forms), runs, jumped_to and index == 0, fixed if index == 0 else None))
        before = block.label
    return sites


def _other_forms(i: Instruction) -> list[Choice]:
    longer = lengthened(i)
    if longer is not None:
        return [(longer, 2)]
    short = shortened(i)
    return [] if short is None else [(short, 1)]


def _lost(site: _Site, words: int, at: int) -> int:
    """What one form costs at a word of a window."""
    cycles = _STRADDLE * (at + words > _WORDS) + _LATE * at * site.is_target
    return cycles * site.runs * _ONE_CYCLE + words


def _cost_as_it_is(sites: Sequence[_Site]) -> int:
    at = cost = 0
    for site in sites:
        at = at if site.fixed is None else site.fixed
        words = site.forms[0][1]
        cost += _lost(site, words, at)
        at = (at + words) % _WORDS
    return cost


def _best(sites: Sequence[_Site]) -> tuple[list[Choice], int]:
    """The forms that cost least, by dynamic programming over the word at which each instruction stands."""
    costs: dict[int, int] = {0: 0}
    steps: list[dict[int, tuple[int, Choice]]] = []
    for site in sites:
        following: dict[int, int] = {}
        step: dict[int, tuple[int, Choice]] = {}
        for came, cost in costs.items():
            at = came if site.fixed is None else site.fixed
            for form in site.forms:
                words = form[1]
                total, then = cost + _lost(site, words, at), (at + words) % _WORDS
                if then not in following or total < following[then]:
                    following[then], step[then] = total, (came, form)
        costs = following
        steps.append(step)
    at, best = min(costs.items(), key=lambda item: (item[1], item[0]))
    chosen: list[Choice] = []
    for step in reversed(steps):
        at, form = step[at]
        chosen.append(form)
    return chosen[::-1], best
