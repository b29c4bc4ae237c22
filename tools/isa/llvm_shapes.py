"""Compares the tables with LLVM's assembler: which names exist, which forms, and what goes in every operand's place."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from asmevo.backend.assembler import assemble
from asmevo.frontend.disassembler import disassemble
from asmevo.frontend.llvm import find_library
from asmevo.ir.isa import base_mnemonic, canonical, definitions
from asmevo.ir.isa.model import Access, Encoding
from asmevo.ir.isa.scope import scope_bits
from tools.isa.differences import Difference
from tools.isa.forms import Form, all_forms, forms
from tools.isa.probe import Candidate, ask, candidates, refused

SOURCE = "llvm"
# LLVM keeps all names of the AMDGPU target, of every chip, as one run of strings with a length byte before each.
_A_LONG_NAME = b"v_mfma_f32_32x32x4_2b_bf16"
_NAME = re.compile(rb"[a-z][a-z0-9_.]*")
_CACHE_BITS = ("sc0", "sc1", "nt", "glc", "slc", "scc")
_MODIFIERS = {
    Encoding.E32: ("",),
    Encoding.E64: ("",),
    Encoding.SDWA: (
        "src0_sel:WORD_1",
        "src0_sel:WORD_1 src1_sel:DWORD",
        "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1",
        "dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
    ),
    Encoding.DPP: ("quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", "row_newbcast:0 row_mask:0xf bank_mask:0xf"),
}
_LONGEST = 63
_SHORTEST = 3


def differences(target: str, *, every: int = 1) -> Iterator[Difference]:
    """All differences on one target. With `every` = n only each n-th form is probed: a quick look, not a proof."""
    yield from name_differences(target)
    chosen = list(all_forms(target))[::every]
    yield from form_differences(chosen, target)
    yield from encoding_differences(target)
    yield from printed_differences(chosen, target)
    yield from cache_bit_differences(chosen, target)
    yield from operand_differences(chosen, target, list(candidates()))


def name_differences(target: str) -> Iterator[Difference]:
    """Names that the assembler knows on a target and the tables do not, and the other way round."""
    theirs = {base_mnemonic(name) for name in accepted_names(target)}
    ours = {name for name, found in definitions().items() if any(target in definition.targets for definition in found)}
    for name in sorted(theirs ^ ours):
        yield Difference(SOURCE, target, name, "exists", _yes(name in ours), _yes(name in theirs))


def form_differences(forms: Sequence[Form], target: str) -> Iterator[Difference]:
    """Forms of the tables that the assembler refuses."""
    messages = refused([form.line() for form in forms], target)
    for number, message in sorted(messages.items()):
        yield Difference(SOURCE, target, _name(forms[number]), f"form {forms[number].line()}", "yes", message)


def encoding_differences(target: str) -> Iterator[Difference]:
    """Encodings that the assembler knows of an opcode and the tables do not.

    Each is asked for by its suffix, with the operands of the opcode's own forms and every set of modifiers above. The assembler
    takes a needless suffix, so only what is printed with it again counts.
    """
    asked: list[tuple[str, str]] = []
    for definition in (d for found in definitions().values() for d in found if target in d.targets):
        for encoding, words in _MODIFIERS.items():
            if encoding not in definition.encodings:
                name = definition.mnemonic + encoding.value
                operands = dict.fromkeys(", ".join(form.operands) for form in forms(definition, target))
                asked += [(name, f"{name} {given} {word}".strip()) for given in operands for word in words]
    messages = refused([line for _, line in asked], target)
    taken = [pair for number, pair in enumerate(asked) if number not in messages]
    found: set[str] = set()
    encodings = assemble([line for _, line in taken], target)
    texts = {line.offset: line.text for line in disassemble(b"".join(encodings), target)}
    for (name, _), offset in zip(taken, accumulate(map(len, encodings), initial=0), strict=False):
        text = texts[offset]
        if text and text.split()[0] == name:
            found.add(name)
    for name in sorted(found):
        yield Difference(SOURCE, target, name, "encoding", "no", "yes")


def printed_differences(forms: Sequence[Form], target: str) -> Iterator[Difference]:
    """Forms that the disassembler prints with another mnemonic or suffix than the tables tell."""
    wrong = refused([form.line() for form in forms], target)
    good = [form for number, form in enumerate(forms) if number not in wrong]
    for form, encoding in zip(good, assemble([form.line() for form in good], target), strict=True):
        text = disassemble(encoding, target)[0].text
        ours = canonical(_name(form), target)
        theirs = text.split()[0] if text else "nothing"
        if ours != theirs:
            yield Difference(SOURCE, target, _name(form), "printed", ours, theirs)


def cache_bit_differences(forms: Sequence[Form], target: str) -> Iterator[Difference]:
    """Cache bits that one side takes and the other does not. A form that must have a bit is not asked about it."""
    wrong = refused([form.line() for form in forms], target)
    asked = [
        (form, bit)
        for number, form in enumerate(forms)
        for bit in _CACHE_BITS
        if number not in wrong and bit not in form.modifiers.split() and not _makes_it_return(form, bit)
    ]
    messages = refused([_with_bit(form, bit) for form, bit in asked], target)
    for number, (form, bit) in enumerate(asked):
        ours, theirs = bit in scope_bits(form.definition, target), number not in messages
        if ours != theirs:
            yield Difference(SOURCE, target, _name(form), f"takes {bit}", _yes(ours), _yes(theirs))


def _makes_it_return(form: Form, bit: str) -> bool:
    # Then it is a line of the table's other form.
    return bit in ("sc0", "glc") and form.definition.access is Access.ATOMIC


def _with_bit(form: Form, bit: str) -> str:
    # The word for LDS comes last.
    line = form.line()
    return f"{line.removesuffix(' lds')} {bit} lds" if line.endswith(" lds") else f"{line} {bit}"


def operand_differences(forms: Sequence[Form], target: str, tried: Sequence[Candidate]) -> Iterator[Difference]:
    """Texts in an operand's place that one side takes and the other does not."""
    wrong = refused([form.line() for form in forms], target)
    good = [form for number, form in enumerate(forms) if number not in wrong]
    for answer in ask(good, target, tried):
        if answer.accepted is not None and answer.accepted != answer.expected:
            spec = answer.form.definition.operands[answer.index]
            subject = f"{spec.name} takes {answer.candidate.text}"
            yield Difference(
                SOURCE, target, _name(answer.form), subject, _yes(answer.expected), _yes(answer.accepted)
            )  # fmt: skip


