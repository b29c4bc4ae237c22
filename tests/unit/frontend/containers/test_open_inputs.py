from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.containers import Kind, Member, open_inputs
from asmevo.frontend.containers.compressed import ZLIB, ZSTD, Header, compress
from asmevo.frontend.containers.member import MAX_MEMBERS
from containers import BUNDLE_MAGIC, DATA, HISTOGRAM, ID_942, archive, bundle, host_file
from support import EXAMPLES

BUNDLE = (DATA / "plain.hipfb").read_bytes()


OFFLOAD_BINARY = (DATA / "packaged.bin").read_bytes()


def usable(source: Path | bytes, name: str | None = None) -> list[Member]:
    return [member for member in open_inputs(source, name) if member.is_usable]


def refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(DiagnosticError) as caught:
        open_inputs(data, "bad")
    found = caught.value.diagnostics[0]
    return found.code, found.message


def packed(data: bytes, version: int, method: int) -> bytes:
    return compress(data, Header(version, method, None, 0, 0, 0))


def test_a_code_object_is_its_own_only_member() -> None:
    (member,) = open_inputs(EXAMPLES / "kernels" / "histogram.co", "histogram.co")
    assert member == Member("histogram.co", "gfx942", HISTOGRAM, Kind.CODE_OBJECT)


def test_a_relocatable_object_says_so() -> None:
    (member,) = open_inputs(DATA / "program.o", "program.o")
    assert (member.path, member.target, member.kind) == ("program.o", "gfx942", Kind.RELOCATABLE)


@pytest.mark.parametrize("name", ["plain.hipfb", "zstd_v2.hipfb", "zstd_v3.hipfb", "zlib_v2.hipfb"])
def test_bundles_of_every_form_hold_the_shipped_kernel(name: str) -> None:
    (member,) = usable(DATA / name, name)
    assert (member.path, member.target, member.data) == (f"{name}!{ID_942}", "gfx942", HISTOGRAM)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [ZLIB, ZSTD])
def test_each_version_and_method_of_compression(version: int, method: int) -> None:
    (member,) = usable(packed(BUNDLE, version, method), "packed")
    assert member.data == HISTOGRAM


def test_a_host_library_gives_the_chips_of_each_source_file() -> None:
    members = open_inputs(DATA / "libfat.so", "libfat.so")
    found = [(m.path, m.target) for m in members if m.is_usable]
    prefix = "hipv4-amdgcn-amd-amdhsa--"
    assert found == [
        (f"libfat.so!.hip_fatbin[{number}]!{prefix}{chip}", chip) for number in (0, 1) for chip in ("gfx90a", "gfx942")
    ]
    refused = {m.path.rpartition("--")[2]: m.refusal for m in members if m.target and m.refusal}
    assert refused == {"gfx1100": "gfx1100 is not supported (supported: gfx90a, gfx942, gfx950)"}


def test_a_compressed_bundle_in_a_host_object() -> None:
    (member,) = usable(DATA / "compressed.o", "compressed.o")
    assert member.path == f"compressed.o!.hip_fatbin[0]!{ID_942}"


def test_compressed_bundles_one_after_another_are_all_found() -> None:
    library = bytearray((DATA / "libfat.so").read_bytes())
    start = library.index(BUNDLE_MAGIC)
    second = library.index(BUNDLE_MAGIC, start + 1)
    # Of version 1, which does not say how long it is, and of version 3.
    for place, version in ((start, 1), (second, 3)):
        part = packed(bundle([(f"{ID_942}:xnack-", HISTOGRAM)]), version, ZSTD)
        stop = second if place == start else second + second - start
        library[place:stop] = part + bytes(stop - place - len(part))
    paths = [member.path for member in usable(bytes(library), "lib")]
    assert paths == [f"lib!.hip_fatbin[{number}]!{ID_942}:xnack-" for number in (0, 1)]


