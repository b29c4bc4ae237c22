from __future__ import annotations

from dataclasses import replace

import pytest

from asmevo.backend.resources import fitted, granted_by, lds_limit, resources_of, waves_by_registers, with_resources
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load, load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.abi import KernelArgument
from asmevo.ir.kernel import Kernel
from code_objects import Function, check_structure, make_object
from support import EXAMPLES, SHIPPED

PLAIN = Function("plain", ("v_add_u32_e32 v3, v1, v2", "s_mov_b32 s5, 0", "s_endpgm"))
OTHER = Function("other", ("s_nop 1", "s_endpgm"))


def plain(**changes: int) -> tuple[CodeObject, Kernel]:
    obj = load(make_object([PLAIN, OTHER]), "x.co")
    return obj, with_resources(recover(obj, "plain"), **changes)


def code_of(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("sgprs", "field"),
    [(6, 1), (9, 1), (10, 1), (11, 2), (18, 2), (21, 3), (26, 3), (27, 4), (40, 5), (90, 11), (96, 12), (97, 12), (102, 13)],
)
def test_the_sgpr_field_is_what_llvms_assembler_writes(sgprs: int, field: int) -> None:
    """Values by clang 19 for .amdhsa_next_free_sgpr, gfx90a and gfx942."""
    _, kernel = plain(sgprs=sgprs)
    assert kernel.descriptor is not None
    assert kernel.descriptor.rsrc1 >> 6 & 15 == field
    assert kernel.metadata is not None
    assert kernel.metadata.sgpr_count == sgprs + 6


@pytest.mark.parametrize(
    ("vgprs", "agprs", "total_field", "accum_field", "noted"),
    [
        (4, 0, 0, 0, 4),
        (9, 0, 1, 2, 9),
        (256, 0, 31, 63, 256),
        (5, 1, 1, 1, 9),
        (128, 172, 37, 31, 300),
        (256, 256, 63, 63, 512),
    ],
)
def test_vector_fields(vgprs: int, agprs: int, total_field: int, accum_field: int, noted: int) -> None:
    before = plain()[1].descriptor
    _, kernel = plain(vgprs=vgprs, agprs=agprs)
    assert kernel.descriptor is not None
    assert before is not None
    assert kernel.descriptor.rsrc1 & 63 == total_field
    assert kernel.descriptor.rsrc3 & 63 == accum_field
    assert kernel.descriptor.rsrc1 & ~63 == before.rsrc1 & ~63
    assert kernel.metadata is not None
    assert (kernel.metadata.vgpr_count, kernel.metadata.agpr_count) == (noted, None)


def test_what_is_not_asked_for_stays() -> None:
    obj, kernel = plain()
    assert kernel == recover(obj, "plain")


def test_scratch_is_switched_on_and_off() -> None:
    obj, kernel = plain(scratch_bytes=16)
    assert kernel.descriptor is not None
    assert kernel.descriptor.rsrc2 & 1
    assert with_resources(kernel, scratch_bytes=0) == recover(obj, "plain")


