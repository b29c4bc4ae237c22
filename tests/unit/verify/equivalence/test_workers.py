"""Windows proved in several processes: the same verdict as in one, and unknown where a process is lost."""

import os
from dataclasses import dataclass

from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.equivalence.workers import WORTH_PROCESSES, in_processes
from asmevo.verify.verdict import Outcome, Verdict
from windows import window

BLOCKS = WORTH_PROCESSES + 1
BEFORE = "v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc\ns_mov_b64 vcc, 0\nv_add_u32_e32 v3, v0, v3"
AFTER = BEFORE.replace("v_cmp_lt_i32_e32 vcc, v1, v2\nv_cndmask_b32_e32 v0, v2, v1, vcc", "v_min_i32_e32 v0, v1, v2")


def kernel(text: str, wrong: str | None = None) -> Kernel:
    texts = [text] * BLOCKS
    if wrong is not None:
        texts[-1] = wrong
    blocks = [Block(f".b{k}", tuple(window(part)), (f".b{k + 1}",)) for k, part in enumerate(texts)]
    end = Block(f".b{BLOCKS}", tuple(window("global_store_dword v1, v3, s[0:1]\ns_endpgm")))
    return Kernel("k", "gfx942", (*blocks, end), (".b0",))


@dataclass(frozen=True)
class Fragile:
    """Ends its process over one window."""

    def best(self, window: int) -> Verdict:
        if window == 1:
            os._exit(1)
        return Verdict(Outcome.PROVED)


def test_processes_prove_what_one_does() -> None:
    alone = prove_kernel(kernel(BEFORE), kernel(AFTER), timeout_s=60.0)
    assert alone.outcome is Outcome.PROVED, alone.reason
    assert prove_kernel(kernel(BEFORE), kernel(AFTER), timeout_s=60.0, jobs=2) == alone
    wrong = kernel(AFTER, AFTER.replace("min", "max"))
    assert prove_kernel(kernel(BEFORE), wrong, jobs=2).outcome is prove_kernel(kernel(BEFORE), wrong).outcome


def test_a_lost_process_leaves_its_windows_unknown() -> None:
    found = list(in_processes(Fragile(), range(3), 1))
    assert len(found) == 3
    assert found[1].outcome is Outcome.UNKNOWN
    assert "ended" in found[1].reason
