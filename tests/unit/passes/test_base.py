from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.passes.base import KernelPass, OptionInfo, PassContext, option, options_of
from asmevo.passes.registry import available_passes


@dataclass(frozen=True, slots=True)
class Sample:
    """A pass with every kind of option."""

    name: ClassVar[str] = "sample"
    max_distance: int = option(64, help="instructions looked at", unit="instructions", ge=1, le=100)
    only_loops: bool = option(False, help="leave other code alone")
    kind: str = option("near", help="what is looked for")
    hidden: int = 3

    def run(self, kernel, ctx):
        return ctx.finish()


def test_options_are_the_option_fields_in_order_in_kebab_case():
    assert options_of(Sample) == (
        OptionInfo("max-distance", int, 64, "instructions looked at", "instructions", 1, 100),
        OptionInfo("only-loops", bool, False, "leave other code alone"),
        OptionInfo("kind", str, "near", "what is looked for"),
    )


def test_shipped_passes_follow_the_protocol():
    assert isinstance(Sample(), KernelPass)
    for kind in available_passes().values():
        assert isinstance(kind(), KernelPass)


@pytest.fixture
def context():
    return PassContext("sample", parse_source("k:\n  s_nop 1\n  v_mov_b32_e32 v0, 0\n  s_endpgm\n"))


def test_a_context_without_edits_gives_the_kernel_itself(context):
    result = context.finish()
    assert result.kernel is context.kernel
    assert not result.changed


def test_edits_that_come_to_nothing_are_no_change(context):
    block = context.kernel.blocks[0]
    context.rewriter.replace_block_instructions("k", block.instructions[1:])
    context.rewriter.replace_block_instructions("k", block.instructions)
    assert not context.finish().changed


def test_edits_are_in_the_result_and_not_in_the_analyses(context):
    before = context.analysis(Liveness)
    context.rewriter.erase(0)
    result = context.finish()
    assert result.changed
    assert [i.uid for i in result.kernel.instructions()] == [1, 2]
    assert context.analysis(Liveness) is before


def test_remarks_name_the_pass_and_keep_their_order(context):
    span = context.kernel.blocks[0].instructions[0].span
    context.remark("did it", span)
    context.remark("left it", missed=True)
    assert [(r.pass_name, r.message, r.span, r.missed) for r in context.remarks] == [
        ("sample", "did it", span, False),
        ("sample", "left it", None, True),
    ]


def test_a_pass_is_frozen():
    with pytest.raises(AttributeError):
        Sample().max_distance = 1
    assert replace(Sample(), max_distance=2).max_distance == 2
