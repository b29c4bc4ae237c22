"""MUBUF and MTBUF: vector memory through a buffer descriptor.

`vaddr` is no register (`off`), one (offen or idxen) or two (both); `soffset` an SGPR or a constant. A format access gives the
bytes of its registers: what it moves in memory depends on the descriptor. Source: CDNA3 ISA guide, "Vector Memory Operations".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_MUBUF = """
# loads; the form without vdata loads to LDS (lds)
buffer_load_dword             vdata=32 vaddr:32 srsrc:128 soffset:32   load 4
buffer_load_dword             vaddr:32 srsrc:128 soffset:32            dma 4 <m0 m0-lds
buffer_load_dwordx2           vdata=64 vaddr:32 srsrc:128 soffset:32   load 8
buffer_load_dwordx3           vdata=96 vaddr:32 srsrc:128 soffset:32   load 12
buffer_load_dwordx3           vaddr:32 srsrc:128 soffset:32          dma 12 <m0 m0-lds @gfx950
buffer_load_dwordx4           vdata=128 vaddr:32 srsrc:128 soffset:32  load 16
buffer_load_dwordx4           vaddr:32 srsrc:128 soffset:32          dma 16 <m0 m0-lds @gfx950
buffer_load_format_d16_hi_x   vdata+32 vaddr:32 srsrc:128 soffset:32   load 2 partial
buffer_load_format_d16_x      vdata+32 vaddr:32 srsrc:128 soffset:32   load 2 partial
buffer_load_format_d16_xy     vdata=32 vaddr:32 srsrc:128 soffset:32   load 4
buffer_load_format_d16_xyz    vdata+64 vaddr:32 srsrc:128 soffset:32   load 6 partial
buffer_load_format_d16_xyzw   vdata=64 vaddr:32 srsrc:128 soffset:32   load 8
buffer_load_format_x          vdata=32 vaddr:32 srsrc:128 soffset:32   load 4
buffer_load_format_x          vaddr:32 srsrc:128 soffset:32            dma 4 <m0 m0-lds
buffer_load_format_xy         vdata=64 vaddr:32 srsrc:128 soffset:32   load 8
buffer_load_format_xyz        vdata=96 vaddr:32 srsrc:128 soffset:32   load 12
buffer_load_format_xyzw       vdata=128 vaddr:32 srsrc:128 soffset:32  load 16
buffer_load_sbyte             vdata=32 vaddr:32 srsrc:128 soffset:32   load 1
buffer_load_sbyte             vaddr:32 srsrc:128 soffset:32            dma 1 <m0 m0-lds
buffer_load_sbyte_d16         vdata+32 vaddr:32 srsrc:128 soffset:32   load 1 partial
buffer_load_sbyte_d16_hi      vdata+32 vaddr:32 srsrc:128 soffset:32   load 1 partial
buffer_load_short_d16         vdata+32 vaddr:32 srsrc:128 soffset:32   load 2 partial
buffer_load_short_d16_hi      vdata+32 vaddr:32 srsrc:128 soffset:32   load 2 partial
buffer_load_sshort            vdata=32 vaddr:32 srsrc:128 soffset:32   load 2
buffer_load_sshort            vaddr:32 srsrc:128 soffset:32            dma 2 <m0 m0-lds
buffer_load_ubyte             vdata=32 vaddr:32 srsrc:128 soffset:32   load 1
buffer_load_ubyte             vaddr:32 srsrc:128 soffset:32            dma 1 <m0 m0-lds
buffer_load_ubyte_d16         vdata+32 vaddr:32 srsrc:128 soffset:32   load 1 partial
buffer_load_ubyte_d16_hi      vdata+32 vaddr:32 srsrc:128 soffset:32   load 1 partial
buffer_load_ushort            vdata=32 vaddr:32 srsrc:128 soffset:32   load 2
buffer_load_ushort            vaddr:32 srsrc:128 soffset:32            dma 2 <m0 m0-lds

# stores
buffer_store_byte             vdata:32 vaddr:32 srsrc:128 soffset:32   store 1
buffer_store_byte_d16_hi      vdata:32 vaddr:32 srsrc:128 soffset:32   store 1
buffer_store_dword            vdata:32 vaddr:32 srsrc:128 soffset:32   store 4
buffer_store_dwordx2          vdata:64 vaddr:32 srsrc:128 soffset:32   store 8
buffer_store_dwordx3          vdata:96 vaddr:32 srsrc:128 soffset:32   store 12
buffer_store_dwordx4          vdata:128 vaddr:32 srsrc:128 soffset:32  store 16
buffer_store_format_d16_hi_x  vdata:32 vaddr:32 srsrc:128 soffset:32   store 2
buffer_store_format_d16_x     vdata:32 vaddr:32 srsrc:128 soffset:32   store 2
buffer_store_format_d16_xy    vdata:32 vaddr:32 srsrc:128 soffset:32   store 4
buffer_store_format_d16_xyz   vdata:64 vaddr:32 srsrc:128 soffset:32   store 6
buffer_store_format_d16_xyzw  vdata:64 vaddr:32 srsrc:128 soffset:32   store 8
buffer_store_format_x         vdata:32 vaddr:32 srsrc:128 soffset:32   store 4
buffer_store_format_xy        vdata:64 vaddr:32 srsrc:128 soffset:32   store 8
buffer_store_format_xyz       vdata:96 vaddr:32 srsrc:128 soffset:32   store 12
buffer_store_format_xyzw      vdata:128 vaddr:32 srsrc:128 soffset:32  store 16
buffer_store_lds_dword        srsrc:128 soffset:32                     store 4 <m0 m0-lds fixed @gfx90a
buffer_store_short            vdata:32 vaddr:32 srsrc:128 soffset:32   store 2
buffer_store_short_d16_hi     vdata:32 vaddr:32 srsrc:128 soffset:32   store 2

