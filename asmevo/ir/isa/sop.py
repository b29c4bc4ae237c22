"""SOP2, SOP1, SOPK, SOPC and SOPP: scalar instructions.

Compares write only SCC. s_setvskip and the indexed register mode change what every vector instruction does: they write MODE
and VSKIP and stay in place, and so does what touches a hardware register. Source: CDNA3 ISA guide, "Scalar ALU Operations"
and "Program Flow Control".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_SOP2 = """
# control
s_cbranch_g_fork   ssrc0:64/ssrc-nolit ssrc1:64/ssrc-nolit  <exec >exec jump fixed
s_rfe_restore_b64  ssrc0:64 ssrc1:32                        jump fixed

# arithmetic
s_absdiff_i32      sdst=32 ssrc0:32 ssrc1:32                >scc
s_add_i32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_add_u32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_addc_u32         sdst=32 ssrc0:32 ssrc1:32                <scc >scc
s_lshl1_add_u32    sdst=32 ssrc0:32 ssrc1:32                >scc
s_lshl2_add_u32    sdst=32 ssrc0:32 ssrc1:32                >scc
s_lshl3_add_u32    sdst=32 ssrc0:32 ssrc1:32                >scc
s_lshl4_add_u32    sdst=32 ssrc0:32 ssrc1:32                >scc
s_max_i32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_max_u32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_min_i32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_min_u32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_mul_hi_i32       sdst=32 ssrc0:32 ssrc1:32
s_mul_hi_u32       sdst=32 ssrc0:32 ssrc1:32
s_mul_i32          sdst=32 ssrc0:32 ssrc1:32
s_sub_i32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_sub_u32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_subb_u32         sdst=32 ssrc0:32 ssrc1:32                <scc >scc

# shifts and fields
s_ashr_i32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_ashr_i64         sdst=64 ssrc0:64 ssrc1:32                >scc
s_bfe_i32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_bfe_i64          sdst=64 ssrc0:64 ssrc1:32                >scc
s_bfe_u32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_bfe_u64          sdst=64 ssrc0:64 ssrc1:32                >scc
s_bfm_b32          sdst=32 ssrc0:32 ssrc1:32
s_bfm_b64          sdst=64 ssrc0:32 ssrc1:32
s_lshl_b32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_lshl_b64         sdst=64 ssrc0:64 ssrc1:32                >scc
s_lshr_b32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_lshr_b64         sdst=64 ssrc0:64 ssrc1:32                >scc

# logic
s_and_b32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_and_b64          sdst=64 ssrc0:64 ssrc1:64                >scc
s_andn2_b32        sdst=32 ssrc0:32 ssrc1:32                >scc
s_andn2_b64        sdst=64 ssrc0:64 ssrc1:64                >scc
s_nand_b32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_nand_b64         sdst=64 ssrc0:64 ssrc1:64                >scc
s_nor_b32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_nor_b64          sdst=64 ssrc0:64 ssrc1:64                >scc
s_or_b32           sdst=32 ssrc0:32 ssrc1:32                >scc
s_or_b64           sdst=64 ssrc0:64 ssrc1:64                >scc
s_orn2_b32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_orn2_b64         sdst=64 ssrc0:64 ssrc1:64                >scc
s_xnor_b32         sdst=32 ssrc0:32 ssrc1:32                >scc
s_xnor_b64         sdst=64 ssrc0:64 ssrc1:64                >scc
s_xor_b32          sdst=32 ssrc0:32 ssrc1:32                >scc
s_xor_b64          sdst=64 ssrc0:64 ssrc1:64                >scc

# selection and packing
s_cselect_b32      sdst=32 ssrc0:32 ssrc1:32                <scc
s_cselect_b64      sdst=64 ssrc0:64 ssrc1:64                <scc
s_pack_hh_b32_b16  sdst=32 ssrc0:32 ssrc1:32
s_pack_lh_b32_b16  sdst=32 ssrc0:32 ssrc1:32
s_pack_ll_b32_b16  sdst=32 ssrc0:32 ssrc1:32
"""

_SOP1 = """
# control flow
s_swappc_b64            sdst=64 ssrc0:64       jump fixed
s_getpc_b64             sdst=64                fixed
s_setpc_b64             ssrc0:64/sreg          jump fixed
s_rfe_b64               ssrc0:64/sreg          jump fixed
s_cbranch_join          ssrc0:32/sreg          <exec >exec jump fixed

