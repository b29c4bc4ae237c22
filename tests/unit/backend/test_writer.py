from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from asmevo.backend.validate import validate
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import CodeObject, load, load_file
from asmevo.frontend.line import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Immediate, Instruction, WaitCounts
from asmevo.ir.kernel import Kernel
from code_objects import HELPER, LOOP, TAIL, Function, check_structure, make_object
from support import EXAMPLES, SHIPPED

NOP = "s_nop 0"


def insert(kernel: Kernel, texts: Sequence[str], label: str | None = None) -> Kernel:
    """The kernel with instructions at the head of a block, the last root's unless named."""
    added = tuple(parse_line(text) for text in texts)
    where = label or kernel.roots[-1]
    blocks = (replace(b, instructions=added + b.instructions) if b.label == where else b for b in kernel.blocks)
    return replace(kernel, blocks=tuple(blocks))


def change(kernel: Kernel, mnemonic: str, new: Instruction | None) -> Kernel:
    """The kernel with every instruction of that mnemonic replaced, or removed."""

    def members(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        return tuple(new if i.mnemonic == mnemonic and new else i for i in instructions if new or i.mnemonic != mnemonic)

    return replace(kernel, blocks=tuple(replace(b, instructions=members(b.instructions)) for b in kernel.blocks))


def texts_of(obj: CodeObject, name: str | None = None) -> list[str]:
    return [(i.span.source if i.span else None) or "" for i in recover(obj, name).instructions()]


def code_of(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_kernel_without_edit_is_byte_identical(name: str) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    assert rebuild(obj, recover(obj)) == obj.data


@pytest.mark.parametrize("name", ["loop", "tail"])
def test_an_object_of_several_kernels_without_edit_is_byte_identical(name: str) -> None:
    obj = load(make_object([LOOP, HELPER, TAIL]), "x.co")
    assert rebuild(obj, recover(obj, name)) == obj.data


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("size", [8, 4096, 30000])
def test_a_grown_shipped_kernel_is_read_by_others(name: str, size: int) -> None:
    obj = load_file(EXAMPLES / "kernels" / f"{name}.co")
    data = rebuild(obj, insert(recover(obj), [NOP] * (size // 4)))
    check_structure(data)
    moved = (len(data) - len(obj.data)) % 4096
    assert moved == 0
    assert len(load(data, "grown").code(load(data, "grown").kernel())) == obj.text.size + size
    for section in obj.elf.sections:
        if section.name not in (".text", ".symtab", ".dynsym", ".dynamic"):
            there = load(data, "grown").elf.section(section.name)
            assert there is not None
            assert load(data, "grown").elf.contents(there) == obj.elf.contents(section)


def test_shorter_code_is_filled_with_s_nop_to_the_old_size() -> None:
    obj = load(make_object([LOOP]), "x.co")
    data = rebuild(obj, change(recover(obj), "s_waitcnt", None))
    assert len(data) == len(obj.data)
    assert texts_of(load(data, "y"))[-2:] == ["s_endpgm", "s_nop 0"]


def test_an_edited_operand_changes_its_bytes_only() -> None:
    obj = load(make_object([LOOP]), "x.co")
    kernel = recover(obj)
    wait = next(i for i in kernel.instructions() if i.mnemonic == "s_waitcnt")
    data = rebuild(obj, change(kernel, "s_waitcnt", wait.edited(operands=(WaitCounts(lgkmcnt=1),))))
    assert wait.offset is not None
    place = obj.text.offset + wait.offset
    assert [i for i in range(len(data)) if data[i] != obj.data[i]] == [place + 1]
    assert texts_of(load(data, "y"))[5] == "s_waitcnt lgkmcnt(1)"


def test_branches_follow_their_labels() -> None:
    obj = load(make_object([LOOP]), "x.co")
    kernel = recover(obj)
    head = next(b.label for b in kernel.blocks if b.instructions[0].mnemonic == "s_sub_u32")
    data = rebuild(obj, insert(kernel, [NOP, NOP], head))
    assert texts_of(load(data, "y"))[6] == "s_cbranch_scc1 65531"


def test_slack_behind_text_is_used_before_pages_are_added() -> None:
    obj = load(make_object([LOOP], slack=64), "x.co")
    for words, grown in ((2, 0), (16, 0), (17, 4096)):
        data = rebuild(obj, insert(recover(obj), [NOP] * words))
        check_structure(data)
        assert len(data) - len(obj.data) == grown
        assert load(data, "y").text.size == obj.text.size + 4 * words


def test_padding_before_the_next_function_is_room() -> None:
    obj = load(make_object([LOOP, HELPER, TAIL]), "x.co")
    room = (256 - 32) // 4
    data = rebuild(obj, insert(recover(obj, "loop"), [NOP] * room))
    assert len(data) == len(obj.data)
    assert load(data, "y").kernel("tail").entry == 512


@pytest.mark.parametrize("filler", ["0x0", "0xbf9f0000", "0xbf800000"])
def test_every_kind_of_padding_is_room(filler: str) -> None:
    padded = replace(LOOP, lines=(*LOOP.lines, *[f".long {filler}"] * 10))
    obj = load(make_object([padded, TAIL]), "x.co")
    data = rebuild(obj, insert(recover(obj, "loop"), [NOP] * 55))
    assert len(data) == len(obj.data)
    assert load(data, "y").kernel("tail").entry == 256


@pytest.mark.parametrize("slack", [0, 1024])
def test_functions_behind_a_grown_kernel_move_by_256_with_their_symbols_and_descriptors(slack: int) -> None:
    plain = replace(HELPER, lines=("v_add_u32_e32 v0, v0, v1", "s_endpgm"))
    obj = load(make_object([LOOP, plain, TAIL], slack=slack), "x.co")
    data = rebuild(obj, insert(recover(obj, "loop"), [NOP] * 100))
    check_structure(data)
    new = load(data, "y")
    assert [(k.name, k.entry) for k in new.kernels] == [("loop", 0), ("tail", 768)]
    assert {s.name: s.value - new.text.address for s in new.symbols if s.section == new.text.index} == {
        "loop": 0, "helper": 512, "tail": 768,
    }  # fmt: skip
    assert new.code(new.kernel("tail")) == obj.code(obj.kernel("tail"))


def test_the_preload_entry_stays_at_256() -> None:
    prologue = ("s_load_dword s2, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_branch 60") + (NOP,) * 60
    lines = (*prologue, "s_mov_b32 s3, s2", "s_endpgm")
    obj = load(make_object([Function("preload", lines, preload_dwords=1)]), "x.co")
    kernel = recover(obj)
    assert [kernel.block(label).offset for label in kernel.roots] == [0, 256]
    shorter = change(kernel, "s_waitcnt", None)
    assert load(rebuild(obj, shorter), "y").data[obj.text.offset + 256 :][:4] == obj.data[obj.text.offset + 256 :][:4]
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, insert(kernel, [NOP], kernel.roots[0]))
    assert code_of(caught) == "E0612"


def test_a_branch_beyond_its_reach_is_refused() -> None:
    obj = load(make_object([LOOP]), "x.co")
    kernel = recover(obj)
    head = next(b.label for b in kernel.blocks if b.instructions[0].mnemonic == "s_sub_u32")
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, insert(kernel, [NOP] * 32768, head))
    assert code_of(caught) == "E0611"


def test_computed_addresses_pin_every_instruction() -> None:
    lines = ("s_getpc_b64 s[2:3]", "s_add_u32 s2, s2, 16", "s_load_dword s4, s[2:3], 0x0", "s_endpgm")
    obj = load(make_object([Function("pc", lines)]), "x.co")
    kernel = recover(obj)
    assert rebuild(obj, kernel) == obj.data
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, insert(kernel, [NOP]))
    assert code_of(caught) == "E0613"


@pytest.mark.parametrize("line", ["s_getpc_b64 s[2:3]", "s_setpc_b64 s[30:31]", "s_branch 65400"])
def test_a_neighbour_that_depends_on_the_place_of_the_kernel_stops_its_growth(line: str) -> None:
    other = Function("other", (line, "s_endpgm"), is_kernel=False)
    obj = load(make_object([LOOP, other]), "x.co")
    assert rebuild(obj, recover(obj)) == obj.data
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, insert(recover(obj), [NOP] * 100))
    assert code_of(caught) == "E0613"


def test_relocations_stop_growth_but_not_edits() -> None:
    obj = load(make_object([LOOP], relocations=1), "x.co")
    rebuild(obj, change(recover(obj), "s_waitcnt", None))
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, insert(recover(obj), [NOP]))
    assert code_of(caught) == "E0614"


