import pytest

from asmevo.frontend.parser import parse_source
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import names_preset, parse_pipeline
from asmevo.passes.sparing import without_refused

SOURCE = "k:\n  s_waitcnt vmcnt(0)\n  s_nop 3\n  v_mov_b32_e32 v0, 0\n  s_endpgm\n"
PASSES = parse_pipeline("waitcnt-relax,nop-trim,waitcnt-relax,dce")
"""The first takes the wait out, the second the nop, the last the move; the third finds nothing."""


def spared(refusal):
    kernel = parse_source(SOURCE)

    def again(passes):
        return PassManager(passes).run(kernel)

    return without_refused(again(PASSES), PASSES, again, refusal)


def lacks(*mnemonics):
    """Refuses a kernel that lacks one of these, by its name."""

    def refusal(kernel):
        have = {i.mnemonic for i in kernel.instructions()}
        return next((f"no {name}" for name in mnemonics if name not in have), None)

    return refusal


def names(kernel):
    return [i.mnemonic for i in kernel.instructions()]


def test_nothing_is_left_out_when_nothing_is_refused():
    found = spared(lambda kernel: None)
    assert found.dropped == ()
    assert found.passes == PASSES
    assert names(found.result.kernel) == ["s_endpgm"]


def test_the_refused_pass_is_left_out_and_the_others_are_kept():
    found = spared(lacks("s_nop"))
    assert [(one.position, one.item.name, one.reason) for one in found.dropped] == [(1, "nop-trim", "no s_nop")]
    assert names(found.result.kernel) == ["s_nop", "s_endpgm"]
    assert [item.name for item in found.passes] == ["waitcnt-relax", "waitcnt-relax", "dce"]


def test_several_passes_are_left_out_and_keep_their_positions():
    found = spared(lacks("s_nop", "v_mov_b32_e32"))
    assert sorted(one.position for one in found.dropped) == [1, 3]
    assert names(found.result.kernel) == ["s_nop", "v_mov_b32_e32", "s_endpgm"]


def test_with_every_change_refused_the_original_is_left():
    found = spared(lambda kernel: "changed" if names(kernel) != names(parse_source(SOURCE)) else None)
    assert names(found.result.kernel) == names(parse_source(SOURCE))
    assert not found.result.changed


def test_a_kernel_is_judged_once_a_run():
    asked = []

    def refusal(kernel):
        asked.append(kernel)
        return None

    spared(refusal)
    assert len(asked) == 1


@pytest.mark.parametrize(("text", "is_one"), [("O2", True), ("dce, O1", True), ("nop-trim{physical=true}", False), ("", False)])
def test_a_preset_in_the_text_is_seen(text, is_one):
    assert names_preset(text) is is_one
