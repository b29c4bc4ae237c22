"""The captured dispatch and the profiles that docs/captures.md and README speak of, made up. For tests only."""

from pathlib import Path

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from asmevo.verify.launch.dispatches import load_launches
from captures import write_capture
from profiles import STOCHASTIC, sample_row, table, trace_json, trace_rows
from support import EXAMPLES

KERNELS = EXAMPLES / "kernels"


def write_samples(folder: Path) -> None:
    """Write `capture` of vector_add, and `samples.csv` and a trace's folder of softmax."""
    vector_add = recover(load_file(KERNELS / "vector_add.co"))
    dispatch = load_launches(EXAMPLES / "launches" / "vector_add.toml", vector_add)[1]
    write_capture(folder / "capture", (KERNELS / "vector_add.co").read_bytes(), dispatch)
    loaded = load_file(KERNELS / "softmax.co")
    softmax = recover(loaded)
    (folder / "samples.csv").write_text(samples(softmax))
    trace = folder / "ui_output_agent_1_dispatch_1"
    trace.mkdir()
    (trace / "code.json").write_text(trace_json(trace_rows(list(softmax.instructions()), loaded.text.address)))


def samples(kernel):
    """Ninety stalled samples, of which thirty stand at a text that the kernel has more than once."""
    texts = [print_instruction(i) for i in kernel.instructions()]
    once = [t for t in texts if texts.count(t) == 1]
    many = next(t for t in texts if t.startswith("s_waitcnt lgkmcnt") and texts.count(t) > 1)
    wait = next(t for t in once if t.startswith("s_waitcnt vmcnt(0)"))
    rows = [sample_row(wait, reason="WAITCNT")] * 60 + [sample_row(many, reason="WAITCNT")] * 30
    return table(STOCHASTIC, rows + [sample_row(next(t for t in once if t.startswith("v_"))) for _ in range(10)])