def test_a_section_over_text_stops_growth() -> None:
    data = bytearray(make_object([LOOP]))
    obj = load(bytes(data), "x.co")
    comment = obj.elf.section(".strtab")
    assert comment is not None
    struct.pack_into("<Q", data, obj.elf.header.section_offset + 64 * comment.index + 24, obj.text.offset)
    overlapping = load(bytes(data), "x.co")
    with pytest.raises(DiagnosticError) as caught:
        rebuild(overlapping, insert(recover(overlapping), [NOP]))
    assert code_of(caught) == "E0614"


def test_what_cannot_be_written_is_refused() -> None:
    obj = load(make_object([LOOP]), "x.co")
    kernel = recover(obj)
    assert kernel.metadata is not None
    changed = {
        "E0615": replace(kernel, metadata=replace(kernel.metadata, wavefront_size=32)),
        "E0109": replace(kernel, name="other"),
        "E0603": change(kernel, "s_endpgm", Instruction("s_bogus")),
        "E0610": replace(kernel, blocks=(*kernel.blocks, replace(kernel.blocks[0], offset=None))),
    }
    for code, bad in changed.items():
        with pytest.raises(DiagnosticError) as caught:
            rebuild(obj, bad)
        assert code_of(caught) == code
    with pytest.raises(DiagnosticError) as caught:
        rebuild(obj, replace(kernel, target="gfx950"))
    assert code_of(caught) == "E0615"