# EXEC: old value to sdst (wrexec: new value), new value to EXEC
s_and_saveexec_b64      sdst=64 ssrc0:64       <exec >exec,scc
s_andn1_saveexec_b64    sdst=64 ssrc0:64       <exec >exec,scc
s_andn1_wrexec_b64      sdst=64 ssrc0:64       <exec >exec,scc
s_andn2_saveexec_b64    sdst=64 ssrc0:64       <exec >exec,scc
s_andn2_wrexec_b64      sdst=64 ssrc0:64       <exec >exec,scc
s_nand_saveexec_b64     sdst=64 ssrc0:64       <exec >exec,scc
s_nor_saveexec_b64      sdst=64 ssrc0:64       <exec >exec,scc
s_or_saveexec_b64       sdst=64 ssrc0:64       <exec >exec,scc
s_orn1_saveexec_b64     sdst=64 ssrc0:64       <exec >exec,scc
s_orn2_saveexec_b64     sdst=64 ssrc0:64       <exec >exec,scc
s_xnor_saveexec_b64     sdst=64 ssrc0:64       <exec >exec,scc
s_xor_saveexec_b64      sdst=64 ssrc0:64       <exec >exec,scc

# indexed moves: the register touched is not printed
s_movreld_b32           sdst+32 ssrc0:32       <m0 fixed
s_movreld_b64           sdst+64 ssrc0:64       <m0 fixed
s_movrels_b32           sdst=32 ssrc0:32/sreg  <m0 fixed
s_movrels_b64           sdst=64 ssrc0:64/sreg  <m0 fixed
s_set_gpr_idx_idx       ssrc0:32               <m0,mode >m0,mode,vskip fixed

# moves
s_abs_i32               sdst=32 ssrc0:32       >scc
s_cmov_b32              sdst+32 ssrc0:32       <scc
s_cmov_b64              sdst+64 ssrc0:64       <scc
s_mov_b32               sdst=32 ssrc0:32
s_mov_b64               sdst=64 ssrc0:64
s_sext_i32_i16          sdst=32 ssrc0:32
s_sext_i32_i8           sdst=32 ssrc0:32

# bits
s_bcnt0_i32_b32         sdst=32 ssrc0:32       >scc
s_bcnt0_i32_b64         sdst=32 ssrc0:64       >scc
s_bcnt1_i32_b32         sdst=32 ssrc0:32       >scc
s_bcnt1_i32_b64         sdst=32 ssrc0:64       >scc
s_bitreplicate_b64_b32  sdst=64 ssrc0:32
s_bitset0_b32           sdst+32 ssrc0:32
s_bitset0_b64           sdst+64 ssrc0:32
s_bitset1_b32           sdst+32 ssrc0:32
s_bitset1_b64           sdst+64 ssrc0:32
s_brev_b32              sdst=32 ssrc0:32
s_brev_b64              sdst=64 ssrc0:64
s_ff0_i32_b32           sdst=32 ssrc0:32
s_ff0_i32_b64           sdst=32 ssrc0:64
s_ff1_i32_b32           sdst=32 ssrc0:32
s_ff1_i32_b64           sdst=32 ssrc0:64
s_flbit_i32             sdst=32 ssrc0:32
s_flbit_i32_b32         sdst=32 ssrc0:32
s_flbit_i32_b64         sdst=32 ssrc0:64
s_flbit_i32_i64         sdst=32 ssrc0:64
s_not_b32               sdst=32 ssrc0:32       >scc
s_not_b64               sdst=64 ssrc0:64       >scc
s_quadmask_b32          sdst=32 ssrc0:32       >scc
s_quadmask_b64          sdst=64 ssrc0:64       >scc
s_wqm_b32               sdst=32 ssrc0:32       >scc
s_wqm_b64               sdst=64 ssrc0:64       >scc
"""

_SOPK = """
# moves and arithmetic
s_movk_i32          sdst=32 simm16:0
s_cmovk_i32         sdst+32 simm16:0   <scc
s_addk_i32          sdst+32 simm16:0   >scc
s_mulk_i32          sdst+32 simm16:0

# compares
s_cmpk_eq_i32       ssrc0:32 simm16:0  >scc
s_cmpk_lg_i32       ssrc0:32 simm16:0  >scc
s_cmpk_gt_i32       ssrc0:32 simm16:0  >scc
s_cmpk_ge_i32       ssrc0:32 simm16:0  >scc
s_cmpk_lt_i32       ssrc0:32 simm16:0  >scc
s_cmpk_le_i32       ssrc0:32 simm16:0  >scc
s_cmpk_eq_u32       ssrc0:32 simm16:0  >scc
s_cmpk_lg_u32       ssrc0:32 simm16:0  >scc
s_cmpk_gt_u32       ssrc0:32 simm16:0  >scc
s_cmpk_ge_u32       ssrc0:32 simm16:0  >scc
s_cmpk_lt_u32       ssrc0:32 simm16:0  >scc
s_cmpk_le_u32       ssrc0:32 simm16:0  >scc

