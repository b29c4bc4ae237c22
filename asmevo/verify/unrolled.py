"""Loops whose rounds run several at a time: the original with such a loop unrolled, and the proof that it does the same.

Owns that claim alone. It is made for loops of one block that go on while a lane is active. Let B be the block without its
branch. The original runs B until EXEC is zero; the unrolled one runs B some number of times until EXEC is zero. They differ
in rounds that begin with no active lane, and those come last. So they do the same if B, begun with EXEC zero, leaves EXEC
zero and changes nothing that is needed behind the loop, memory included. That is asked of the window prover, with EXEC zero
as the only thing known. What the candidate made of the unrolled block is the proof of windows' affair.
"""

from __future__ import annotations

from dataclasses import replace

from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.effects import may_skip_vectors
from asmevo.ir.instruction import Instruction
from asmevo.ir.kernel import Block, Kernel
from asmevo.ir.registers import EXEC, EXEC_MASK
from asmevo.verify.equivalence.facts import Facts
from asmevo.verify.equivalence.window import prove_window
from asmevo.verify.verdict import Basis, Outcome

METHOD = "unrolled loops"
MOST_ROUNDS = 16
_WORD = (1 << 32) - 1
_NO_LANE = Facts({EXEC: (_WORD, 0), EXEC + 1: (_WORD, 0)})


def with_unrolled_loops(before: Kernel, after: Kernel, *, timeout_s: float = 5.0) -> tuple[Kernel, tuple[Basis, ...]]:
    """Return `before` with the loops unrolled that `after` seems to have unrolled, and the proof that this changes nothing.

    Without such a proof a loop stays as it is, and differs for the proof that follows. How often a loop is unrolled is a guess
    from its memory accesses; a wrong one proves nothing.
    """
    guesses = _guesses(before, after)
    if not guesses:
        return before, ()
    liveness = [AnalysisManager(kernel).get(Liveness) for kernel in (before, after)]
    next_uid = max(i.uid for kernel in (before, after) for i in kernel.instructions()) + 1
    blocks: list[Block] = []
    shown: list[str] = []
    for block in before.blocks:
        rounds = guesses.get(block.label, 1)
        needed = EXEC_MASK
        for live in liveness:
            needed |= live.live_in[block.successors[1]] if rounds > 1 else 0
        if rounds > 1 and _idle_without_lanes(before, block, needed, timeout_s):
            body, branch = block.instructions[:-1], block.instructions[-1]
            more = [i for _ in range(rounds - 1) for i in body]
            copies = tuple(replace(i, uid=next_uid + n) for n, i in enumerate(more))
            next_uid += len(copies)
            block = replace(block, instructions=(*body, *copies, branch))
            shown.append(f"{block.label} by {rounds}")
        blocks.append(block)
    if not shown:
        return before, ()
    detail = f"{', '.join(shown)}: a round that begins with no active lane changes nothing that is needed"
    return replace(before, blocks=tuple(blocks)), (Basis(METHOD, Outcome.PROVED, detail),)


def _guesses(before: Kernel, after: Kernel) -> dict[str, int]:
    """How many rounds of the original one of the candidate seems to be, by label of the loops where it is more than one."""
    if [(b.label, b.successors) for b in before.blocks] != [(b.label, b.successors) for b in after.blocks]:
        return {}
    found: dict[str, int] = {}
    for old, new in zip(before.blocks, after.blocks, strict=True):
        if old.instructions is new.instructions or not runs_while_lanes_are_active(old):
            continue
        had, has = _accesses(old), _accesses(new)
        if had and has > had and has % had == 0 and has // had <= MOST_ROUNDS:
            found[old.label] = has // had
    return found


def runs_while_lanes_are_active(block: Block) -> bool:
    """Whether a block is a loop of its own that ends with a branch back while EXEC is not zero."""
    if block.frozen or len(block.successors) != 2 or block.successors[0] != block.label or block.successors[1] == block.label:
        return False
    return block.instructions[-1].mnemonic == "s_cbranch_execnz"


def _accesses(block: Block) -> int:
    return sum(_is_access(i) for i in block.instructions)


def _is_access(instruction: Instruction) -> bool:
    return instruction.definition is not None and instruction.definition.access is not None


def _idle_without_lanes(kernel: Kernel, block: Block, needed: int, timeout_s: float) -> bool:
    """Whether the block's body, begun with EXEC zero, changes neither memory nor what is needed, EXEC included."""
    found = prove_window(
        block.instructions[:-1],
        (),
        needed,
        timeout_s=timeout_s,
        vskip=may_skip_vectors(kernel.instructions()),
        facts=_NO_LANE,
        target=kernel.target,
    )
    return found.outcome.is_success
