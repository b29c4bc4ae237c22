"""An outside opinion: whether llvm-mca, too, finds the hot loops of results faster.

    python -m bench.passes.mca KERNEL.co [KERNEL.co ...]     # LLVM_MCA names the program, by default llvm-mca

Each innermost loop of one block that O2 changes is given to llvm-mca, before and after, 100 rounds long. It knows issue and
latency of an in-order core, and neither waits, the shadow of matrix instructions nor memory paths: only the sign is compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from asmevo.backend.timing.model import estimate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.control.loops import Loops
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.instruction import Instruction
from asmevo.ir.printer import print_instruction
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline

_ROUNDS = 100
_SAME = 0.002
"""Changes below this share count as none."""


def cycles(body: Sequence[Instruction], target: str) -> int | None:
    """Cycles of the rounds by llvm-mca; None where it does not take an instruction. Branches are left out."""
    text = "\n".join(print_instruction(i) for i in body if not i.mnemonic.startswith(("s_cbranch", "s_branch")))
    command = [
        os.environ.get("LLVM_MCA", "llvm-mca"),
        "-mtriple=amdgcn-amd-amdhsa",
        f"-mcpu={target}",
        f"-iterations={_ROUNDS}",
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    if found is None:
        print(f"  llvm-mca: {done.stderr.strip().splitlines()[:1]}", file=sys.stderr)
    return int(found[1]) if found and done.returncode == 0 else None


def compare(path: Path) -> Counter[str]:
    """Prints each changed loop of a kernel, and counts how the signs compare."""
    kernel = recover(load_file(path))
    after = PassManager(parse_pipeline("O2")).run(kernel).kernel
    old, new = estimate(kernel), estimate(after)
    signs: Counter[str] = Counter()
    for loop in AnalysisManager(kernel).get(Loops).loops:
        label = loop.header
        if len(loop.blocks) != 1 or kernel.block(label).instructions == after.block(label).instructions:
            continue
        theirs = [cycles(k.block(label).instructions, kernel.target) for k in (kernel, after)]
        if theirs[0] is None or theirs[1] is None:
            signs["not taken by llvm-mca"] += 1
            continue
        ours = old.per_block[label].cycles / new.per_block[label].cycles
        other = theirs[0] / theirs[1]
        agreement = (
            "same sign" if _sign(ours) == _sign(other) else "no change by one" if 0 in map(_sign, (ours, other)) else "opposite"
        )
        signs[agreement] += 1
        print(f"| {path.stem} {label} | {ours:.3f} | {other:.3f} | {agreement} |")
    return signs


def _sign(gain: float) -> int:
    return (gain > 1 + _SAME) - (gain < 1 - _SAME)


def main() -> None:
    """Prints the table and the counts."""
    print("| loop | gain by the model | by llvm-mca | |\n|---|--:|--:|---|")
    total: Counter[str] = Counter()
    for name in sys.argv[1:]:
        total += compare(Path(name))
    print("\n" + ", ".join(f"{count} {kind}" for kind, count in total.most_common()))


if __name__ == "__main__":
    main()
