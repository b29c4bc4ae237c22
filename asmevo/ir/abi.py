"""What a kernel promises its host: descriptor fields, arguments and resource figures.

Reading and writing them is the frontend's and the backend's business. Source: LLVM AMDGPUUsage, "Kernel Descriptor" and
"Code Object Metadata".
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KernelDescriptor:
    """The 64-byte descriptor NAME.kd as it stands, with the fields that analyses and the emulator need."""

    raw: bytes
    group_segment_bytes: int
    private_segment_bytes: int
    kernarg_bytes: int
    entry_offset: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    preload_dwords: int
    preload_offset_dwords: int

    @property
    def vgpr_count(self) -> int:
        """Total vector registers allocated (arch and accumulation), in units of the granule of 8."""
        return ((self.rsrc1 & 63) + 1) * 8

    @property
    def sgpr_count(self) -> int:
        """Scalar registers allocated by the descriptor's own count."""
        return (((self.rsrc1 >> 6) & 15) + 1) * 8

    @property
    def accum_offset(self) -> int:
        """Number of the first accumulation register in the unified file."""
        return ((self.rsrc3 & 63) + 1) * 4

    @property
    def mode(self) -> int:
        """The MODE register at entry: round, denormal, DX10_CLAMP, IEEE and FP16_OVFL bits in their places."""
        bits = (self.rsrc1 >> 12) & 0xFF
        return bits | ((self.rsrc1 >> 21) & 1) << 8 | ((self.rsrc1 >> 23) & 1) << 9 | ((self.rsrc1 >> 26) & 1) << 23

    @property
    def user_sgpr_count(self) -> int:
        """How many user SGPRs are set before the work-group ids."""
        return (self.rsrc2 >> 1) & 31


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """One entry of `.args`: where it lies in the kernarg segment and what it is."""

    name: str
    offset: int
    size: int
    value_kind: str
    address_space: str = ""
    value_type: str = ""
    access: str = ""


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """The metadata note's entry of one kernel; figures None where the note does not say."""

    name: str
    symbol: str
    arguments: tuple[KernelArgument, ...] = ()
    kernarg_bytes: int | None = None
    group_segment_bytes: int | None = None
    private_segment_bytes: int | None = None
    vgpr_count: int | None = None
    agpr_count: int | None = None
    sgpr_count: int | None = None
    max_flat_workgroup_size: int | None = None
    required_workgroup_size: tuple[int, int, int] | None = None
    wavefront_size: int | None = None
