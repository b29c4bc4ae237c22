"""FLAT, GLOBAL and SCRATCH: vector memory by address.

`vaddr` is two registers beside `off` and one beside an SGPR base (GLOBAL); scratch takes a register or `off` for either. An
atomic has two lines: with sc0 (glc on gfx90a) a destination is printed first. flat instructions count both vmcnt and lgkmcnt
and may complete out of order. Source: CDNA3 ISA guide, "Flat Memory Instructions".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_FLAT = """
# loads
flat_load_dword          vdst=32 vaddr:64            load 4
flat_load_dwordx2        vdst=64 vaddr:64            load 8
flat_load_dwordx3        vdst=96 vaddr:64            load 12
flat_load_dwordx4        vdst=128 vaddr:64           load 16
flat_load_sbyte          vdst=32 vaddr:64            load 1
flat_load_sbyte_d16      vdst+32 vaddr:64            load 1 partial
flat_load_sbyte_d16_hi   vdst+32 vaddr:64            load 1 partial
flat_load_short_d16      vdst+32 vaddr:64            load 2 partial
flat_load_short_d16_hi   vdst+32 vaddr:64            load 2 partial
flat_load_sshort         vdst=32 vaddr:64            load 2
flat_load_ubyte          vdst=32 vaddr:64            load 1
flat_load_ubyte_d16      vdst+32 vaddr:64            load 1 partial
flat_load_ubyte_d16_hi   vdst+32 vaddr:64            load 1 partial
flat_load_ushort         vdst=32 vaddr:64            load 2

# stores
flat_store_byte          vaddr:64 vdata:32           store 1
flat_store_byte_d16_hi   vaddr:64 vdata:32           store 1
flat_store_dword         vaddr:64 vdata:32           store 4
flat_store_dwordx2       vaddr:64 vdata:64           store 8
flat_store_dwordx3       vaddr:64 vdata:96           store 12
flat_store_dwordx4       vaddr:64 vdata:128          store 16
flat_store_short         vaddr:64 vdata:32           store 2
flat_store_short_d16_hi  vaddr:64 vdata:32           store 2

# atomics: plain, and with the old value returned (sc0, glc)
flat_atomic_add          vaddr:64 vdata:32           atomic 4
flat_atomic_add          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_add_f32      vaddr:64 vdata:32           atomic 4 <mode @gfx942,gfx950
flat_atomic_add_f32      vdst=32 vaddr:64 vdata:32   return 4 <mode @gfx942,gfx950
flat_atomic_add_f64      vaddr:64 vdata:64           atomic 8 <mode
flat_atomic_add_f64      vdst=64 vaddr:64 vdata:64   return 8 <mode
flat_atomic_add_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_add_x2       vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_and          vaddr:64 vdata:32           atomic 4
flat_atomic_and          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_and_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_and_x2       vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_cmpswap      vaddr:64 vdata:64           atomic 4
flat_atomic_cmpswap      vdst=32 vaddr:64 vdata:64   return 4
flat_atomic_cmpswap_x2   vaddr:64 vdata:128          atomic 8
flat_atomic_cmpswap_x2   vdst=64 vaddr:64 vdata:128  return 8
flat_atomic_dec          vaddr:64 vdata:32           atomic 4
flat_atomic_dec          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_dec_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_dec_x2       vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_inc          vaddr:64 vdata:32           atomic 4
flat_atomic_inc          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_inc_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_inc_x2       vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_max_f64      vaddr:64 vdata:64           atomic 8 <mode
flat_atomic_max_f64      vdst=64 vaddr:64 vdata:64   return 8 <mode
flat_atomic_min_f64      vaddr:64 vdata:64           atomic 8 <mode
flat_atomic_min_f64      vdst=64 vaddr:64 vdata:64   return 8 <mode
flat_atomic_or           vaddr:64 vdata:32           atomic 4
flat_atomic_or           vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_or_x2        vaddr:64 vdata:64           atomic 8
flat_atomic_or_x2        vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_pk_add_bf16  vaddr:64 vdata:32           atomic 4 <mode @gfx942,gfx950
flat_atomic_pk_add_bf16  vdst=32 vaddr:64 vdata:32   return 4 <mode @gfx942,gfx950
flat_atomic_pk_add_f16   vaddr:64 vdata:32           atomic 4 <mode @gfx942,gfx950
flat_atomic_pk_add_f16   vdst=32 vaddr:64 vdata:32   return 4 <mode @gfx942,gfx950
flat_atomic_smax         vaddr:64 vdata:32           atomic 4
flat_atomic_smax         vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_smax_x2      vaddr:64 vdata:64           atomic 8
flat_atomic_smax_x2      vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_smin         vaddr:64 vdata:32           atomic 4
flat_atomic_smin         vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_smin_x2      vaddr:64 vdata:64           atomic 8
flat_atomic_smin_x2      vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_sub          vaddr:64 vdata:32           atomic 4
flat_atomic_sub          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_sub_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_sub_x2       vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_swap         vaddr:64 vdata:32           atomic 4
flat_atomic_swap         vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_swap_x2      vaddr:64 vdata:64           atomic 8
flat_atomic_swap_x2      vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_umax         vaddr:64 vdata:32           atomic 4
flat_atomic_umax         vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_umax_x2      vaddr:64 vdata:64           atomic 8
flat_atomic_umax_x2      vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_umin         vaddr:64 vdata:32           atomic 4
flat_atomic_umin         vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_umin_x2      vaddr:64 vdata:64           atomic 8
flat_atomic_umin_x2      vdst=64 vaddr:64 vdata:64   return 8
flat_atomic_xor          vaddr:64 vdata:32           atomic 4
flat_atomic_xor          vdst=32 vaddr:64 vdata:32   return 4
flat_atomic_xor_x2       vaddr:64 vdata:64           atomic 8
flat_atomic_xor_x2       vdst=64 vaddr:64 vdata:64   return 8
"""

_GLOBAL = """
# loads
global_load_dword          vdst=32 vaddr:64 saddr:64            load 4
global_load_dwordx2        vdst=64 vaddr:64 saddr:64            load 8
global_load_dwordx3        vdst=96 vaddr:64 saddr:64            load 12
global_load_dwordx4        vdst=128 vaddr:64 saddr:64           load 16
global_load_sbyte          vdst=32 vaddr:64 saddr:64            load 1
global_load_sbyte_d16      vdst+32 vaddr:64 saddr:64            load 1 partial
global_load_sbyte_d16_hi   vdst+32 vaddr:64 saddr:64            load 1 partial
global_load_short_d16      vdst+32 vaddr:64 saddr:64            load 2 partial
global_load_short_d16_hi   vdst+32 vaddr:64 saddr:64            load 2 partial
global_load_sshort         vdst=32 vaddr:64 saddr:64            load 2
global_load_ubyte          vdst=32 vaddr:64 saddr:64            load 1
global_load_ubyte_d16      vdst+32 vaddr:64 saddr:64            load 1 partial
global_load_ubyte_d16_hi   vdst+32 vaddr:64 saddr:64            load 1 partial
global_load_ushort         vdst=32 vaddr:64 saddr:64            load 2

