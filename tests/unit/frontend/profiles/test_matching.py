"""Rows of profiles as instructions of shipped kernels, by address and by text, and profiles of other objects."""

import json

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.profiles.counts import Counts, Method, Profile, Row
from asmevo.frontend.profiles.matching import match_profile, match_profiles, normal_text
from asmevo.frontend.profiles.reading import read_profile
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_instruction
from profiles import STOCHASTIC, sample_row, sample_tree, table, trace_json, trace_rows
from support import EXAMPLES


def shipped(name):
    loaded = load_file(EXAMPLES / "kernels" / f"{name}.co")
    return recover(loaded), loaded.text.address


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "file").write_text(text)
        return read_profile(tmp_path / "file")

    return read


@pytest.mark.parametrize("name", ["vector_add", "softmax"])
@pytest.mark.parametrize("at_zero", [False, True])
def test_a_trace_is_matched_by_address(read, name, at_zero):
    kernel, address = shipped(name)
    instructions = list(kernel.instructions())
    profile = read(trace_json(trace_rows(instructions, 0 if at_zero else address)))
    found = match_profile(profile, kernel, address)
    assert found.method is Method.THREAD_TRACE
    assert [found.counts(i).hits for i in instructions] == list(range(1, len(instructions) + 1))
    assert [found.lost(i) for i in instructions[:2]] == [5, 10]
    assert sum(found.share(i) for i in instructions) == pytest.approx(1)
    assert (found.elsewhere, found.spread, found.undecoded) == (0, 0, 0)


def test_other_objects_rows_are_elsewhere(read):
    kernel, address = shipped("vector_add")
    other, other_address = shipped("softmax")
    rows = trace_rows(list(kernel.instructions()), address, group=2)
    rows += trace_rows(list(other.instructions()), other_address, group=3)
    found = match_profiles(read(trace_json(rows)), [kernel], address)["vector_add"]
    count, others = len(list(kernel.instructions())), len(list(other.instructions()))
    assert found.total.hits == count * (count + 1) / 2
    assert found.elsewhere == others * (others + 1) / 2


def test_code_before_and_behind_a_kernel_is_elsewhere():
    kernel, address = shipped("vector_add")
    inside = [i for i in kernel.instructions() if i.offset >= 0x100]
    cut = type(kernel)(kernel.name, kernel.target, kernel.blocks[2:], kernel.roots)
    rows = [Row(1, address + i.offset, print_instruction(i), Counts(hits=1)) for i in inside]
    rows += [Row(1, address + at, "v_other_b32 v0, v1", Counts(hits=1)) for at in (*range(0, 0x100, 4), 0x700, 0x704)]
    found = match_profile(Profile("p", Method.THREAD_TRACE, tuple(rows)), cut, address)
    assert (found.total.hits, found.elsewhere) == (len(inside), 66)


def test_samples_with_addresses_need_no_text(read):
    kernel, address = shipped("vector_add")
    first = [i for i in kernel.instructions() if i.mnemonic == "s_waitcnt"]
    samples = [(1, address + i.offset, "WAITCNT", -1) for i in first] + [(1, address + first[0].offset, None, -1)]
    found = match_profile(read(json.dumps(sample_tree(samples, []))), kernel, address)
    assert [found.lost(i) for i in first] == [1] * len(first)
    assert found.counts(first[0]) == Counts(samples=2, stalled=1, reasons={"waitcnt": 1})


def test_a_profile_of_another_object_is_refused(read):
    kernel, _ = shipped("vector_add")
    other, address = shipped("softmax")
    profile = read(trace_json(trace_rows(list(other.instructions()), address)))
    with pytest.raises(DiagnosticError) as caught:
        match_profile(profile, kernel, address)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0166"
    assert "of another object: at " in diagnostic.message


def test_a_profile_of_no_kernel_given_is_refused(read):
    kernel, address = shipped("vector_add")
    with pytest.raises(DiagnosticError, match="no row of the profile is of vector_add"):
        match_profiles(read(table(STOCHASTIC, [sample_row("v_other_b32 v0, v1")])), [kernel], address)


def test_samples_without_addresses_are_spread_over_equal_texts(read):
    kernel, _ = shipped("vector_add")
    waits = [i for i in kernel.instructions() if print_instruction(i) == "s_waitcnt vmcnt(0)"]
    add = next(i for i in kernel.instructions() if i.mnemonic.startswith("v_add_f32"))
    lines = [sample_row("s_waitcnt vmcnt(0)", reason="WAITCNT")] * 8 + [sample_row(add)] * 3
    lines += [sample_row("v_other_b32 v0, v1", 2)] * 5 + [sample_row(add, 2)]
    found = match_profile(read(table(STOCHASTIC, lines)), kernel, None)
    assert len(waits) == 4
    assert [found.lost(i) for i in waits] == [2.0] * 4
    assert found.counts(add).samples == 3
    # The second dispatch is another kernel's, though one text of it stands here too.
    assert (found.spread, found.elsewhere) == (8, 6)


def test_a_few_strange_samples_do_not_make_a_dispatch_another_kernels(read):
    kernel, _ = shipped("vector_add")
    lines = [sample_row("s_waitcnt vmcnt(0)")] * 96 + [sample_row("s_trap_handlers_own 1")] * 4
    found = match_profile(read(table(STOCHASTIC, lines)), kernel, None)
    assert (found.total.samples, found.elsewhere) == (96, 4)
    assert match_profile(read(table(STOCHASTIC, lines[1:] + lines[-3:])), kernel, None) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v_add_f32_e32 v2, v5, v10", "v_add_f32  v2,v5,v10 // 000274"),
        ("s_cbranch_execz L_0148", "s_cbranch_execz 2"),
        ("S_WAITCNT vmcnt(0)", "s_waitcnt vmcnt(0) ; a comment"),
        ("s_endpgm", "s_endpgm "),
    ],
)
def test_texts_of_other_disassemblers(one, other):
    assert normal_text(one) == normal_text(other)


def test_different_instructions_have_different_texts():
    kernel, _ = shipped("softmax")
    texts = {print_instruction(i) for i in kernel.instructions() if not i.mnemonic.startswith(("s_branch", "s_cbranch"))}
    assert len({normal_text(text) for text in texts}) == len(texts)
