from __future__ import annotations

import struct
from dataclasses import replace

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.backend.metadata_update import with_metadata
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.ir.abi import KernelMetadata
from code_objects import Function, check_structure, make_object

KERNELS = [Function("a", ("s_endpgm",)), Function("b", ("s_nop 0", "s_endpgm"))]
FIELDS = {
    "kernarg_bytes": ".kernarg_segment_size",
    "group_segment_bytes": ".group_segment_fixed_size",
    "private_segment_bytes": ".private_segment_fixed_size",
    "vgpr_count": ".vgpr_count",
    "sgpr_count": ".sgpr_count",
    "max_flat_workgroup_size": ".max_flat_workgroup_size",
}
NUMBERS = st.one_of(st.integers(0, 300), st.integers(0, (1 << 32) - 1))


def noted(obj: CodeObject) -> dict[str, object]:
    return msgpack.unpackb(obj.data[obj.note[0] : sum(obj.note)])


def metadata(kernels: list[dict[str, object]], **rest: object) -> bytes:
    return msgpack.packb({"zfirst": [1, {"deep": b"x"}], "amdhsa.kernels": kernels, "amdhsa.version": [1, 2], **rest})


def kernel(name: str, **figures: int) -> dict[str, object]:
    return {
        ".vgpr_count": 7,
        ".args": [],
        **figures,
        ".symbol": f"{name}.kd",
        ".name": name,
        ".sgpr_count": 9,
        ".unknown": "kept",
    }


@settings(max_examples=150, deadline=None)
@given(changes=st.dictionaries(st.sampled_from(sorted(FIELDS)), NUMBERS), which=st.sampled_from("ab"))
def test_the_figures_change_and_nothing_else(changes: dict[str, int], which: str) -> None:
    obj = load(make_object(KERNELS), "x.co")
    new = with_metadata(obj, which, replace(obj.kernel(which).metadata, **changes))  # pyright: ignore[reportArgumentType]
    check_structure(new.data)
    expected = noted(obj)
    entries = expected["amdhsa.kernels"]
    assert isinstance(entries, list)
    entries["ab".index(which)].update({FIELDS[field]: value for field, value in changes.items()})
    assert noted(new) == expected
    back = with_metadata(new, which, obj.kernel(which).metadata)
    assert noted(back) == noted(obj)
    assert len(back.data) == len(new.data)


def test_no_change_is_the_same_object() -> None:
    obj = load(make_object(KERNELS), "x.co")
    assert with_metadata(obj, "a", obj.kernel("a").metadata) is obj


def test_the_name_may_come_late_and_unknown_things_stay() -> None:
    obj = load(make_object(KERNELS, metadata=metadata([kernel("a"), kernel("b")])), "x.co")
    new = with_metadata(obj, "b", replace(obj.kernel("b").metadata, vgpr_count=300, sgpr_count=100))
    assert noted(new)["zfirst"] == [1, {"deep": b"x"}]
    assert noted(new)["amdhsa.kernels"] == [kernel("a"), {**kernel("b"), ".vgpr_count": 300, ".sgpr_count": 100}]


@pytest.mark.parametrize("form", [">BB", ">BH", ">BI", ">BQ"])
@pytest.mark.parametrize("signed", [False, True])
def test_a_wide_number_keeps_its_width(form: str, signed: bool) -> None:
    first = {">BB": 0xCC, ">BH": 0xCD, ">BI": 0xCE, ">BQ": 0xCF}[form] + (4 if signed else 0)
    packed = metadata([kernel("a", **{".group_segment_fixed_size": 77}), kernel("b")])
    wide = packed.replace(
        b".group_segment_fixed_size" + bytes([77]), b".group_segment_fixed_size" + struct.pack(form, first, 77)
    )
    obj = load(make_object(KERNELS, metadata=wide), "x.co")
    wanted: KernelMetadata = replace(obj.kernel("a").metadata, group_segment_bytes=100)
    new = with_metadata(obj, "a", wanted)
    assert obj.kernel("a").metadata.group_segment_bytes == 77
    assert sum(x != y for x, y in zip(obj.data, new.data, strict=True)) == 1


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    packed = metadata([kernel("a"), kernel("b")])
    twice = packed.replace(b"\xa8.unknown\xa4kept", b"\xab.vgpr_count" + b"\x08" + b"\xc0", 1)
    twice = twice.replace(b"\x08\xc0", b"\x08", 1) if twice != packed else packed
    obj = load(make_object(KERNELS, metadata=twice), "x.co")
    new = with_metadata(obj, "a", replace(obj.kernel("a").metadata, vgpr_count=70))
    assert new.kernel("a").metadata.vgpr_count == 70


def test_a_note_that_has_no_section_cannot_grow() -> None:
    obj = load(make_object(KERNELS), "x.co")
    note = next(s for s in obj.elf.sections if s.name == ".note")
    data = bytearray(obj.data)
    # The section becomes one of no bits, and a segment shows the note instead.
    struct.pack_into("<I", data, obj.elf.header.section_offset + 64 * note.index + 4, 8)
    struct.pack_into("<IIQQQQQQ", data, 64 + 56 * 4, 4, 4, note.offset, 0, 0, note.size, note.size, 4)
    hidden = load(bytes(data), "x.co")
    same_width = with_metadata(hidden, "a", replace(hidden.kernel("a").metadata, vgpr_count=17))
    assert same_width.kernel("a").metadata.vgpr_count == 17
    with pytest.raises(DiagnosticError) as caught:
        with_metadata(hidden, "a", replace(hidden.kernel("a").metadata, vgpr_count=1000))
    assert caught.value.diagnostics[0].code == "E0614"
