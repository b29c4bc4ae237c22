"""verify must refuse whatever differs besides the kernel's own instructions."""

import pytest

from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Immediate, Instruction
from asmevo.ir.isa import lookup
from asmevo.ir.rewriter import Rewriter
from asmevo.verify.diff.objects import kernels_only_differ
from support import EXAMPLES

PATH = EXAMPLES / "kernels" / "softmax.co"


def judge(data):
    old, new = load_file(PATH), load(data, "new.co")
    kernels_only_differ(old, recover(old), new, recover(new))


def edited(kernel, count):
    rewriter = Rewriter(kernel)
    nop = Instruction("s_nop", (Immediate(0, "0"),), definition=lookup("s_nop"))
    rewriter.insert(next(b.label for b in kernel.blocks if not b.frozen), 5, [nop] * count)
    return rewriter.kernel


@pytest.mark.parametrize("count", [1, 70])
def test_rebuilt_objects_are_accepted_even_when_they_grew(count):
    code_object = load_file(PATH)
    judge(rebuild(code_object, edited(recover(code_object), count)))


def test_a_changed_program_header_is_refused():
    data = bytearray(PATH.read_bytes())
    data[0x94] ^= 1
    with pytest.raises(DiagnosticError, match="E0505"):
        judge(bytes(data))


def test_a_changed_byte_of_another_section_is_refused():
    code_object = load_file(PATH)
    data = bytearray(code_object.data)
    data[code_object.text.offset + code_object.text.size + 8] ^= 1
    with pytest.raises(DiagnosticError, match="E0505"):
        judge(bytes(data))


def test_an_appended_byte_is_refused():
    with pytest.raises(DiagnosticError, match="E0505"):
        judge(PATH.read_bytes() + b"\0")


def test_a_grown_object_with_another_change_is_refused():
    code_object = load_file(PATH)
    data = bytearray(rebuild(code_object, edited(recover(code_object), 70)))
    data[0x18] ^= 1
    with pytest.raises(DiagnosticError, match="E0505"):
        judge(bytes(data))


def test_bits_that_the_text_does_not_show_are_refused():
    code_object = load_file(PATH)
    wait = next(i for i in recover(code_object).instructions() if i.encoding == bytes.fromhex("7fc08cbf"))
    assert wait.offset is not None
    data = bytearray(code_object.data)
    data[code_object.text.offset + wait.offset + 1] |= 0x20
    with pytest.raises(DiagnosticError, match="does not show"):
        judge(bytes(data))