# hardware registers: which one, and which bits, the operand says
s_getreg_b32        sdst=32 hwreg:0    <mode,vskip,hwreg fixed
s_setreg_b32        hwreg:0 ssrc0:32   <mode,vskip,hwreg >mode,vskip,hwreg fixed
s_setreg_imm32_b32  hwreg:0 imm32:0    <mode,vskip,hwreg >mode,vskip,hwreg fixed

# control flow
s_call_b64          sdst=64 simm16:0   jump fixed
s_cbranch_i_fork    ssrc0:64 simm16:0  <exec >exec jump fixed
"""

_SOPC = """
# compares
s_cmp_eq_i32   ssrc0:32 ssrc1:32
s_cmp_eq_u32   ssrc0:32 ssrc1:32
s_cmp_eq_u64   ssrc0:64 ssrc1:64
s_cmp_ge_i32   ssrc0:32 ssrc1:32
s_cmp_ge_u32   ssrc0:32 ssrc1:32
s_cmp_gt_i32   ssrc0:32 ssrc1:32
s_cmp_gt_u32   ssrc0:32 ssrc1:32
s_cmp_le_i32   ssrc0:32 ssrc1:32
s_cmp_le_u32   ssrc0:32 ssrc1:32
s_cmp_lg_i32   ssrc0:32 ssrc1:32
s_cmp_lg_u32   ssrc0:32 ssrc1:32
s_cmp_lg_u64   ssrc0:64 ssrc1:64
s_cmp_lt_i32   ssrc0:32 ssrc1:32
s_cmp_lt_u32   ssrc0:32 ssrc1:32

# bit tests
s_bitcmp0_b32  ssrc0:32 ssrc1:32
s_bitcmp0_b64  ssrc0:64 ssrc1:32
s_bitcmp1_b32  ssrc0:32 ssrc1:32
s_bitcmp1_b64  ssrc0:64 ssrc1:32
"""

_VECTOR_MODES = """
# modes of the vector unit
s_set_gpr_idx_on  ssrc0:32 gpr_idx:0  <m0,mode >m0,mode,vskip fixed
s_setvskip        ssrc0:32 ssrc1:32   <mode >mode,vskip fixed
"""

_SOPP = """
# control flow
s_branch                    simm16:0  jump
s_cbranch_scc0              simm16:0  <scc conditional
s_cbranch_scc1              simm16:0  <scc conditional
s_cbranch_vccz              simm16:0  <vcc conditional
s_cbranch_vccnz             simm16:0  <vcc conditional
s_cbranch_execz             simm16:0  <exec conditional
s_cbranch_execnz            simm16:0  <exec conditional
s_cbranch_cdbgsys           simm16:0  conditional fixed
s_cbranch_cdbguser          simm16:0  conditional fixed
s_cbranch_cdbgsys_or_user   simm16:0  conditional fixed
s_cbranch_cdbgsys_and_user  simm16:0  conditional fixed
s_endpgm                              end fixed
s_endpgm                    simm16:0  end fixed
s_endpgm_saved                        end fixed
s_endpgm_ordered_ps_done              end fixed

# waiting
s_nop                       simm16:0  nop
s_waitcnt                   simm16:0  wait fixed
s_barrier                             barrier fixed
s_sleep                     simm16:0  other fixed
s_wakeup                              other fixed
s_setprio                   simm16:0  other fixed

# messages, traps and tracing
s_sendmsg                   simm16:0  message lgkmcnt <m0,exec fixed
s_sendmsghalt               simm16:0  message lgkmcnt <m0,exec fixed
s_trap                      simm16:0  other fixed
s_sethalt                   simm16:0  other fixed
s_setkill                   simm16:0  other fixed
s_icache_inv                          other fixed
s_incperflevel              simm16:0  other fixed
s_decperflevel              simm16:0  other fixed
s_ttracedata                          other <m0 fixed

# indexed register mode
s_set_gpr_idx_off                     other <mode >mode,vskip fixed
s_set_gpr_idx_mode          simm16:0  other <m0,mode >m0,mode,vskip fixed  # sets M0[15:12]
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.SOP2, IssueClass.SALU, "", _SOP2),
        Table(Family.SOP1, IssueClass.SALU, "", _SOP1),
        Table(Family.SOPK, IssueClass.SALU, "", _SOPK),
        Table(Family.SOPC, IssueClass.SALU, ">scc", _SOPC),
        Table(Family.SOPC, IssueClass.SALU, "", _VECTOR_MODES),
        Table(Family.SOPP, IssueClass.OTHER, "", _SOPP),
    )
