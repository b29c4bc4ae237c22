from dataclasses import replace

import numpy as np
import pytest

from asmevo.backend.launch import Buffer, Dispatch, Fault, MetApart, RunResult
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.source import parse_source
from asmevo.verify.differential import compare
from asmevo.verify.verdict import Outcome

K0 = parse_source("top:\n s_endpgm\n", "k0.s")
CANDIDATE = parse_source("top:\n s_nop 0\n s_endpgm\n", "k1.s")
OUT = Buffer("out", np.zeros(16, np.uint8), writable=True, defined=False, dtype="f32")
LAUNCH = Dispatch("case", "k", (1, 1, 1), (64, 1, 1), b"", (), (OUT,))


def result(values=(1.0, 2.0, 3.0, 4.0), written=16, faults=(), approximate=False):
    data = np.frombuffer(np.array(values, np.float32).tobytes(), np.uint8)
    return RunResult((data,), (np.arange(16) < written,), {}, faults, 1, approximate, 0)


def fault(kind):
    return Fault(kind, "told", 3, 8, 1, 7)


def runner(before, after):
    def run(kernel, dispatch, seed):
        chosen = before if kernel is K0 else after
        return chosen(seed) if callable(chosen) else chosen

    return run


def judge(before, after, **options):
    return compare(K0, CANDIDATE, [LAUNCH], runner=runner(before, after), **options)


def test_equal_results_are_tested_and_say_on_what():
    verdict = judge(result(), result(approximate=True))
    assert verdict.outcome is Outcome.TESTED
    assert "case" in verdict.basis[0].detail
    assert "seeds 0, 1" in verdict.basis[0].detail
    assert len(verdict.basis[0].assumptions) == 2


def test_a_difference_names_the_element_and_both_values():
    verdict = judge(result(), result((1.0, 2.0, 3.5, 4.0)))
    assert verdict.outcome is Outcome.REFUTED
    example = verdict.counterexample
    assert (example.where, example.before.split()[0], example.after.split()[0]) == ("out+0xa", "3.0", "3.5")
    assert "element 2 of out" in example.detail


def test_signed_zero_and_nan_payloads_count():
    assert judge(result((0.0, 1, 1, 1)), result((-0.0, 1, 1, 1))).outcome is Outcome.REFUTED


def test_writing_fewer_or_more_bytes_is_refuted_even_with_equal_values():
    for written in (12, 16):
        verdict = judge(result(written=28 - written), result(written=written))
        assert verdict.outcome is Outcome.REFUTED
        assert "not written" in (verdict.counterexample.before, verdict.counterexample.after)


def test_bytes_that_nobody_wrote_do_not_count():
    assert judge(result(written=8), result((1.0, 2.0, 9.0, 9.0), written=8)).outcome is Outcome.TESTED


@pytest.mark.parametrize(
    ("kind", "original", "candidate"),
    [
        ("race", Outcome.ERROR, Outcome.REFUTED),
        ("out-of-bounds", Outcome.ERROR, Outcome.REFUTED),
        ("budget", Outcome.UNKNOWN, Outcome.UNKNOWN),
        ("unsupported", Outcome.UNSUPPORTED, Outcome.UNSUPPORTED),
    ],
)
def test_faults(kind, original, candidate):
    assert judge(result(faults=(fault(kind),)), result()).outcome is original
    assert judge(result(), result(faults=(fault(kind),))).outcome is candidate


def test_an_original_that_depends_on_wave_order_refutes_nothing():
    verdict = judge(lambda seed: result((1.0 + seed, 2, 3, 4)), result((1.0, 2, 3, 4)))
    assert verdict.outcome is Outcome.UNKNOWN
    assert not verdict.outcome.is_success


def test_nothing_run_is_unknown():
    assert compare(K0, CANDIDATE, []).outcome is Outcome.UNKNOWN
    assert judge(result(), result(), seeds=()).outcome is Outcome.UNKNOWN


def test_an_unknown_rule_is_refused():
    with pytest.raises(DiagnosticError, match="E0520"):
        judge(result(), result(), rule="close")


def test_element_types_unknown_to_the_launch_show_bytes():
    raw = replace(LAUNCH, buffers=(replace(OUT, dtype="u8"),))
    verdict = compare(K0, CANDIDATE, [raw], runner=runner(result(), result((1.0, 2.0, 3.0, 5.0))))
    assert verdict.counterexample.where == "out+0xe"


def test_only_the_candidates_waves_meeting_apart_is_undecided():
    apart = replace(result(), apart=MetApart((3, 5), (0x40, None)))
    assert judge(apart, apart).outcome is Outcome.TESTED
    verdict = judge(result(), apart)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "+0x40 and instruction 5" in verdict.reason
