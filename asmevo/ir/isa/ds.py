"""DS: local data share, lane permutes and global wave sync.

All count lgkmcnt, in order among themselves. Only the add-TID forms, append and consume use M0 on these targets. Permutes use
the LDS unit but touch no memory. Source: CDNA3 ISA guide, "Data Share Operations".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_MEMORY = """
# reads
ds_read2_b32            vdst=64 addr:32                     load 8
ds_read2_b64            vdst=128 addr:32                    load 16
ds_read2st64_b32        vdst=64 addr:32                     load 8
ds_read2st64_b64        vdst=128 addr:32                    load 16
ds_read_addtid_b32      vdst=32                             load 4 <m0 m0-lds
ds_read_b128            vdst=128 addr:32                    load 16
ds_read_b32             vdst=32 addr:32                     load 4
ds_read_b64             vdst=64 addr:32                     load 8
ds_read_b96             vdst=96 addr:32                     load 12
ds_read_i16             vdst=32 addr:32                     load 2
ds_read_i8              vdst=32 addr:32                     load 1
ds_read_i8_d16          vdst+32 addr:32                     load 1 partial
ds_read_i8_d16_hi       vdst+32 addr:32                     load 1 partial
ds_read_u16             vdst=32 addr:32                     load 2
ds_read_u16_d16         vdst+32 addr:32                     load 2 partial
ds_read_u16_d16_hi      vdst+32 addr:32                     load 2 partial
ds_read_u8              vdst=32 addr:32                     load 1
ds_read_u8_d16          vdst+32 addr:32                     load 1 partial
ds_read_u8_d16_hi       vdst+32 addr:32                     load 1 partial

# writes
ds_write2_b32           addr:32 data0:32 data1:32           store 8
ds_write2_b64           addr:32 data0:64 data1:64           store 16
ds_write2st64_b32       addr:32 data0:32 data1:32           store 8
ds_write2st64_b64       addr:32 data0:64 data1:64           store 16
ds_write_addtid_b32     data0:32                            store 4 <m0 m0-lds
ds_write_b128           addr:32 data0:128                   store 16
ds_write_b16            addr:32 data0:32                    store 2
ds_write_b16_d16_hi     addr:32 data0:32                    store 2
ds_write_b32            addr:32 data0:32                    store 4
ds_write_b64            addr:32 data0:64                    store 8
ds_write_b8             addr:32 data0:32                    store 1
ds_write_b8_d16_hi      addr:32 data0:32                    store 1
ds_write_b96            addr:32 data0:96                    store 12

# atomics that return
ds_add_rtn_f32          vdst=32 addr:32 data0:32            return 4 <mode
ds_add_rtn_f64          vdst=64 addr:32 data0:64            return 8 <mode
ds_add_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_add_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_and_rtn_b32          vdst=32 addr:32 data0:32            return 4
ds_and_rtn_b64          vdst=64 addr:32 data0:64            return 8
ds_append               vdst=32                             return 4 <m0
ds_cmpst_rtn_b32        vdst=32 addr:32 data0:32 data1:32   return 4
ds_cmpst_rtn_b64        vdst=64 addr:32 data0:64 data1:64   return 8
ds_cmpst_rtn_f32        vdst=32 addr:32 data0:32 data1:32   return 4 <mode
ds_cmpst_rtn_f64        vdst=64 addr:32 data0:64 data1:64   return 8 <mode
ds_condxchg32_rtn_b64   vdst=64 addr:32 data0:64            return 8
ds_consume              vdst=32                             return 4 <m0
ds_dec_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_dec_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_inc_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_inc_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_max_rtn_f32          vdst=32 addr:32 data0:32            return 4 <mode
ds_max_rtn_f64          vdst=64 addr:32 data0:64            return 8 <mode
ds_max_rtn_i32          vdst=32 addr:32 data0:32            return 4
ds_max_rtn_i64          vdst=64 addr:32 data0:64            return 8
ds_max_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_max_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_min_rtn_f32          vdst=32 addr:32 data0:32            return 4 <mode
ds_min_rtn_f64          vdst=64 addr:32 data0:64            return 8 <mode
ds_min_rtn_i32          vdst=32 addr:32 data0:32            return 4
ds_min_rtn_i64          vdst=64 addr:32 data0:64            return 8
ds_min_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_min_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_mskor_rtn_b32        vdst=32 addr:32 data0:32 data1:32   return 4
ds_mskor_rtn_b64        vdst=64 addr:32 data0:64 data1:64   return 8
ds_or_rtn_b32           vdst=32 addr:32 data0:32            return 4
ds_or_rtn_b64           vdst=64 addr:32 data0:64            return 8
ds_pk_add_rtn_bf16      vdst=32 addr:32 data0:32            return 4 <mode @gfx942,gfx950
ds_pk_add_rtn_f16       vdst=32 addr:32 data0:32            return 4 <mode @gfx942,gfx950
ds_rsub_rtn_u32         vdst=32 addr:32 data0:32            return 4
ds_rsub_rtn_u64         vdst=64 addr:32 data0:64            return 8
ds_sub_rtn_u32          vdst=32 addr:32 data0:32            return 4
ds_sub_rtn_u64          vdst=64 addr:32 data0:64            return 8
ds_wrap_rtn_b32         vdst=32 addr:32 data0:32 data1:32   return 4
ds_wrxchg2_rtn_b32      vdst=64 addr:32 data0:32 data1:32   return 8
ds_wrxchg2_rtn_b64      vdst=128 addr:32 data0:64 data1:64  return 16
ds_wrxchg2st64_rtn_b32  vdst=64 addr:32 data0:32 data1:32   return 8
ds_wrxchg2st64_rtn_b64  vdst=128 addr:32 data0:64 data1:64  return 16
ds_wrxchg_rtn_b32       vdst=32 addr:32 data0:32            return 4
ds_wrxchg_rtn_b64       vdst=64 addr:32 data0:64            return 8
ds_xor_rtn_b32          vdst=32 addr:32 data0:32            return 4
ds_xor_rtn_b64          vdst=64 addr:32 data0:64            return 8

