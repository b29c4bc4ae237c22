from __future__ import annotations

import re
import struct

import msgpack
import pytest

from asmevo.backend.assembler import assemble, reproduced
from asmevo.backend.build import assemble_like, assemble_new
from asmevo.backend.listing import Options, print_object
from asmevo.backend.listing.metadata import metadata_lines
from asmevo.backend.listing.reader import read_listing
from asmevo.backend.listing.regions import regions_of
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load, load_file
from asmevo.frontend.llvm import assemble_object
from code_objects import HELPER, LOOP, TAIL, Function, make_object
from support import EXAMPLES


def several() -> CodeObject:
    return load(make_object([LOOP, HELPER, TAIL]), "several.co")


def with_code(code: bytes, flags: int = 0x54C) -> CodeObject:
    """An object whose kernel has these bytes in the place of its first instructions."""
    data = bytearray(make_object([Function("k", ("s_nop 0",) * (len(code) // 4) + ("s_endpgm",))], flags=flags))
    obj = load(bytes(data), "k.co")
    data[obj.text.offset : obj.text.offset + len(code)] = code
    return load(bytes(data), "k.co")


def line_with(text: str, part: str) -> str:
    return next(line for line in text.split("\n") if part in line)


def test_kernels_functions_labels_and_comments():
    text = print_object(several())
    assert [name for name in ("loop:", "helper:", "tail:") if f"\n{name}\n" in text] == ["loop:", "helper:", "tail:"]
    assert "\ts_cbranch_scc1 L_000c\n" in text
    header = line_with(text, "L_000c:")
    assert "loop, depth 1, 1 block, again while s_cmp_lg_u32 s4, 0 (8 trips if it ends only there)" in header
    assert "from L_0000, L_000c" in header
    assert line_with(text, "s_load_dwordx2").endswith("; kernarg: out (+0)")
    assert "waves start here" in line_with(text, "L_0000:")


def test_comments_can_be_left_out_and_offsets_and_bytes_added():
    obj = several()
    plain = print_object(obj, Options(comments=False))
    assert ";" not in plain
    both = print_object(obj, Options(comments=False, offsets=True, encoding=True))
    assert line_with(both, "s_mov_b32 s4, 8").endswith("; 000008 be840088")
    assert re.sub(r" *;.*", "", both) == plain


def test_one_kernel_alone():
    text = print_object(load_file(EXAMPLES / "kernels" / "softmax.co"), Options(kernel="softmax"))
    assert ".amdhsa_kernel softmax" in text
    assert ".amdgpu_metadata" not in text
    assert "loop:" not in print_object(several(), Options(kernel="tail"))
    with pytest.raises(DiagnosticError) as caught:
        print_object(several(), Options(kernel="other"))
    assert caught.value.diagnostics[0].code == "E0109"


def test_regions_hold_every_word_once():
    obj = several()
    regions = regions_of(obj)
    assert [(r.start, r.stop) for r in regions] == [(0, 256), (256, 512), (512, obj.text.size)]
    assert [[entry.name for entry in r.kernels] for r in regions] == [["loop"], [], ["tail"]]


def test_the_whole_text_is_what_llvm_takes():
    obj = several()
    made = assemble_object(print_object(obj), obj.target, hsa=True)
    assert made.errors == ()


def test_a_word_that_the_assembler_does_not_reproduce_is_data_with_its_text():
    # s_nop ignores nothing, but v_mov_b32_dpp with bound_ctrl bits that the text has no words for does.
    word = struct.pack("<I", 0xBF8C0000 | 0x3000)
    obj = with_code(word)
    text = print_object(obj)
    line = line_with(text, "0xbf8c3000")
    assert line.startswith("\t.long 0xbf8c3000")
    assert "s_waitcnt" in line.partition(";")[2]
    assert assemble_like(obj, text, "k.s") == obj.data


def test_undecodable_words_and_lost_control_are_printed_as_they_are():
    for code in (b"\xff\xff\xff\xff", struct.pack("<I", 0xBF820100), bytes(4)):
        obj = with_code(code)
        text = print_object(obj)
        assert assemble_like(obj, text, "k.s") == obj.data
    assert "\ts_branch 256\n" in print_object(with_code(struct.pack("<I", 0xBF820100)))


def test_a_descriptor_that_directives_do_not_reproduce_is_exact_bytes():
    obj = several()
    text = print_object(obj)
    assert ".amdhsa_kernel" not in text
    assert "\t.quad loop-loop.kd\n" in text
    assert print_object(load_file(EXAMPLES / "kernels" / "softmax.co")).count(".amdhsa_kernel softmax\n") == 1


def test_metadata_that_yaml_does_not_reproduce_is_exact_bytes():
    kernel = {".name": "k", ".symbol": "k.kd", ".odd": 1.5}
    raw = msgpack.packb({"amdhsa.version": [1, 2], "amdhsa.kernels": [kernel]})
    assert metadata_lines(raw, "gfx942") is None
    obj = load(make_object([Function("k", ("s_endpgm",))], metadata=raw), "k.co")
    text = print_object(obj)
    assert ".amdgpu_metadata" not in text
    assert '\t.asciz "AMDGPU"' in text
    assert assemble_like(obj, text, "k.s") == obj.data
    with pytest.raises(DiagnosticError) as caught:
        assemble_like(obj, text.replace("\t.byte 0x82", "\t.byte 0x83"), "k.s")
    assert caught.value.diagnostics[0].code == "E0624"


@pytest.mark.parametrize("name", ['a"b', "a b", "a\\b", "ä", "1st", "L_0100", "x\n\ts_endpgm", "a;b", "a/*b"])
def test_names_from_a_file_cannot_break_the_text(name):
    obj = load(make_object([Function("k", ("s_nop 0", "s_endpgm")), Function(name, ("s_endpgm",))]), "k.co")
    text = print_object(obj)
    assert text.count("s_endpgm") == 2
    assert assemble_like(obj, text, "k.s") == obj.data


def test_reproduced_answers_for_each_line():
    lines = [
        ("s_nop 0", struct.pack("<I", 0xBF800000)),
        ("s_nop 1", bytes(4)),
        ("v_foo v0", bytes(4)),
        ("a: s_nop 0", bytes(4)),
    ]
    assert reproduced(lines, "gfx942") == [True, False, False, False]
    assert assemble(["s_nop 1"], "gfx942") == [struct.pack("<I", 0xBF800001)]


def test_comments_of_all_kinds_are_no_statements():
    text = "/* a\n b */ tail: // x\n\ts_nop 1 ; y\n# z\n\ts_nop 2 /* w */\n\ts_endpgm"
    assert [s.text for s in read_listing(text, "k.s").code] == ["tail:", "s_nop 1", "s_nop 2", "s_endpgm"]
    assert [(s.line, s.column) for s in read_listing(text, "k.s").code] == [(2, 7), (3, 2), (5, 2), (6, 2)]


def test_data_bss_and_addresses_are_directives():
    source = print_object(load_file(EXAMPLES / "kernels" / "vector_add.co"), Options(comments=False))
    data = "\t.data\n\t.globl d\nd:\n\t.quad vector_add\n\t.zero 40\n\t.byte 1, 2, 3\n\t.bss\n\t.globl b\nb:\n\t.zero 16\n"
    text = print_object(load(assemble_new(source + data, "k.s"), "k.co"))
    assert "\t.quad vector_add\n\t.zero 40\n\t.byte 0x01, 0x02, 0x03\n" in text
    assert "b:\n\t.zero 16\n" in text
