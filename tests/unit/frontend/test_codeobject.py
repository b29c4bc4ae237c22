from __future__ import annotations

import random
import struct
from pathlib import Path

import msgpack
import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load, load_file
from asmevo.frontend.recover import recover
from code_objects import Function, make_object
from support import EXAMPLES, SHIPPED

ADD = Function("add", ("s_load_dwordx2 s[2:3], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_endpgm"))
HELPER = Function("helper", ("v_add_u32_e32 v0, v0, v1", "s_setpc_b64 s[30:31]"), is_kernel=False)
SCALE = Function("scale", ("s_nop 3", "s_endpgm"), extra=3)


def code_of(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


def test_kernels_are_bounded_by_the_next_function_not_by_symbol_sizes() -> None:
    obj = load(make_object([ADD, HELPER, SCALE]), "three.co")
    assert [(k.name, k.start, k.entry, k.stop) for k in obj.kernels] == [("add", 0, 0, 256), ("scale", 512, 512, 532)]
    assert (obj.target, obj.xnack, obj.sramecc, obj.abi_version) == ("gfx942", "any", "any", 3)


def test_descriptor_and_metadata_are_read() -> None:
    kernel = load(make_object([ADD]), "one.co").kernel()
    assert (kernel.descriptor.vgpr_count, kernel.descriptor.sgpr_count, kernel.descriptor.accum_offset) == (16, 16, 128)
    assert kernel.metadata.vgpr_count == 16
    assert [(a.name, a.offset, a.size, a.value_kind) for a in kernel.metadata.arguments] == [("out", 0, 8, "global_buffer")]
    assert kernel.metadata.agpr_count is None


def test_several_kernels_need_a_name() -> None:
    obj = load(make_object([ADD, SCALE]), "two.co")
    assert obj.kernel("scale").name == "scale"
    for name in (None, "absent"):
        with pytest.raises(DiagnosticError) as caught:
            recover(obj, name)
        assert code_of(caught) == "E0109"
        assert "add, scale" in (caught.value.diagnostics[0].help or "")


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "E0101", "empty"),
        (b"\x00\x01\x02" * 50, "E0101", "not an ELF file"),
        (b"s_nop 0\n", "E0101", "text file"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(90), "E0101", "offload bundle"),
        (b"!<arch>\nx", "E0101", "archive"),
        (b"\x7fELF", "E0102", "header is cut off"),
        (make_object([ADD], machine=62), "E0103", "machine 62"),
        (make_object([ADD], os_abi=0), "E0103", "OS ABI 0"),
        (make_object([ADD], kind=1), "E0104", "not linked"),
        (make_object([ADD], abi_version=0), "E0105", "ABI version 0"),
        (make_object([ADD], flags=0x41), "E0106", "gfx1100 is not supported"),
        (make_object([ADD], with_note=False), "E0107", "no AMDGPU metadata note"),
        (make_object([ADD], metadata=b"\x82\xa1"), "E0107", "MessagePack"),
        (make_object([ADD], metadata=b"\x91" * 500 + b"\xc0"), "E0107", "not a map"),
        (make_object([ADD], metadata=b"\x81\xa1a" + b"\x91" * 500 + b"\xc0"), "E0107", "nests deeper"),
        (make_object([ADD], metadata=b"\x81\xa1a" + b"\x91" * 90000), "E0107", "MessagePack"),
        (make_object([ADD], metadata=b"\xdf\xff\xff\xff\xff"), "E0107", "MessagePack"),
        (make_object([ADD], metadata=b"\x81\x80\x01"), "E0107", "MessagePack"),
        (make_object([ADD], metadata=msgpack.packb([1])), "E0107", "not a map"),
        (make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": 3})), "E0107", "not a list"),
        (make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".name": 1}]})), "E0107", "not text"),
        (make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".symbol": "add.kd"}]})), "E0107", "no name"),
        (make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".name": "add"}] * 2})), "E0107", "same name"),
        (
            make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".name": "add", ".vgpr_count": -1}]})),
            "E0107",
            "not a count",
        ),
        (
            make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".name": "add", ".reqd_workgroup_size": [64, 0]}]})),
            "E0107",
            "not three sizes",
        ),
        (make_object([]), "E0111", ".text is empty"),
        (make_object([HELPER]), "E0109", "no kernel"),
        (make_object([ADD], metadata=msgpack.packb({"amdhsa.kernels": [{".name": "other"}]})), "E0110", "no symbol"),
        (make_object([ADD], entry_delta=4), "E0111", "not aligned"),
        (make_object([ADD], entry_delta=1 << 40), "E0111", "outside .text"),
        (make_object([ADD], entry_delta=-256), "E0111", "outside .text"),
    ],
)
def test_what_cannot_be_used_says_which_part_is_wrong(data: bytes, code: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        load(data, "bad.co")
    assert code_of(caught) == code
    assert words in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("place", "layout", "value", "words"),
    [
        (40, "<Q", 1 << 60, "section header table"),
        (32, "<Q", 1 << 60, "program header table"),
        (58, "<H", 1, "section headers of 1 bytes"),
        (54, "<H", 1, "program headers of 1 bytes"),
        (62, "<H", 999, "names' section"),
        (60, "<H", 2000, "2000 sections"),
        (64 + 32, "<Q", 1 << 50, "segment 0 ends behind the file"),
    ],
)
def test_a_contradicting_header_field_is_named(place: int, layout: str, value: int, words: str) -> None:
    data = bytearray(make_object([ADD]))
    struct.pack_into(layout, data, place, value)
    with pytest.raises(DiagnosticError) as caught:
        load(bytes(data), "bad.co")
    assert code_of(caught) == "E0102"
    assert words in caught.value.diagnostics[0].message


def test_a_missing_file_is_a_diagnostic(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.co", tmp_path):
        with pytest.raises(DiagnosticError) as caught:
            load_file(path)
        assert code_of(caught) == "E0113"


def use(data: bytes) -> CodeObject | None:
    """The object, with every kernel recovered; None for a diagnostic. Anything else fails the test."""
    try:
        obj = load(data, "damaged.co")
        for kernel in obj.kernels:
            recover(obj, kernel.name)
    except DiagnosticError:
        return None
    return obj


def test_every_truncation_is_a_diagnostic() -> None:
    data = make_object([ADD, HELPER, SCALE])
    assert use(data)
    for size in range(0, len(data), 64):
        assert use(data[:size]) is None


@pytest.mark.parametrize("name", SHIPPED)
def test_truncated_shipped_kernels_are_diagnostics(name: str) -> None:
    data = (EXAMPLES / "kernels" / f"{name}.co").read_bytes()
    for size in range(0, len(data), 64):
        assert use(data[:size]) is None


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_are_a_diagnostic_or_another_object(seed: int) -> None:
    source = random.Random(seed)
    data = make_object([ADD, HELPER, SCALE])
    outcomes: set[bool] = set()
    for _ in range(250):
        damaged = bytearray(data)
        for _ in range(source.choice((1, 2, 8))):
            damaged[source.randrange(source.choice((64, 1024, len(data))))] = source.choice((0, 255, source.randrange(256)))
        outcomes.add(use(bytes(damaged)) is not None)
    assert outcomes == {True, False}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_have_their_roots(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    kernel = recover(obj)
    starts = [kernel.block(label).offset for label in kernel.roots]
    entry = obj.kernel().entry
    assert starts == ([entry, entry + 256] if obj.kernel().descriptor.preload_dwords else [entry])
    assert b"".join(i.encoding or b"" for i in kernel.instructions()) == obj.code(obj.kernel())