@pytest.mark.parametrize("name", ["gnu.a", "bsd.a"])
def test_archives_with_long_names(name: str) -> None:
    found = [(member.path, member.kind) for member in open_inputs(DATA / name, name)]
    assert found == [
        (f"{name}!a_member_with_a_long_name.o", Kind.RELOCATABLE),
        (f"{name}!program.co", Kind.CODE_OBJECT),
    ]


def test_an_offload_binary_names_triple_and_chip() -> None:
    (member,) = open_inputs(DATA / "packaged.bin", "packaged.bin")
    assert member.path == "packaged.bin!amdgcn-amd-amdhsa-gfx942"
    assert member.data == (DATA / "program.co").read_bytes()


def test_triton_s_cache_gives_what_a_launch_needs() -> None:
    (member,) = open_inputs(DATA / "triton", "triton")
    assert member.path.endswith("/softmax.hsaco")
    assert member.data == (EXAMPLES / "kernels" / "softmax.co").read_bytes()
    assert member.triton is not None
    found = member.triton
    assert (found.name, found.target, found.shared_bytes, found.warp_count, found.warp_size) == ("softmax", "gfx942", 16, 4, 64)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[" * 100000, "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "names no target"),
        ('{"target": {"arch": "gfx942"}}', "names no kernel"),
        ('{"target": {"arch": "gfx942"}, "name": "k", "shared": -1}', "'shared' is not a count"),
        ('{"target": {"arch": "gfx942"}, "name": "k", "num_warps": true}', "'num_warps' is not a count"),
        (json.dumps({"target": {"arch": "gfx90a"}, "name": "k"}), "is for gfx90a"),
        (" " * (1 << 21), "more than"),
    ],
)
def test_metadata_that_cannot_be_used_is_told_and_leaves_the_object(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "k.hsaco").write_bytes(HISTOGRAM)
    (tmp_path / "k.json").write_text(text)
    (member,) = open_inputs(tmp_path)
    assert member.is_usable
    assert member.triton is None
    assert words in member.note


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("thin.a", "a thin archive"),
        ("program.bc", "LLVM bitcode"),
        ("bitcode.o", "LLVM bitcode"),
        ("program.cl", "a text file"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, words: str) -> None:
    assert words in open_inputs(DATA / name)[0].refusal


def test_a_host_file_without_device_code_says_what_it_holds() -> None:
    plain = (DATA / "libfat.so").read_bytes().replace(b".hip_fatbin", b".had_fatbin")
    (member,) = open_inputs(plain, "lib")
    assert (member.kind, member.refusal) == (Kind.EMPTY_CONTAINER, "a host file with no AMD device code in it")
    (member,) = open_inputs(plain.replace(b".had_fatbin", b".nv_fatbin\0"), "lib")
    assert "NVIDIA device code only" in member.refusal


def test_a_host_object_with_a_section_a_function() -> None:
    names = [(f".text.{number}{'x' * 40}", b"") for number in range(3000)]
    (member,) = open_inputs(
        host_file([(".hip_fatbin", bundle([(ID_942, HISTOGRAM)])), *names, (".text." + "y" * 9000, b"")]), "h"
    )
    assert member.path == f"h!.hip_fatbin[0]!{ID_942}"


def test_what_is_no_bundle_in_a_host_file_is_damage() -> None:
    for name, words in ((".hip_fatbin", "no offload bundle"), (".llvm.offloading", "no offload binary")):
        assert words in refusal(host_file([(name, b"something else")]))[1]
    assert "of 9 bytes" in refusal(host_file([(".llvm.offloading", OFFLOAD_BINARY[:8] + struct.pack("<Q", 9) + bytes(40))]))[1]
    (member,) = open_inputs(host_file([(".llvm.offloading", OFFLOAD_BINARY)]), "h")
    assert member.path == "h!.llvm.offloading[0]!amdgcn-amd-amdhsa-gfx942"