def test_scratch_that_moves_initial_sgprs_is_refused() -> None:
    _, kernel = plain()
    with pytest.raises(DiagnosticError) as caught:
        with_resources(replace(kernel, target="gfx90a"), scratch_bytes=16)
    assert code_of(caught) == "E0633"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"vgprs": 257}, "E0632"),
        ({"vgprs": -1}, "E0632"),
        ({"agprs": 257}, "E0632"),
        ({"sgprs": 103}, "E0632"),
        ({"lds_bytes": 65537}, "E0632"),
        ({"scratch_bytes": 1 << 20}, "E0632"),
        ({"vgprs": 3}, "E0634"),
        ({"sgprs": 5}, "E0634"),
    ],
)
def test_more_than_the_chip_has_or_less_than_the_code_needs_is_refused(changes: dict[str, int], code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        plain(**changes)
    assert code_of(caught) == code


def test_a_kernel_without_descriptor_is_refused() -> None:
    with pytest.raises(DiagnosticError) as caught:
        resources_of(Kernel("k", "gfx942", (), ()))
    assert code_of(caught) == "E0633"


def test_gfx950_has_more_lds() -> None:
    assert (lds_limit("gfx942"), lds_limit("gfx950")) == (65536, 163840)


def test_a_kernel_that_names_more_is_fitted() -> None:
    obj, kernel = plain()
    assert fitted(kernel) is kernel
    added = (parse_line("v_mov_b32_e32 v200, v1"), parse_line("v_accvgpr_write_b32 a7, v1"), parse_line("s_mov_b32 s90, 0"))
    blocks = tuple(replace(b, instructions=added + b.instructions) if i == 0 else b for i, b in enumerate(kernel.blocks))
    grown = fitted(replace(kernel, blocks=blocks))
    assert resources_of(grown).vector_total == 212
    data = rebuild(obj, grown)
    check_structure(data)
    entry = load(data, "y").kernel("plain")
    assert granted_by(entry.descriptor).vgprs == 204
    assert granted_by(entry.descriptor).agprs == 12
    assert entry.metadata.sgpr_count == 97
    assert waves_by_registers(resources_of(grown)) == 2


@pytest.mark.parametrize("name", SHIPPED)
def test_resources_of_shipped_kernels_are_what_their_compiler_noted(name: str) -> None:
    kernel = recover(load_file(EXAMPLES / "kernels" / f"{name}.co"))
    resources = resources_of(kernel)
    assert kernel.metadata is not None
    assert kernel.metadata.agpr_count == resources.agprs
    assert kernel.metadata.vgpr_count == resources.vector_total
    assert kernel.metadata.sgpr_count == resources.sgprs + 6
    same = with_resources(kernel, vgprs=resources.vgprs, agprs=resources.agprs, sgprs=resources.sgprs)
    assert same == kernel


@pytest.mark.parametrize("name", SHIPPED)
def test_a_figure_of_the_same_width_changes_its_bytes_only(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    kernel = recover(obj)
    data = rebuild(obj, with_resources(kernel, sgprs=resources_of(kernel).sgprs + 1))
    changed = {i for i, (old, new) in enumerate(zip(obj.data, data, strict=True)) if old != new}
    place = obj.kernel().descriptor_place
    note = range(obj.note[0], sum(obj.note))
    assert len(changed - set(range(place + 48, place + 52))) == 1
    assert all(i in note for i in changed - set(range(place + 48, place + 52)))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_longer_note_moves_what_follows_and_nothing_else(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    kernel = with_resources(recover(obj), lds_bytes=65536, scratch_bytes=4096)
    data = rebuild(obj, kernel)
    check_structure(data)
    new = load(data, "new")
    assert new.kernel().metadata == kernel.metadata
    assert new.kernel().descriptor.group_segment_bytes == 65536
    assert new.code(new.kernel()) == obj.code(obj.kernel())
    assert (len(data) - len(obj.data)) % 4096 == 0
    again = with_resources(
        recover(new),
        lds_bytes=obj.kernel().descriptor.group_segment_bytes,
        scratch_bytes=obj.kernel().descriptor.private_segment_bytes,
    )
    back = load(rebuild(new, again), "back")
    assert back.kernel().metadata == obj.kernel().metadata
    assert len(back.data) == len(data)


def test_another_kernels_metadata_stays() -> None:
    obj, kernel = plain(lds_bytes=40000)
    new = load(rebuild(obj, kernel), "new")
    assert new.kernel("other").metadata == obj.kernel("other").metadata
    assert new.kernel("plain").metadata.group_segment_bytes == 40000


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": (KernelArgument("x", 0, 8, "by_value"),)},
        {"symbol": "else.kd"},
        {"wavefront_size": 32},
        {"agpr_count": 4},
        {"vgpr_count": None},
    ],
)
def test_other_changes_of_metadata_are_refused(change: dict[str, object]) -> None:
    obj, kernel = plain()
    assert kernel.metadata is not None
    changed = replace(kernel.metadata, **change)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, replace(kernel, metadata=changed))
    assert code_of(caught) == "E0615"


def test_a_note_cannot_grow_in_an_object_with_relocations() -> None:
    codes: set[str] = set()
    for length in range(1, 40):
        # What the note may grow into is the gap before the next section, which depends on its length.
        obj = load(make_object([replace(PLAIN, name="p" * length)], relocations=2), "x.co")
        try:
            rebuild(obj, with_resources(recover(obj), lds_bytes=65536, scratch_bytes=65536))
        except DiagnosticError as error:
            codes.add(error.diagnostics[0].code)
        else:
            codes.add("grown into the gap")
    assert codes == {"E0614", "grown into the gap"}
