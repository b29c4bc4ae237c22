from __future__ import annotations

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.containers import open_inputs, replace_member
from asmevo.frontend.containers.compressed import ZLIB, Header, compress
from asmevo.frontend.containers.member import Kind, Member
from containers import DATA, ID_942, archive, bundle

NEW = b"\x7fELF" + bytes(range(256)) * 4
FILES = [
    "plain.hipfb",
    "zstd_v2.hipfb",
    "zstd_v3.hipfb",
    "zlib_v2.hipfb",
    "libfat.so",
    "compressed.o",
    "gnu.a",
    "bsd.a",
    "packaged.bin",
]


@pytest.mark.parametrize("name", FILES)
def test_the_same_bytes_put_back_leave_every_member_as_it_was(name: str) -> None:
    data = (DATA / name).read_bytes()
    members = open_inputs(data, name)
    for member in members:
        new = replace_member(data, name, member, member.data)
        assert open_inputs(new, name) == members
        if not name.startswith(("z", "compressed")):
            assert new == data


@pytest.mark.parametrize("name", FILES)
def test_a_changed_member_of_the_same_size_changes_nothing_else(name: str) -> None:
    data = (DATA / name).read_bytes()
    members = open_inputs(data, name)
    for number, member in enumerate(members):
        if not member.data:
            continue
        changed = member.data[:-1] + bytes([member.data[-1] ^ 1])
        after = open_inputs(replace_member(data, name, member, changed), name)
        assert [m.data for m in after] == [changed if i == number else m.data for i, m in enumerate(members)]


@pytest.mark.parametrize("size", [0, 1, 700, 5000, 70000])
def test_a_bundle_takes_a_member_of_any_size(size: int) -> None:
    parts = [("host-x86", b""), ("a", NEW), ("b", NEW[::-1]), ("c", b"end")]
    data = bundle(parts, alignment=4096)
    members = open_inputs(data, "x")
    new = bytes(i % 251 + 1 for i in range(size))
    for number in (1, 2, 3):
        result = replace_member(data, "x", members[number], new)
        assert [m.data for m in open_inputs(result, "x")] == [new if i == number else part for i, (_, part) in enumerate(parts)]
        compressed = compress(data, Header(2, ZLIB, None, 0, 0, 0))
        result = replace_member(compressed, "x", members[number], new)
        assert open_inputs(result, "x")[number].data == new


def test_a_host_file_keeps_its_length_and_refuses_what_does_not_fit() -> None:
    data = (DATA / "libfat.so").read_bytes()
    member = next(m for m in open_inputs(data, "lib") if m.chip == "gfx942")
    longer = member.data + bytes(20)
    result = replace_member(data, "lib", member, longer)
    assert len(result) == len(data)
    assert next(m for m in open_inputs(result, "lib") if m.chip == "gfx942").data == longer
    with pytest.raises(DiagnosticError) as caught:
        replace_member(data, "lib", member, member.data + bytes(1 << 16))
    assert caught.value.diagnostics[0].code == "E0158"


def test_an_archive_refuses_another_size() -> None:
    data = archive([("a.co", NEW)])
    (member,) = open_inputs(data, "x")
    for new in (NEW[:-1], NEW + b"x"):
        with pytest.raises(DiagnosticError) as caught:
            replace_member(data, "x", member, new)
        assert caught.value.diagnostics[0].code == "E0158"


def test_a_member_that_is_not_there() -> None:
    absent = Member("x!absent", "gfx942", b"", Kind.CODE_OBJECT)
    with pytest.raises(DiagnosticError) as caught:
        replace_member(bundle([(ID_942, NEW)]), "x", absent, NEW)
    assert caught.value.diagnostics[0].code == "E0154"