def test_the_same_path_twice_is_numbered() -> None:
    data = archive([("same.o", HISTOGRAM), ("same.o", HISTOGRAM)])
    assert [member.path for member in open_inputs(data, "a")] == ["a!same.o", "a!same.o[1]"]


def test_containers_in_containers() -> None:
    data = archive([("x.hipfb", packed(BUNDLE, 2, ZSTD)), ("y.so", (DATA / "libfat.so").read_bytes())])
    paths = [member.path for member in usable(data, "a")]
    assert paths[0] == f"a!x.hipfb!{ID_942}"
    assert paths[1].startswith("a!y.so!.hip_fatbin[0]!")
    assert len(paths) == 5


def header(*fields: int) -> bytes:
    return BUNDLE_MAGIC + struct.pack(f"<{len(fields)}Q", *fields)


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (BUNDLE_MAGIC, "E0150", "header is cut off"),
        (header(1 << 60), "E0150", "entries in 32 bytes"),
        (header(1, 0, 8, 1 << 40), "E0150", "ID of"),
        (header(1, 1 << 60, 8, 0), "E0150", "ends behind the file"),
        (header(1, 0, 1 << 60, 0), "E0150", "ends behind the file"),
        (header(2, 0, 8, 0, 4, 8, 0), "E0150", "overlap"),
        (bundle([("a", b"x")])[:-1], "E0150", "ends behind the file"),
        (header(MAX_MEMBERS + 1) + bytes(24 * (MAX_MEMBERS + 1)), "E0151", f"bundle of {MAX_MEMBERS + 1}"),
        (b"CCOB", "E0150", "cut off"),
        (b"CCOB\x09\0\0\0" + bytes(32), "E0155", "version 9"),
        (b"CCOB\x02\0\x07\0" + bytes(32), "E0155", "method 7"),
        (b"CCOB\x02\0\0\0" + struct.pack("<IIQ", 1 << 30, 8, 0), "E0150", "of 1073741824 bytes in 24"),
        (b"CCOB\x02\0\0\0" + struct.pack("<IIQ", 26, 8, 0) + b"xx", "E0150", "zlib"),
        (b"CCOB\x02\0\x01\0" + struct.pack("<IIQ", 26, 8, 0) + b"xx", "E0150", "zstd"),
        (b"CCOB\x03\0\0\0" + struct.pack("<QQQ", 32, 1 << 60, 0), "E0151", "expands to"),
        (packed(BUNDLE, 2, ZLIB)[:-9], "E0150", "bytes in"),
        (packed(b"no bundle", 2, ZSTD), "E0150", "no offload bundle"),
        (b"!<arch>\nshort", "E0150", "header is cut off"),
        (archive([("a", b"")]).replace(b"0         `\n", b"-1        `\n"), "E0150", "no number"),
        (archive([("a", b"")]).replace(b"0         `\n", b"99        `\n"), "E0150", "ends behind"),
        (archive([("/7", b"x")]).replace(b"/7/ ", b"/7  "), "E0150", "table of names"),
        (archive([("#1/900", b"x")]).replace(b"#1/900/ ", b"#1/900  "), "E0150", "name of 900"),
        (archive([("a", b"")] * (MAX_MEMBERS + 1)), "E0151", "members"),
        (b"\x10\xff\x10\xad", "E0150", "header is cut off"),
        (b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 1, 32, 1 << 60, 40), "E0150", "outside"),
        (
            b"\x10\xff\x10\xad" + struct.pack("<IQQQ", 1, 72, 32, 40) + struct.pack("<HHIQQQQ", 0, 0, 0, 72, 9, 0, 0),
            "E0150",
            "texts",
        ),
    ],
)
def test_a_damaged_container_says_which_part(data: bytes, code: str, words: str) -> None:
    found = refusal(data)
    assert found[0] == code
    assert words in found[1]


