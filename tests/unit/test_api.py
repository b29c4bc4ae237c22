import doctest
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import asmevo
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.analysis.dataflow.liveness import Liveness
from asmevo.report import notebook
from asmevo.verify.diff.kernels import Change, FieldChange, InstructionChange, KernelDiff
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict
from programs import kernel_of
from support import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
VECTOR_ADD = EXAMPLES / "kernels" / "vector_add.co"
SOFTMAX = EXAMPLES / "kernels" / "softmax.co"
LAUNCH = EXAMPLES / "launches" / "softmax.toml"


@pytest.fixture(scope="module")
def kernel():
    return asmevo.load(SOFTMAX).kernel()


@pytest.fixture(scope="module")
def changed(kernel):
    return kernel.passes("list-schedule,nop-trim")


def test_the_documented_examples_run_and_give_what_is_shown(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / "docs" / "api.md"), module_relative=False)
    assert failed == 0
    assert tried > 20


def test_importing_the_package_loads_none_of_it():
    code = (
        "import sys, asmevo; before = set(sys.modules); assert not {'llvmlite', 'z3', 'numpy', 'asmevo.api'} & before;"
        "assert callable(asmevo.load) and 'asmevo.api' in sys.modules; assert {'load', '__version__'} <= set(dir(asmevo))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        asmevo.lode  # noqa: B018


def test_analyses_are_computed_once(kernel):
    assert kernel.analysis(Liveness) is kernel.analysis(Liveness)


def test_a_pass_that_changes_nothing_gives_the_same_kernel():
    kernel = asmevo.load(VECTOR_ADD.read_bytes()).kernel()
    assert kernel.passes("nop-trim") is kernel
    assert kernel.to_bytes() == VECTOR_ADD.read_bytes()


def test_a_wrong_kernel_is_refuted_and_not_written(kernel, tmp_path):
    block = next(b for b in kernel.ir.blocks if any(i.mnemonic.startswith("s_waitcnt") for i in b.instructions))
    without = tuple(i for i in block.instructions if not i.mnemonic.startswith("s_waitcnt"))
    blocks = tuple(replace(b, instructions=without) if b is block else b for b in kernel.ir.blocks)
    wrong = kernel.with_ir(replace(kernel.ir, blocks=blocks))
    verdict = kernel.verify(wrong)
    assert verdict.outcome is Outcome.REFUTED
    assert "refuted" in verdict._repr_html_()
    with pytest.raises(DiagnosticError, match="E0521") as caught:
        wrong.save(tmp_path / "k.co")
    assert "not covered" in str(caught.value) or "refuted" in str(caught.value)
    assert not (tmp_path / "k.co").exists()
    assert wrong.save(tmp_path / "k.co", level="none").outcome is Outcome.UNKNOWN
    assert asmevo.load(tmp_path / "k.co").kernel().verify(kernel).outcome is not Outcome.IDENTICAL


def test_a_changed_descriptor_is_not_identical(kernel):
    descriptor = replace(kernel.ir.descriptor, group_segment_bytes=kernel.ir.descriptor.group_segment_bytes + 16)
    other = kernel.with_ir(replace(kernel.ir, descriptor=descriptor))
    assert kernel.verify(other).outcome is not Outcome.IDENTICAL


def test_a_difference_has_the_new_objects_offsets(kernel):
    *others, block = kernel.ir.blocks
    added = replace(kernel_of("a:\n s_nop 5\n s_endpgm").blocks[0].instructions[0], uid=10**6)
    blocks = (*others, replace(block, instructions=(added, *block.instructions)))
    difference = kernel.diff(kernel.with_ir(replace(kernel.ir, blocks=blocks)))
    (change,) = difference.instructions
    assert (change.change.value, change.old_offset, change.new_offset) == ("added", None, block.instructions[0].offset)
    assert '<td style="color:#1b6e2c">added</td>' in difference._repr_html_()
    assert "s_nop 5" in difference._repr_html_()


def test_every_kind_of_change_has_a_colour():
    every = KernelDiff("k", tuple(InstructionChange(kind, "s_nop 0", 0, 0) for kind in Change), (), 0)
    assert notebook.diff_html(every).count('<td style="color:') == len(Change)


def test_own_passes_are_run_as_objects(kernel):
    from asmevo.passes.pipeline import parse_pipeline

    text = "list-schedule,nop-trim"
    assert kernel.passes(parse_pipeline(text)).assembly() == kernel.passes(text).assembly()


def test_verify_with_a_launch_emulates(kernel, changed):
    verdict = kernel.verify(changed, LAUNCH, seeds=1)
    assert verdict.outcome is Outcome.PROVED
    assert "emulator" in [basis.method for basis in verdict.basis]
    assert kernel.verify(changed, level="static").outcome is Outcome.UNKNOWN
    assert kernel.verify(kernel).outcome is Outcome.IDENTICAL


def test_levels_are_checked(kernel, changed):
    for level in ("gpu", "emulate"):
        with pytest.raises(DiagnosticError, match="E0208"):
            kernel.verify(changed, level=level)


def test_dispatches_may_be_given_instead_of_a_file(kernel):
    from asmevo.verify.launch.dispatches import load_launches

    dispatches = load_launches(LAUNCH, kernel.ir)[2:3]
    assert list(kernel.emulate(dispatches, mode="fast")) == ["one column"]


def test_bad_input_is_a_diagnostic(tmp_path):
    (tmp_path / "no.co").write_bytes(b"nothing")
    with pytest.raises(DiagnosticError, match="E01"):
        asmevo.load(tmp_path / "no.co")


def test_nothing_found_is_not_written(kernel, tmp_path):
    from asmevo.search.records import Optimisation

    found = kernel.optimise(LAUNCH, attempts=1, budget_s=0.0)
    assert isinstance(found.record, Optimisation)
    if not found.record.steps:
        with pytest.raises(DiagnosticError, match="E0521"):
            found.save(tmp_path / "k.co")
        assert "nothing verified" in found._repr_html_()
    assert not list(tmp_path.iterdir())


BAD = '<script>alert("x")</script>\x1b[31m'


def test_fragments_escape_what_comes_from_objects():
    k = replace(kernel_of("a:\n s_nop 0\n s_endpgm"), name=BAD)
    k = replace(k, blocks=(replace(k.blocks[0], label=BAD, successors=(BAD,)),))
    verdict = Verdict(Outcome.REFUTED, (Basis(BAD, Outcome.REFUTED, BAD, (BAD,)),), Counterexample(BAD, BAD, BAD, BAD), BAD)
    diff = KernelDiff(BAD, (InstructionChange(Change.ADDED, BAD, None, 8),), (FieldChange("metadata", BAD, BAD, None),), 3)
    for text in (notebook.kernel_html(k), notebook.verdict_html(verdict), notebook.diff_html(diff)):
        assert "<script" not in text
        assert "\x1b" not in text
        assert "&lt;script&gt;" in text


def test_fragments_are_bounded():
    k = kernel_of("a:\n" + " s_nop 0\n" * 1000 + " s_endpgm")
    assert notebook.kernel_html(k).count("s_nop") == 200
    assert "... 801 more" in notebook.kernel_html(k)
    changes = tuple(InstructionChange(Change.MOVED, "s_nop 0", n, n + 4) for n in range(1000))
    assert notebook.diff_html(KernelDiff("k", changes, (), 0)).count("<tr>") == 201
