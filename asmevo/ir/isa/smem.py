"""SMEM: scalar memory.

All count lgkmcnt and return out of order. `soffset` is an SGPR, M0 or a constant, or an SGPR with an `offset:` modifier. An
atomic has two lines: with glc the old value comes back in sdata. Bytes are per wave. Source: CDNA3 ISA guide, "Scalar Memory
Operations".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Family, IssueClass
from asmevo.ir.isa.table import Table

_SMEM = """
# loads
s_load_dword              sdata=32 sbase:64 soffset:32    load 4
s_load_dwordx2            sdata=64 sbase:64 soffset:32    load 8
s_load_dwordx4            sdata=128 sbase:64 soffset:32   load 16
s_load_dwordx8            sdata=256 sbase:64 soffset:32   load 32
s_load_dwordx16           sdata=512 sbase:64 soffset:32   load 64
s_buffer_load_dword       sdata=32 sbase:128 soffset:32   load 4
s_buffer_load_dwordx2     sdata=64 sbase:128 soffset:32   load 8
s_buffer_load_dwordx4     sdata=128 sbase:128 soffset:32  load 16
s_buffer_load_dwordx8     sdata=256 sbase:128 soffset:32  load 32
s_buffer_load_dwordx16    sdata=512 sbase:128 soffset:32  load 64
s_scratch_load_dword      sdata=32 sbase:64 soffset:32    load 4 <flat_scratch
s_scratch_load_dwordx2    sdata=64 sbase:64 soffset:32    load 8 <flat_scratch
s_scratch_load_dwordx4    sdata=128 sbase:64 soffset:32   load 16 <flat_scratch

# stores
s_store_dword             sdata:32 sbase:64 soffset:32    store 4
s_store_dwordx2           sdata:64 sbase:64 soffset:32    store 8
s_store_dwordx4           sdata:128 sbase:64 soffset:32   store 16
s_buffer_store_dword      sdata:32 sbase:128 soffset:32   store 4
s_buffer_store_dwordx2    sdata:64 sbase:128 soffset:32   store 8
s_buffer_store_dwordx4    sdata:128 sbase:128 soffset:32  store 16
s_scratch_store_dword     sdata:32 sbase:64 soffset:32    store 4 <flat_scratch
s_scratch_store_dwordx2   sdata:64 sbase:64 soffset:32    store 8 <flat_scratch
s_scratch_store_dwordx4   sdata:128 sbase:64 soffset:32   store 16 <flat_scratch
"""

_CONTROL = """
# cache control
s_dcache_inv                                              fence
s_dcache_inv_vol                                          fence
s_dcache_wb                                               fence
s_dcache_wb_vol                                           fence
s_dcache_discard          sbase:64 soffset:32             fence
s_dcache_discard_x2       sbase:64 soffset:32             fence

# clocks and address probes
s_memtime                 sdata=64
s_memrealtime             sdata=64
s_atc_probe               imm:0 sbase:64 soffset:32
s_atc_probe_buffer        imm:0 sbase:128 soffset:32
"""

_ATOMICS = ("swap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")


def _atomic_lines() -> str:
    """Each scalar atomic of 4 and 8 bytes, plain and with the old value returned; cmpswap data is twice as wide."""
    lines: list[str] = []
    for prefix, base in (("s_atomic", 64), ("s_buffer_atomic", 128)):
        for operation in ("cmpswap", *_ATOMICS):
            for suffix, size in (("", 4), ("_x2", 8)):
                bits = size * 8 * (2 if operation == "cmpswap" else 1)
                for sign, access in ((":", "atomic"), ("+", "return")):
                    name = f"{prefix}_{operation}{suffix}"
                    lines.append(f"{name} sdata{sign}{bits} sbase:{base} soffset:32 {access} {size}")
    return "\n".join(lines)


def tables() -> tuple[Table, ...]:
    """Return the family's tables."""
    memory = "lgkmcnt space scalar"
    return (
        Table(Family.SMEM, IssueClass.SMEM, memory, _SMEM),
        Table(Family.SMEM, IssueClass.SMEM, memory, _atomic_lines()),
        Table(Family.SMEM, IssueClass.SMEM, "lgkmcnt fixed", _CONTROL),
    )
