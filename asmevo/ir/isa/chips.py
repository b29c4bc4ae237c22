"""Figures of a chip that cost models rest on, each with where it comes from.

Owns numbers only. Cycles are of the shader clock, bytes are per compute unit. Sources by short name: MT4G (caps-tum/mt4g
sample results), PYHIP (tingqli/pyhip measurements on MI308X), TGSQ (tinygrad's recorded gfx950 thread traces), RPC
(rocprofiler-compute workload counters), PR233721 (llvm-project pull request, fitted to thread traces), G3 (CDNA3 ISA guide),
RR (rocRoller).
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Figure:
    """One number and its source."""

    value: int
    source: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip as the model sees it. Times in cycles unless the field says otherwise."""

    name: str
    target: str
    compute_units: Figure
    simds: Figure
    max_waves_per_simd: Figure
    lds_bytes: Figure
    lds_granule: Figure
    slot: Figure
    transcendental: Figure
    vmem_latency: Figure
    vmem_bytes_per_cycle: Figure
    vmem_in_flight: Figure
    lds_latency_narrow: Figure
    lds_latency_wide: Figure
    lds_bytes_per_cycle: Figure
    lds_crossbar: Figure
    smem_latency: Figure
    message_latency: Figure
    branch_taken: Figure
    barrier: Figure
    valu_to_address: Figure


MI300X = Chip(
    name="MI300X",
    target="gfx942",
    compute_units=Figure(304, "CDNA3 white paper: 8 XCDs of 38"),
    simds=Figure(4, "ROCm profiler documentation"),
    max_waves_per_simd=Figure(8, "ROCm profiler documentation"),
    lds_bytes=Figure(65536, "G3"),
    lds_granule=Figure(512, "G3"),
    slot=Figure(4, "PYHIP: 4.008 to 4.016 cycles for each ordinary VALU instruction"),
    transcendental=Figure(16, "PYHIP: 16.000 for v_exp_f32 and v_rcp_f32"),
    vmem_latency=Figure(288, "MT4G, MI300X VF: L2 hit (fabric cache 494 and HBM 900 on the MI300A and MI300X rows)"),
    vmem_bytes_per_cycle=Figure(32, "PYHIP: buffer_load_dwordx4 paced 1 in 32 cycles a compute unit"),
    vmem_in_flight=Figure(24, "PYHIP: the 24th load of a back-to-back run stalls at issue"),
    lds_latency_narrow=Figure(52, "PYHIP and MT4G: ds_read_b32 without conflict"),
    lds_latency_wide=Figure(64, "PYHIP: ds_read_b128 without conflict"),
    lds_bytes_per_cycle=Figure(128, "PYHIP, MT4G: with two or more SIMDs reading"),
    lds_crossbar=Figure(50, "shark-ai kernel guide: swizzle, permute and bpermute with their wait"),
    smem_latency=Figure(172, "MT4G, MI300X VF: scalar L1 miss that hits L2, 48 + 124"),
    message_latency=Figure(172, "taken as a scalar load's; not measured"),
    branch_taken=Figure(16, "RPC: average warm fetch latency; the taken branch itself is not measured"),
    barrier=Figure(16, "four waves one slot apart; RR measured 4 for a single wave"),
    valu_to_address=Figure(8, "TGSQ: least gap from the VALU write of an address to its use by memory"),
)
"""MI300X at its L2: a kernel that streams from HBM waits longer."""


def bound_to(chip: Chip, latency: int, source: str) -> Chip:
    """`chip` with another vector memory latency in cycles: 494 for the fabric cache, 900 for HBM."""
    return replace(chip, vmem_latency=Figure(latency, source))