# stores
global_store_byte          vaddr:64 vdata:32 saddr:64           store 1
global_store_byte_d16_hi   vaddr:64 vdata:32 saddr:64           store 1
global_store_dword         vaddr:64 vdata:32 saddr:64           store 4
global_store_dwordx2       vaddr:64 vdata:64 saddr:64           store 8
global_store_dwordx3       vaddr:64 vdata:96 saddr:64           store 12
global_store_dwordx4       vaddr:64 vdata:128 saddr:64          store 16
global_store_short         vaddr:64 vdata:32 saddr:64           store 2
global_store_short_d16_hi  vaddr:64 vdata:32 saddr:64           store 2

# loads to LDS
global_load_lds_dword      vaddr:64 saddr:64                    dma 4 <m0 m0-lds @gfx942,gfx950
global_load_lds_dwordx3    vaddr:64 saddr:64                    dma 12 <m0 m0-lds @gfx950
global_load_lds_dwordx4    vaddr:64 saddr:64                    dma 16 <m0 m0-lds @gfx950
global_load_lds_sbyte      vaddr:64 saddr:64                    dma 1 <m0 m0-lds @gfx942,gfx950
global_load_lds_sshort     vaddr:64 saddr:64                    dma 2 <m0 m0-lds @gfx942,gfx950
global_load_lds_ubyte      vaddr:64 saddr:64                    dma 1 <m0 m0-lds @gfx942,gfx950
global_load_lds_ushort     vaddr:64 saddr:64                    dma 2 <m0 m0-lds @gfx942,gfx950