# atomics
ds_add_f32              addr:32 data0:32                    atomic 4 <mode
ds_add_f64              addr:32 data0:64                    atomic 8 <mode
ds_add_u32              addr:32 data0:32                    atomic 4
ds_add_u64              addr:32 data0:64                    atomic 8
ds_and_b32              addr:32 data0:32                    atomic 4
ds_and_b64              addr:32 data0:64                    atomic 8
ds_cmpst_b32            addr:32 data0:32 data1:32           atomic 4
ds_cmpst_b64            addr:32 data0:64 data1:64           atomic 8
ds_cmpst_f32            addr:32 data0:32 data1:32           atomic 4 <mode
ds_cmpst_f64            addr:32 data0:64 data1:64           atomic 8 <mode
ds_dec_u32              addr:32 data0:32                    atomic 4
ds_dec_u64              addr:32 data0:64                    atomic 8
ds_inc_u32              addr:32 data0:32                    atomic 4
ds_inc_u64              addr:32 data0:64                    atomic 8
ds_max_f32              addr:32 data0:32                    atomic 4 <mode
ds_max_f64              addr:32 data0:64                    atomic 8 <mode
ds_max_i32              addr:32 data0:32                    atomic 4
ds_max_i64              addr:32 data0:64                    atomic 8
ds_max_u32              addr:32 data0:32                    atomic 4
ds_max_u64              addr:32 data0:64                    atomic 8
ds_min_f32              addr:32 data0:32                    atomic 4 <mode
ds_min_f64              addr:32 data0:64                    atomic 8 <mode
ds_min_i32              addr:32 data0:32                    atomic 4
ds_min_i64              addr:32 data0:64                    atomic 8
ds_min_u32              addr:32 data0:32                    atomic 4
ds_min_u64              addr:32 data0:64                    atomic 8
ds_mskor_b32            addr:32 data0:32 data1:32           atomic 4
ds_mskor_b64            addr:32 data0:64 data1:64           atomic 8
ds_or_b32               addr:32 data0:32                    atomic 4
ds_or_b64               addr:32 data0:64                    atomic 8
ds_pk_add_bf16          addr:32 data0:32                    atomic 4 <mode @gfx942,gfx950
ds_pk_add_f16           addr:32 data0:32                    atomic 4 <mode @gfx942,gfx950
ds_rsub_u32             addr:32 data0:32                    atomic 4
ds_rsub_u64             addr:32 data0:64                    atomic 8
ds_sub_u32              addr:32 data0:32                    atomic 4
ds_sub_u64              addr:32 data0:64                    atomic 8
ds_xor_b32              addr:32 data0:32                    atomic 4
ds_xor_b64              addr:32 data0:64                    atomic 8
"""

_GFX950 = """
# reads
ds_read_b64_tr_b16  vdst=64 addr:32  load 8 cross-lane
ds_read_b64_tr_b4   vdst=64 addr:32  load 8 cross-lane
ds_read_b64_tr_b8   vdst=64 addr:32  load 8 cross-lane
ds_read_b96_tr_b6   vdst=96 addr:32  load 12 cross-lane
"""

_LANES = """
# across lanes
ds_bpermute_b32  vdst=32 addr:32 data0:32  cross-lane
ds_nop
ds_permute_b32   vdst=32 addr:32 data0:32  cross-lane
ds_swizzle_b32   vdst=32 addr:32           cross-lane
"""

_WAVE_SYNC = """
# global wave sync
ds_gws_barrier           data0:32/even-vector  <m0 expcnt fixed
ds_gws_init              data0:32/even-vector  <m0 expcnt fixed
ds_gws_sema_br           data0:32/even-vector  <m0 expcnt fixed
ds_gws_sema_p                                  <m0 expcnt fixed
ds_gws_sema_release_all                        <m0 expcnt fixed
ds_gws_sema_v                                  <m0 expcnt fixed
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.DS, IssueClass.LDS, "<exec lgkmcnt space lds", _MEMORY),
        Table(Family.DS, IssueClass.LDS, "<exec lgkmcnt space lds @gfx950", _GFX950),
        Table(Family.DS, IssueClass.LDS, "<exec lgkmcnt", _LANES),
        Table(Family.DS, IssueClass.LDS, "<exec lgkmcnt", _WAVE_SYNC),
    )
