from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.base import PassContext, PassResult
from asmevo.passes.manager import PassManager
from asmevo.passes.nop_trim import NopTrim
from asmevo.passes.pipeline import parse_pipeline

SOURCE = """k:
  s_waitcnt vmcnt(0)
  s_nop 3
  v_mov_b32_e32 v0, 0
  s_endpgm
"""


@dataclass(frozen=True, slots=True)
class Breaks:
    """Leaves a uid twice."""

    name: ClassVar[str] = "breaks"

    def run(self, kernel, ctx):
        block = kernel.blocks[0]
        broken = replace(block, instructions=(block.instructions[1], *block.instructions[1:]))
        return PassResult(True, replace(kernel, blocks=(broken, *kernel.blocks[1:])))


@dataclass(frozen=True, slots=True)
class Looks:
    """Changes nothing, and keeps the context it was given."""

    seen: list
    name: ClassVar[str] = "looks"

    def run(self, kernel, ctx):
        self.seen.append(ctx)
        ctx.stat("looks")
        ctx.stat("looks", 2)
        ctx.remark("nothing to do", missed=True)
        return ctx.finish()


def mnemonics(kernel):
    return [i.mnemonic for i in kernel.instructions()]


def test_passes_run_in_order_and_each_is_recorded():
    kernel = parse_source(SOURCE)
    result = PassManager(parse_pipeline("waitcnt-relax,nop-trim")).run(kernel)
    assert mnemonics(result.kernel) == ["v_mov_b32_e32", "s_endpgm"]
    assert [(r.pass_name, r.changed, r.kept) for r in result.runs] == [
        ("waitcnt-relax", True, True),
        ("nop-trim", True, True),
    ]
    assert mnemonics(result.runs[0].kernel) == ["s_nop", "v_mov_b32_e32", "s_endpgm"]
    assert result.runs[1].statistics == {"wait states removed": 4}
    assert mnemonics(kernel)[0] == "s_waitcnt", "the input is never touched"


def test_a_gate_that_refuses_drops_the_edits_of_that_pass_only():
    kernel = parse_source(SOURCE)
    asked = []

    def gate(before, after):
        asked.append((mnemonics(before), mnemonics(after)))
        return "s_waitcnt" in mnemonics(after)

    result = PassManager(parse_pipeline("waitcnt-relax,nop-trim"), gate=gate).run(kernel)
    assert mnemonics(result.kernel) == ["s_waitcnt", "v_mov_b32_e32", "s_endpgm"]
    assert [(r.changed, r.kept) for r in result.runs] == [(True, False), (True, True)]
    # The second pass starts from the kernel as it was before the refused edits.
    assert asked[1][0] == mnemonics(kernel)


def test_a_gate_is_not_asked_about_nothing():
    kernel = parse_source("k:\n  s_endpgm\n")
    result = PassManager(parse_pipeline("nop-trim"), gate=lambda *_: pytest.fail("asked")).run(kernel)
    assert result.kernel is kernel
    assert not result.changed


@pytest.mark.parametrize(("count", "names"), [(0, []), (1, ["waitcnt-relax"]), (5, ["waitcnt-relax", "nop-trim"])])
def test_stop_after(count, names):
    result = PassManager(parse_pipeline("waitcnt-relax,nop-trim"), stop_after=count).run(parse_source(SOURCE))
    assert [r.pass_name for r in result.runs] == names


def test_invalid_ir_is_the_pass_s_fault():
    with pytest.raises(DiagnosticError) as caught:
        PassManager([NopTrim(), Breaks()]).run(parse_source(SOURCE))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E0401"
    assert "'breaks'" in diagnostic.message
    assert "E0301" in diagnostic.message


def test_each_run_has_its_own_context_and_reports_as_it_ends():
    seen, reported = [], []
    kernel = parse_source(SOURCE)
    manager = PassManager([Looks(seen), Looks(seen)], executions={3: 7}, waves_per_simd=2, after_each=reported.append)
    result = manager.run(kernel)
    assert seen[0] is not seen[1]
    assert isinstance(seen[0], PassContext)
    assert (dict(seen[0].executions), seen[0].waves_per_simd) == ({3: 7}, 2)
    assert reported == list(result.runs)
    assert [dict(r.statistics) for r in reported] == [{"looks": 3}, {"looks": 3}]
    assert reported[0].remarks[0].missed
    assert not result.changed
    assert print_kernel(result.kernel) == print_kernel(kernel)