# atomics: plain, and with the old value returned (sc0, glc)
global_atomic_add          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_add          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_add_f32      vaddr:64 vdata:32 saddr:64           atomic 4 <mode
global_atomic_add_f32      vdst=32 vaddr:64 vdata:32 saddr:64   return 4 <mode
global_atomic_add_f64      vaddr:64 vdata:64 saddr:64           atomic 8 <mode
global_atomic_add_f64      vdst=64 vaddr:64 vdata:64 saddr:64   return 8 <mode
global_atomic_add_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_add_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_and          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_and          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_and_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_and_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_cmpswap      vaddr:64 vdata:64 saddr:64           atomic 4
global_atomic_cmpswap      vdst=32 vaddr:64 vdata:64 saddr:64   return 4
global_atomic_cmpswap_x2   vaddr:64 vdata:128 saddr:64          atomic 8
global_atomic_cmpswap_x2   vdst=64 vaddr:64 vdata:128 saddr:64  return 8
global_atomic_dec          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_dec          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_dec_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_dec_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_inc          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_inc          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_inc_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_inc_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_max_f64      vaddr:64 vdata:64 saddr:64           atomic 8 <mode
global_atomic_max_f64      vdst=64 vaddr:64 vdata:64 saddr:64   return 8 <mode
global_atomic_min_f64      vaddr:64 vdata:64 saddr:64           atomic 8 <mode
global_atomic_min_f64      vdst=64 vaddr:64 vdata:64 saddr:64   return 8 <mode
global_atomic_or           vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_or           vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_or_x2        vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_or_x2        vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_pk_add_bf16  vaddr:64 vdata:32 saddr:64           atomic 4 <mode @gfx942,gfx950
global_atomic_pk_add_bf16  vdst=32 vaddr:64 vdata:32 saddr:64   return 4 <mode @gfx942,gfx950
global_atomic_pk_add_f16   vaddr:64 vdata:32 saddr:64           atomic 4 <mode
global_atomic_pk_add_f16   vdst=32 vaddr:64 vdata:32 saddr:64   return 4 <mode
global_atomic_smax         vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_smax         vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_smax_x2      vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_smax_x2      vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_smin         vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_smin         vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_smin_x2      vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_smin_x2      vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_sub          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_sub          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_sub_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_sub_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_swap         vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_swap         vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_swap_x2      vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_swap_x2      vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_umax         vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_umax         vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_umax_x2      vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_umax_x2      vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_umin         vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_umin         vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_umin_x2      vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_umin_x2      vdst=64 vaddr:64 vdata:64 saddr:64   return 8
global_atomic_xor          vaddr:64 vdata:32 saddr:64           atomic 4
global_atomic_xor          vdst=32 vaddr:64 vdata:32 saddr:64   return 4
global_atomic_xor_x2       vaddr:64 vdata:64 saddr:64           atomic 8
global_atomic_xor_x2       vdst=64 vaddr:64 vdata:64 saddr:64   return 8
"""

_SCRATCH = """
# loads
scratch_load_dword          vdst=32 vaddr:32 saddr:32    load 4
scratch_load_dwordx2        vdst=64 vaddr:32 saddr:32    load 8
scratch_load_dwordx3        vdst=96 vaddr:32 saddr:32    load 12
scratch_load_dwordx4        vdst=128 vaddr:32 saddr:32   load 16
scratch_load_sbyte          vdst=32 vaddr:32 saddr:32    load 1
scratch_load_sbyte_d16      vdst+32 vaddr:32 saddr:32    load 1 partial
scratch_load_sbyte_d16_hi   vdst+32 vaddr:32 saddr:32    load 1 partial
scratch_load_short_d16      vdst+32 vaddr:32 saddr:32    load 2 partial
scratch_load_short_d16_hi   vdst+32 vaddr:32 saddr:32    load 2 partial
scratch_load_sshort         vdst=32 vaddr:32 saddr:32    load 2
scratch_load_ubyte          vdst=32 vaddr:32 saddr:32    load 1
scratch_load_ubyte_d16      vdst+32 vaddr:32 saddr:32    load 1 partial
scratch_load_ubyte_d16_hi   vdst+32 vaddr:32 saddr:32    load 1 partial
scratch_load_ushort         vdst=32 vaddr:32 saddr:32    load 2

# stores
scratch_store_byte          vaddr:32 vdata:32 saddr:32   store 1
scratch_store_byte_d16_hi   vaddr:32 vdata:32 saddr:32   store 1
scratch_store_dword         vaddr:32 vdata:32 saddr:32   store 4
scratch_store_dwordx2       vaddr:32 vdata:64 saddr:32   store 8
scratch_store_dwordx3       vaddr:32 vdata:96 saddr:32   store 12
scratch_store_dwordx4       vaddr:32 vdata:128 saddr:32  store 16
scratch_store_short         vaddr:32 vdata:32 saddr:32   store 2
scratch_store_short_d16_hi  vaddr:32 vdata:32 saddr:32   store 2

# loads to LDS
scratch_load_lds_dword      vaddr:32 saddr:32            dma 4 <m0 m0-lds @gfx942,gfx950
scratch_load_lds_sbyte      vaddr:32 saddr:32            dma 1 <m0 m0-lds @gfx942,gfx950
scratch_load_lds_sshort     vaddr:32 saddr:32            dma 2 <m0 m0-lds @gfx942,gfx950
scratch_load_lds_ubyte      vaddr:32 saddr:32            dma 1 <m0 m0-lds @gfx942,gfx950
scratch_load_lds_ushort     vaddr:32 saddr:32            dma 2 <m0 m0-lds @gfx942,gfx950
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.FLAT, IssueClass.FLAT, "<exec,flat_scratch vmcnt lgkmcnt space flat", _FLAT),
        Table(Family.GLOBAL, IssueClass.VMEM, "<exec vmcnt space global", _GLOBAL),
        Table(Family.SCRATCH, IssueClass.VMEM, "<exec,flat_scratch vmcnt space scratch", _SCRATCH),
    )