# atomics: plain, and with the old value returned in vdata (sc0, glc)
buffer_atomic_add             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_add             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_add_f32         vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4 <mode
buffer_atomic_add_f32         vdata+32 vaddr:32 srsrc:128 soffset:32   return 4 <mode
buffer_atomic_add_f64         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8 <mode
buffer_atomic_add_f64         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8 <mode
buffer_atomic_add_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_add_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_and             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_and             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_and_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_and_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_cmpswap         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_cmpswap         vdata+64 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_cmpswap_x2      vdata:128 vaddr:32 srsrc:128 soffset:32  atomic 8
buffer_atomic_cmpswap_x2      vdata+128 vaddr:32 srsrc:128 soffset:32  return 8
buffer_atomic_dec             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_dec             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_dec_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_dec_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_inc             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_inc             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_inc_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_inc_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_max_f64         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8 <mode
buffer_atomic_max_f64         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8 <mode
buffer_atomic_min_f64         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8 <mode
buffer_atomic_min_f64         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8 <mode
buffer_atomic_or              vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_or              vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_or_x2           vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_or_x2           vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_pk_add_bf16     vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4 <mode @gfx950
buffer_atomic_pk_add_bf16     vdata+32 vaddr:32 srsrc:128 soffset:32   return 4 <mode @gfx950
buffer_atomic_pk_add_f16      vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4 <mode
buffer_atomic_pk_add_f16      vdata+32 vaddr:32 srsrc:128 soffset:32   return 4 <mode
buffer_atomic_smax            vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_smax            vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_smax_x2         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_smax_x2         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_smin            vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_smin            vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_smin_x2         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_smin_x2         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_sub             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_sub             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_sub_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_sub_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_swap            vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_swap            vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_swap_x2         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_swap_x2         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_umax            vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_umax            vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_umax_x2         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_umax_x2         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_umin            vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_umin            vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_umin_x2         vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_umin_x2         vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
buffer_atomic_xor             vdata:32 vaddr:32 srsrc:128 soffset:32   atomic 4
buffer_atomic_xor             vdata+32 vaddr:32 srsrc:128 soffset:32   return 4
buffer_atomic_xor_x2          vdata:64 vaddr:32 srsrc:128 soffset:32   atomic 8
buffer_atomic_xor_x2          vdata+64 vaddr:32 srsrc:128 soffset:32   return 8
"""

_FENCES = """
# cache control
buffer_inv            fence fixed @gfx942,gfx950
buffer_invl2          fence fixed @gfx90a
buffer_wbinvl1        fence fixed @gfx90a
buffer_wbinvl1_vol    fence fixed @gfx90a
buffer_wbl2           fence fixed vmcnt
"""

_MTBUF = """
# typed loads
tbuffer_load_format_d16_x      vdata+32 vaddr:32 srsrc:128 soffset:32   load 2 partial
tbuffer_load_format_d16_xy     vdata=32 vaddr:32 srsrc:128 soffset:32   load 4
tbuffer_load_format_d16_xyz    vdata+64 vaddr:32 srsrc:128 soffset:32   load 6 partial
tbuffer_load_format_d16_xyzw   vdata=64 vaddr:32 srsrc:128 soffset:32   load 8
tbuffer_load_format_x          vdata=32 vaddr:32 srsrc:128 soffset:32   load 4
tbuffer_load_format_xy         vdata=64 vaddr:32 srsrc:128 soffset:32   load 8
tbuffer_load_format_xyz        vdata=96 vaddr:32 srsrc:128 soffset:32   load 12
tbuffer_load_format_xyzw       vdata=128 vaddr:32 srsrc:128 soffset:32  load 16

# typed stores
tbuffer_store_format_d16_x     vdata:32 vaddr:32 srsrc:128 soffset:32   store 2
tbuffer_store_format_d16_xy    vdata:32 vaddr:32 srsrc:128 soffset:32   store 4
tbuffer_store_format_d16_xyz   vdata:64 vaddr:32 srsrc:128 soffset:32   store 6
tbuffer_store_format_d16_xyzw  vdata:64 vaddr:32 srsrc:128 soffset:32   store 8
tbuffer_store_format_x         vdata:32 vaddr:32 srsrc:128 soffset:32   store 4
tbuffer_store_format_xy        vdata:64 vaddr:32 srsrc:128 soffset:32   store 8
tbuffer_store_format_xyz       vdata:96 vaddr:32 srsrc:128 soffset:32   store 12
tbuffer_store_format_xyzw      vdata:128 vaddr:32 srsrc:128 soffset:32  store 16
"""


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    return (
        Table(Family.MUBUF, IssueClass.VMEM, "<exec vmcnt space buffer", _MUBUF),
        Table(Family.MUBUF, IssueClass.VMEM, "<exec", _FENCES),
        Table(Family.MTBUF, IssueClass.VMEM, "<exec vmcnt space buffer", _MTBUF),
    )