def test_sizes_and_digests_are_compared() -> None:
    good = packed(BUNDLE, 2, ZLIB)
    for place, words in ((12, "bytes come out"), (16, "digest")):
        data = bytearray(good)
        data[place] ^= 1
        assert words in refusal(bytes(data))[1]


@pytest.mark.parametrize("method", [ZLIB, ZSTD])
@pytest.mark.parametrize("claimed", [64, 4 << 20])
def test_a_bomb_takes_no_more_than_it_says(method: int, claimed: int) -> None:
    # 64 MiB of zeros in a few KiB, in a header that claims less.
    zeros = bytes(64 << 20)
    body = zlib.compress(zeros, 1) if method == ZLIB else zstandard.ZstdCompressor(level=1).compress(zeros)
    data = b"CCOB" + struct.pack("<HHIIQ", 2, method, 24 + len(body), claimed, 0) + body
    tracemalloc.start()
    try:
        assert refusal(data)[0] == "E0150"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * claimed + (4 << 20)


def test_several_bombs_share_one_budget() -> None:
    inner = bundle([("zeros", bytes(100 << 20))])
    body = zstandard.ZstdCompressor(level=1).compress(inner)
    digest = hashlib.md5(inner).digest()[:8]
    part = b"CCOB" + struct.pack("<HHII", 2, ZSTD, 24 + len(body), len(inner)) + digest + body
    code, message = refusal(archive([("a", part), ("b", part), ("c", part)]))
    assert code == "E0151"
    assert "are left of what is allowed" in message


def test_nesting_is_limited() -> None:
    data = HISTOGRAM
    for _ in range(8):
        data = bundle([("x", data)])
    assert refusal(data) == ("E0151", "the container is beyond the limits: containers nest deeper than 6")


def test_a_missing_file_is_a_diagnostic(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", "zero\0byte"):
        with pytest.raises(DiagnosticError) as caught:
            open_inputs(path)
        assert caught.value.diagnostics[0].code == "E0113"


def test_a_folder_without_objects_has_no_members(tmp_path: Path) -> None:
    shutil.copy(DATA / "program.cl", tmp_path)
    assert open_inputs(tmp_path) == ()


SEEDS = [
    (DATA / name).read_bytes() for name in ("libfat.so", "zstd_v2.hipfb", "zlib_v2.hipfb", "gnu.a", "bsd.a", "packaged.bin")
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_gives_a_diagnostic_or_members(draw: st.DataObject) -> None:
    data = bytearray(draw.draw(st.sampled_from(SEEDS)))
    for _ in range(draw.draw(st.integers(0, 6))):
        # Headers are where the numbers are.
        place = draw.draw(st.one_of(st.integers(0, 255), st.integers(0, len(data) - 1)))
        data[place] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))
    try:
        members = open_inputs(bytes(data[:cut]), "damaged")
    except DiagnosticError:
        return
    assert len({member.path for member in members}) == len(members)


def test_a_digit_of_another_alphabet_is_no_place_in_the_table_of_names() -> None:
    # `str.isdigit` takes the superscript 2 of Latin-1, `int` does not.
    (member,) = open_inputs(archive([("x", b"text")]).replace(b"x/", b"/\xb2"), "odd.a")
    assert member.path == "odd.a!/\xb2"


def test_folders_that_vanish_or_link_elsewhere_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "k.co").write_bytes(HISTOGRAM)
    (inner / "again").symlink_to(tmp_path)
    scan = os.scandir

    def vanished(path: str) -> object:
        if str(path) == str(inner):
            raise FileNotFoundError(2, "gone", str(path))
        return scan(path)

    assert [member.path.rpartition("!")[2] for member in open_inputs(tmp_path)] == ["inner/k.co"]
    monkeypatch.setattr(os, "scandir", vanished)
    assert open_inputs(tmp_path) == ()


def test_a_name_that_is_too_long_is_a_file_that_cannot_be_read() -> None:
    with pytest.raises(DiagnosticError, match="E0113"):
        open_inputs("a" * 5000)