def test_descriptor_edits_are_written() -> None:
    obj = load(make_object([LOOP]), "x.co")
    kernel = recover(obj)
    assert kernel.descriptor is not None
    data = rebuild(obj, replace(kernel, descriptor=replace(kernel.descriptor, rsrc3=7)))
    assert load(data, "y").kernel().descriptor.rsrc3 == 7
    assert sum(a != b for a, b in zip(data, obj.data, strict=True)) == 1


class TestValidate:
    """The check of the result, by what it must refuse."""

    def refuse(self, obj: CodeObject, kernel: Kernel, data: bytes) -> str:
        with pytest.raises(DiagnosticError) as caught:
            validate(obj, kernel, data)
        assert code_of(caught) == "E0616"
        return caught.value.diagnostics[0].message

    @pytest.mark.parametrize(
        ("offset", "value", "words"),
        [
            (8, 0xBF800000, "for s_mov_b32"),
            (20, 0xBF85FFFC, "does not lead to"),
            (24, 0xBF8CC17F, "for s_waitcnt"),
        ],
    )
    def test_a_changed_word_of_code(self, offset: int, value: int, words: str) -> None:
        obj = load(make_object([LOOP, TAIL]), "x.co")
        data = bytearray(obj.data)
        assert struct.unpack_from("<I", data, obj.text.offset + offset)[0] != value
        struct.pack_into("<I", data, obj.text.offset + offset, value)
        assert words in self.refuse(obj, recover(obj, "loop"), bytes(data))

    def test_an_edit_that_was_not_made(self) -> None:
        obj = load(make_object([LOOP]), "x.co")
        kernel = recover(obj)
        wanted = change(kernel, "s_mov_b32", parse_line("s_mov_b32 s4, 9"))
        assert "'s_mov_b32 s4, 8' for s_mov_b32" in self.refuse(obj, wanted, obj.data)
        nops = change(kernel, "s_waitcnt", Instruction("s_nop", (Immediate(0, "0"),)))
        assert "for s_nop" in self.refuse(obj, nops, obj.data)

    def test_something_else_in_the_object(self) -> None:
        obj = load(make_object([LOOP, TAIL]), "x.co")
        kernel = recover(obj, "loop")
        places = {
            "descriptor of 'tail'": obj.kernel("tail").descriptor_place,
            "code of 'tail'": obj.text.offset + 256,
            "metadata": obj.data.index(b".sgpr_count") + len(".sgpr_count"),
            "target": 49,
        }
        for words, place in places.items():
            data = bytearray(obj.data)
            data[place] ^= 1
            assert words in self.refuse(obj, kernel, bytes(data))
        assert "cannot be read" in self.refuse(obj, kernel, obj.data[:100])

    def test_code_behind_the_kernel(self) -> None:
        obj = load(make_object([LOOP]), "x.co")
        kernel = recover(obj)
        cut = replace(kernel, blocks=kernel.blocks[:-1])
        assert "more instructions" in self.refuse(obj, cut, obj.data)
