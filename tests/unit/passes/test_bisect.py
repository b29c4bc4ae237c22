import pytest

from asmevo.frontend.parser import parse_source
from asmevo.ir.printer import print_kernel
from asmevo.passes.bisect import first_refused, reproducer
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline

SOURCE = "k:\n  s_waitcnt vmcnt(0)\n  s_nop 3\n  v_mov_b32_e32 v0, 0\n  s_endpgm\n"

PIPELINE = "list-schedule{min-share=100.0},waitcnt-relax,nop-trim,waitcnt-relax,dce"


@pytest.fixture(scope="module")
def runs():
    return PassManager(parse_pipeline(PIPELINE)).run(parse_source(SOURCE)).runs


def test_the_runs_are_as_the_cases_below_assume(runs):
    assert [run.kept for run in runs] == [False, True, True, False, True]


@pytest.mark.parametrize("bad", [1, 2, 4])
def test_the_first_pass_that_is_refused_is_found(runs, bad):
    refused = [run.kernel for run in runs[bad:]]
    assert first_refused(runs, lambda kernel: kernel not in refused) == bad


def test_nothing_is_blamed_when_the_last_result_is_accepted(runs):
    assert first_refused(runs, lambda kernel: True) is None
    assert first_refused(runs[:1], lambda kernel: False) is None


def test_few_results_are_judged(runs):
    asked = []
    assert first_refused(runs, lambda kernel: asked.append(kernel) is not None) == 1
    assert len(asked) <= 3


def test_a_reproducer_is_a_source_with_its_command(runs):
    text = reproducer(runs[1].kernel, parse_pipeline("nop-trim{physical=true}"), "smt")
    command, _, source = text.partition("\n")
    assert command == '; asmevo opt THIS_FILE --passes "nop-trim{physical=true}" --verify smt'
    assert print_kernel(parse_source(source)) == print_kernel(runs[1].kernel)