def accepted_names(target: str) -> list[str]:
    """Every instruction name that LLVM's library holds and accepts on a target, suffixed and alias names included."""
    names = _all_names()
    messages = refused(names, target)
    return [name for number, name in enumerate(names) if "too few operands" in messages.get(number, "too few operands")]


def _all_names() -> list[str]:
    with find_library().open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
        start = library.find(bytes([len(_A_LONG_NAME)]) + _A_LONG_NAME)
        if start < 0:
            raise ValueError("this LLVM library keeps its instruction names in another way")
        names = {_A_LONG_NAME}
        at = start
        while name := _name_at(library, at):
            names.add(name)
            at += 1 + len(name)
        at = start
        while name := _name_before(library, at):
            names.add(name)
            at -= 1 + len(name)
    return sorted(name.decode() for name in names)


def _name_at(library: mmap.mmap, at: int) -> bytes:
    length = library[at]
    name = library[at + 1 : at + 1 + length]
    return name if _SHORTEST <= length <= _LONGEST and _NAME.fullmatch(name) else b""


def _name_before(library: mmap.mmap, at: int) -> bytes:
    for length in range(_SHORTEST, _LONGEST + 1):
        if library[at - 1 - length] == length and (name := _name_at(library, at - 1 - length)):
            return name
    return b""


def _name(form: Form) -> str:
    return form.definition.mnemonic + form.encoding.value


def _yes(value: bool) -> str:
    return "yes" if value else "no"
