"""How long O2 with static proofs takes on a kernel, and how many wave-instructions a second the model of dispatches makes.

    python -m bench.passes.speed KERNEL.co      # CPU seconds, of this process alone

The bars: 20 s of the first for a kernel of 4,500 instructions, a million of the second.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from asmevo.backend.timing.record import record
from asmevo.backend.timing.simulate import simulate
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.isa.chips import chip_for
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.verify.judge import static_verdict
from asmevo.verify.launch.dispatches import load_launches
from bench.passes.sample import compiled

_LEAST = 2_000_000
"""Wave-instructions simulated."""


def passes(path: Path) -> None:
    """Prints the CPU seconds of O2 and of the static proofs of its result."""
    kernel = recover(load_file(path))
    size = sum(len(block.instructions) for block in kernel.blocks)
    started = time.process_time()
    result = PassManager(parse_pipeline("O2")).run(kernel)
    changed = time.process_time()
    verdict = static_verdict(kernel, result.kernel)
    proved = time.process_time()
    took = f"O2 {changed - started:.1f} s, static proofs {proved - changed:.1f} s: {verdict.outcome.value}"
    print(f"{path.stem}: {size:,} instructions; {took}")
    slowest = sorted(result.runs, key=lambda run: -run.seconds)[:3]
    print("  most of it (wall time): " + ", ".join(f"{run.pass_name} {run.seconds:.1f} s" for run in slowest))


def model() -> None:
    """Prints the rate of the model of dispatches on the shipped kernel with most wave-instructions, recording left out."""
    subject = next(s for s in compiled() if s.name == "shipped/matmul_256x128")
    kernel = recover(load_file(subject.path))
    assert subject.launch is not None
    dispatch = load_launches(subject.launch, kernel)[0]
    chip = chip_for(kernel.target)
    recording = record(kernel, dispatch, chip=chip)
    groups = -(-_LEAST // recording.wave_instructions)
    basis = recording.recorded(chip, None, groups)
    simulate(kernel, recording.recorded(chip, None, 1), chip=chip, places=1)
    started = time.process_time()
    simulate(kernel, basis, chip=chip, places=2)
    took = time.process_time() - started
    modelled = groups * recording.wave_instructions
    rate = modelled / took / 1e6
    print(f"{subject.path.stem}: {modelled:,} wave-instructions modelled in {took:.2f} s, {rate:.1f} million a second")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        passes(Path(name))
    model()
