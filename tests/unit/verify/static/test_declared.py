"""A smaller declaration is accepted exactly where the code surely has enough."""

from dataclasses import replace

import pytest

from asmevo.backend.resources import granted_by, with_resources
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.analysis.cost.reach import Reach
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from asmevo.verify.diff.objects import kernels_only_differ
from asmevo.verify.judge import Judge, Level
from asmevo.verify.static.declared import check_declared, declares_less, is_only_lowered, is_only_raised
from asmevo.verify.verdict import Outcome
from support import EXAMPLES

PATH = EXAMPLES / "kernels" / "softmax.co"


@pytest.fixture(scope="module")
def kernel():
    """The shipped softmax, made to ask for far more than it needs."""
    return with_resources(recover(load_file(PATH)), vgprs=256, agprs=256, lds_bytes=65536)


@pytest.fixture(scope="module")
def trimmed(kernel):
    result = PassManager(parse_pipeline("resource-trim{always=true}")).run(kernel)
    assert result.changed
    return result.kernel


def test_what_the_code_reaches_is_enough(kernel, trimmed):
    reach = AnalysisManager(kernel).get(Reach)
    given = granted_by(trimmed.descriptor)
    assert given.vgprs >= reach.vgprs
    assert reach.lds_bytes <= given.lds_bytes < 65536
    assert declares_less(kernel, trimmed)
    assert is_only_lowered(kernel, trimmed)
    assert check_declared(kernel, trimmed) == []


def test_a_second_run_changes_nothing(trimmed):
    assert not PassManager(parse_pipeline("resource-trim{always=true}")).run(trimmed).changed


def test_nothing_is_trimmed_where_no_more_waves_fit_by_it(kernel):
    one = with_resources(recover(load_file(PATH)), lds_bytes=4096)
    result = PassManager(parse_pipeline("resource-trim")).run(one)
    assert not result.changed
    assert "no more waves fit" in result.runs[0].remarks[-1].message


def test_the_judge_proves_it_and_says_on_what(kernel, trimmed):
    verdict = Judge(Level.SMT)(kernel, trimmed)
    assert verdict.outcome is Outcome.PROVED
    assert "static resources" in [basis.method for basis in verdict.basis]


def test_the_rebuilt_object_differs_in_nothing_else(kernel, trimmed):
    old = load(rebuild(load_file(PATH), kernel), "old.co")
    new = load(rebuild(old, trimmed), "new.co")
    kernels_only_differ(old, recover(old), new, recover(new))


def test_too_little_lds_is_refused(kernel):
    most = AnalysisManager(kernel).get(Reach).lds_bytes
    assert most
    short = with_resources(kernel, lds_bytes=most - 1)
    assert [finding.code for finding in check_declared(kernel, short)] == ["E0511"]
    assert Judge(Level.SMT)(kernel, short).outcome is Outcome.REFUTED


def test_too_few_registers_are_refused(kernel, trimmed):
    descriptor = replace(trimmed.descriptor, rsrc1=trimmed.descriptor.rsrc1 & ~0x3F, rsrc3=trimmed.descriptor.rsrc3 & ~0x3F)
    short = replace(trimmed, descriptor=descriptor)
    assert {finding.code for finding in check_declared(kernel, short)} == {"E0511"}
    assert Judge(Level.SMT)(kernel, short).outcome is Outcome.REFUTED


def test_more_than_before_and_other_fields_are_not_only_lowered(kernel, trimmed):
    assert not is_only_lowered(trimmed, kernel)
    assert not is_only_lowered(kernel, with_resources(trimmed, sgprs=100))
    old = load(rebuild(load_file(PATH), trimmed), "old.co")
    new = load(rebuild(old, kernel), "new.co")
    with pytest.raises(DiagnosticError, match="E0505"):
        kernels_only_differ(old, recover(old), new, recover(new))


def test_a_lowered_object_with_another_change_is_refused(kernel, trimmed):
    old = load(rebuild(load_file(PATH), kernel), "old.co")
    data = bytearray(rebuild(old, trimmed))
    data[0x94] ^= 1
    new = load(bytes(data), "new.co")
    with pytest.raises(DiagnosticError, match="E0505"):
        kernels_only_differ(old, recover(old), new, recover(new))


REDUCE = EXAMPLES / "kernels" / "reduce_sum.co"


@pytest.fixture(scope="module")
def small():
    """A shipped kernel that is given 8 vector registers."""
    return recover(load_file(REDUCE))


def test_more_registers_are_accepted_where_as_many_waves_fit(small):
    raised = with_resources(small, vgprs=24, agprs=0, sgprs=40)
    assert is_only_raised(small, raised)
    assert Judge(Level.SMT)(small, raised).outcome.is_success
    old = load_file(REDUCE)
    new = load(rebuild(old, raised), "new.co")
    kernels_only_differ(old, recover(old), new, recover(new))


def test_more_registers_that_cost_a_wave_are_refused(small):
    raised = with_resources(small, vgprs=72, agprs=0)
    assert not is_only_raised(small, raised)
    assert not Judge(Level.SMT)(small, raised).outcome.is_success


@pytest.mark.parametrize("more", [{"lds_bytes": 8192}, {"scratch_bytes": 16}])
def test_more_of_anything_else_is_refused(small, more):
    assert not is_only_raised(small, with_resources(small, vgprs=24, agprs=0, **more))


def test_a_raised_descriptor_with_old_metadata_is_refused(small):
    raised = with_resources(small, vgprs=24, agprs=0)
    assert not is_only_raised(small, replace(raised, metadata=small.metadata))
    assert not is_only_raised(small, small)
