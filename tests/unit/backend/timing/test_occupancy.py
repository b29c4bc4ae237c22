"""Waves per SIMD by registers, LDS and workgroup size."""

import pytest

from asmevo.backend.timing import waves_per_simd
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.abi import KernelDescriptor


def descriptor(vgprs, lds=0):
    return KernelDescriptor(b"", lds, 0, 0, 0, (vgprs + 7) // 8 - 1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("vgprs", "items", "lds", "expected"),
    [
        (64, 256, 0, 8),
        (128, 256, 0, 4),
        (256, 256, 0, 2),
        (512, 256, 0, 1),
        (64, 256, 65536, 1),
        (64, 256, 32768, 2),
        (64, 256, 20000, 3),
        (64, 1024, 65536, 4),
        (64, 64, 65536, 1),
    ],
)
def test_the_scarcest_resource_decides(vgprs, items, lds, expected):
    assert waves_per_simd(descriptor(vgprs, lds), items) == expected


def test_dynamic_lds_counts():
    assert waves_per_simd(descriptor(64, 16384), 256, dynamic_lds_bytes=16384) == 2


@pytest.mark.parametrize(("vgprs", "items", "lds"), [(64, 256, 70000), (512, 1024, 0), (64, 0, 0), (64, 2048, 0)])
def test_what_does_not_fit_is_refused(vgprs, items, lds):
    with pytest.raises(DiagnosticError, match="E0230"):
        waves_per_simd(descriptor(vgprs, lds), items)
