"""How far a memory access reaches, by its cache bits."""

from __future__ import annotations

import pytest

from asmevo.ir.isa import resolve
from asmevo.ir.isa.scope import Scope, scope_bits, scope_of


def scope(mnemonic: str, count: int, bits: str = "", target: str = "gfx942") -> Scope | None:
    found = resolve(mnemonic, count, bits.split())
    assert found is not None
    return scope_of(found, bits.split(), target)


@pytest.mark.parametrize(
    ("bits", "wanted"),
    [("", Scope.WAVE), ("sc0", Scope.WORKGROUP), ("sc1", Scope.DEVICE), ("sc0 sc1", Scope.SYSTEM), ("sc0 nt", Scope.WORKGROUP)],
)
def test_loads_and_stores_of_gfx942(bits: str, wanted: Scope) -> None:
    assert scope("global_load_dword", 3, bits) is wanted
    assert scope("global_store_dword", 3, bits) is wanted
    assert scope("buffer_load_dword", 4, bits, "gfx950") is wanted


def test_an_atomic_happens_in_l2_whether_it_returns_or_not() -> None:
    assert scope("global_atomic_add", 3) is Scope.DEVICE
    assert scope("global_atomic_add", 4, "sc0") is Scope.DEVICE
    assert scope("global_atomic_add", 4, "sc0 sc1") is Scope.SYSTEM


def test_gfx90a_writes_its_l1_cache_through() -> None:
    assert scope("global_load_dword", 3, "", "gfx90a") is Scope.WORKGROUP
    assert scope("global_load_dword", 3, "glc", "gfx90a") is Scope.DEVICE
    assert scope("global_store_dword", 3, "", "gfx90a") is Scope.DEVICE


def test_lds_and_what_touches_no_memory() -> None:
    assert scope("ds_read_b32", 2) is Scope.WORKGROUP
    assert scope("ds_permute_b32", 3) is None
    assert scope("v_add_f32", 3) is None
    assert scope("buffer_inv", 0, "sc1") is None


def test_scopes_are_ordered() -> None:
    assert Scope.WAVE < Scope.WORKGROUP < Scope.DEVICE < Scope.SYSTEM


@pytest.mark.parametrize(
    ("mnemonic", "count", "target", "bits"),
    [
        ("global_load_dword", 3, "gfx942", "sc0 sc1 nt"),
        ("global_load_dword", 3, "gfx90a", "glc slc scc"),
        ("global_atomic_add", 3, "gfx942", "sc1 nt"),
        ("s_load_dword", 3, "gfx942", "glc"),
        ("ds_read_b32", 2, "gfx942", ""),
        ("buffer_inv", 0, "gfx942", "sc0 sc1 nt"),
        ("buffer_wbl2", 0, "gfx90a", ""),
    ],
)
def test_bits_that_may_be_printed(mnemonic: str, count: int, target: str, bits: str) -> None:
    found = resolve(mnemonic, count)
    assert found is not None
    assert scope_bits(found, target) == set(bits.split())
