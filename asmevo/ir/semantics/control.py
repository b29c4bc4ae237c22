"""Instructions that the interpreters' engines carry out themselves: branches, waits, barriers, ends, hardware registers, modes.

Each has the domain CONTROL and its mnemonic as `intrinsic`.
"""

from __future__ import annotations

from asmevo.ir.isa.model import Access, Family
from asmevo.ir.semantics.expr import Domain, Program
from asmevo.ir.semantics.form import Form

_NAMES = frozenset(
    {
        *("s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz"),
        *("s_cbranch_execnz", "s_endpgm", "s_nop", "s_waitcnt", "s_barrier", "s_sleep", "s_wakeup", "s_setprio", "s_trap"),
        *("s_sethalt", "s_setkill", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_ttracedata", "s_sendmsg"),
        *("s_sendmsghalt", "s_endpgm_saved", "s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user"),
        *("s_cbranch_cdbgsys_and_user", "s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_getreg_b32", "s_setreg_b32"),
        *("s_setreg_imm32_b32", "s_memtime", "s_memrealtime", "v_nop", "v_clrexcp", "ds_nop", "s_setvskip"),
        *("s_set_gpr_idx_on", "s_set_gpr_idx_off", "s_set_gpr_idx_mode", "s_set_gpr_idx_idx"),
    }
)


def program(form: Form) -> Program | None:
    """The program of a control instruction or cache fence; None for any other."""
    fence = form.definition.access is Access.FENCE and form.definition.family in (Family.MUBUF, Family.SMEM)
    if form.name in _NAMES or fence:
        return Program(Domain.CONTROL, intrinsic=form.name)
    return None
