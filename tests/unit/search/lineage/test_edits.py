"""An edit as data makes the same kernel of its parent again; what is no edit of it is refused."""

import json

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.search.lineage import edits
from support import EXAMPLES

SOURCE = """
k:
  v_mov_b32_e32 v9, v1
  global_load_dword v2, v1, s[2:3]
  global_load_dword v3, v1, s[2:3] offset:4
  s_waitcnt vmcnt(0)
  v_mul_f32_e32 v4, v1, v1
  v_add_f32_e32 v4, v2, v4
  v_add_f32_e32 v4, v3, v4
  s_cbranch_scc1 end
more:
  v_add_f32_e32 v4, v3, v4
end:
  global_store_dword v1, v4, s[4:5]
  s_endpgm
"""


@pytest.mark.parametrize("pipeline", ["dce", "waitcnt-insert", "dce,waitcnt-insert,list-schedule", ""])
def test_there_and_back(pipeline):
    parent = parse_source(SOURCE)
    child = PassManager(parse_pipeline(pipeline)).run(parent).kernel
    edit = json.loads(json.dumps(edits.encoded(parent, child)))
    again = edits.applied(parent, edit)
    assert print_kernel(again) == print_kernel(child)
    assert [i.uid for i in again.instructions()] == [i.uid for i in child.instructions()]
    assert set(edit["blocks"]) == {b.label for b, c in zip(parent.blocks, child.blocks, strict=True) if b != c}


def test_it_can_be_read():
    parent = parse_source(SOURCE)
    child = PassManager(parse_pipeline("waitcnt-insert")).run(parent).kernel
    text = list(edits.edited_text(edits.encoded(parent, child)))
    assert text[0] == "k:"
    assert "  s_waitcnt vmcnt(1)" in text
    assert "  ... 4 as before, in this order" in text


@pytest.mark.parametrize(
    "edit",
    [
        None,
        [],
        {},
        {"form": 3, "blocks": {}},
        {"form": 1},
        {"form": 1, "blocks": []},
        {"form": 1, "blocks": {"elsewhere": []}},
        {"form": 1, "blocks": {"k": 7}},
        {"form": 1, "blocks": {"k": [4711]}},
        {"form": 1, "blocks": {"k": [["0", "s_nop 0"]]}},
        {"form": 1, "blocks": {"k": [[0, "s_nope"]]}},
        {"form": 1, "blocks": {"k": [[0]]}},
    ],
)
def test_what_is_no_edit_of_it(edit):
    with pytest.raises(DiagnosticError) as caught:
        edits.applied(parse_source(SOURCE), edit)
    assert caught.value.diagnostics[0].code == "E0803"


def declared():
    from asmevo.backend.resources import with_resources
    from asmevo.frontend.codeobject import load_file
    from asmevo.frontend.recover import recover

    parent = recover(load_file(EXAMPLES / "kernels" / "attention_fwd.co"))
    return parent, with_resources(parent, lds_bytes=parent.descriptor.group_segment_bytes + 512)


def test_what_is_declared_goes_there_and_back():
    parent, child = declared()
    edit = json.loads(json.dumps(edits.encoded(parent, child)))
    assert edit["blocks"] == {}
    assert edits.applied(parent, edit) == child
    assert any("group_segment_bytes" in line for line in edits.edited_text(edit))


@pytest.mark.parametrize(
    "declares",
    [
        [],
        {"descriptor": 7},
        {"descriptor": "zz" * 64},
        {"descriptor": "00"},
        {"metadata": []},
        {"metadata": {"symbol": 1}},
        {"metadata": {"vgpr_count": "9"}},
        {"metadata": {"vgpr_count": True}},
    ],
)
def test_declarations_that_are_none(declares):
    parent, _ = declared()
    with pytest.raises(DiagnosticError) as caught:
        edits.applied(parent, {"form": 2, "blocks": {}, "declares": declares})
    assert caught.value.diagnostics[0].code == "E0803"


def test_no_edit_says_more_than_it_can():
    from dataclasses import replace

    parent, child = declared()
    others = (
        replace(child, metadata=None),
        replace(child, descriptor=None),
        replace(child, metadata=replace(child.metadata, symbol="other")),
        replace(child, descriptor=replace(child.descriptor, rsrc1=0)),
        replace(child, blocks=child.blocks[1:]),
    )
    for other in others:
        with pytest.raises(DiagnosticError) as caught:
            edits.encoded(parent, other)
        assert caught.value.diagnostics[0].code == "E0803"


def test_an_edit_of_the_first_form_means_what_it_did():
    parent = parse_source(SOURCE)
    edit = edits.encoded(parent, PassManager(parse_pipeline("waitcnt-insert")).run(parent).kernel)
    assert edits.applied(parent, {**edit, "form": 1}) == edits.applied(parent, edit)
