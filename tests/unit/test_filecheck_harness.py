"""The harness of tests/filecheck must refuse what it should: a test that cannot fail shows nothing."""

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).resolve().parents[1] / "filecheck" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("filecheck_harness", _PATH)
harness = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(harness)

RUN = '; RUN: asmevo opt %s --passes "nop-trim" | filecheck %s\n'
CODE = "k:\n  s_nop 3\n  v_mov_b32_e32 v0, 0\n  s_endpgm\n"


def check(tmp_path, text):
    path = tmp_path / "test.s"
    path.write_text(text)
    harness.check_file(path)


def test_a_good_file_passes(tmp_path):
    check(tmp_path, f"{RUN}; CHECK-LABEL: k:\n; CHECK-NEXT: v_mov_b32_e32 v0, 0\n{CODE}")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("; CHECK: s_endpgm\n", "no RUN line"),
        ("; RUN: asmevo opt %s\n; CHECK: s_endpgm\n", "without '| filecheck'"),
        ("; RUN: rm %s | filecheck %s\n; CHECK: s_endpgm\n", "starts with asmevo"),
        (RUN, "no check for the prefix CHECK"),
        (f"{RUN}; CHECK-NOT: s_barrier\n", "no check for the prefix CHECK"),
        (f"{RUN}; CHECK: s_endpgm\n; CHCEK: s_nop\n", "unknown directive: CHCEK"),
        (f"{RUN}; CHECK: s_endpgm\n; CHECK-NXT: s_nop\n", "unknown directive: CHECK-NXT"),
        (f"{RUN}; CHECK: s_endpgm\n; OTHER: s_nop\n", "unknown directive: OTHER"),
        (f"{RUN.strip()} --check-prefix=OTHER\n; CHECK: s_endpgm\n", "unknown directive: CHECK"),
        (f"{RUN}{RUN.strip()} --check-prefix=OTHER\n; CHECK: s_endpgm\n", "no check for the prefix OTHER"),
    ],
)
def test_a_file_that_checks_nothing_is_refused(tmp_path, head, message):
    with pytest.raises(harness.CheckFailure, match=message):
        check(tmp_path, head + CODE)


@pytest.mark.parametrize(
    "checks",
    [
        "; CHECK: s_nop 3\n",
        "; CHECK-LABEL: k:\n; CHECK-NEXT: s_endpgm\n",
        "; CHECK: s_endpgm\n; CHECK: v_mov_b32_e32\n",
        "; CHECK: k:\n; CHECK-NOT: v_mov_b32_e32\n; CHECK: s_endpgm\n",
    ],
)
def test_wrong_output_fails_and_is_shown(tmp_path, checks):
    with pytest.raises(harness.CheckFailure, match=r"output:(.|\n)*s_endpgm"):
        check(tmp_path, RUN + checks + CODE)


@pytest.mark.parametrize(
    ("line", "code"), [("; EXIT: 2\n", CODE), ("", CODE.replace("v_mov", "v_mvo")), ("; EXIT: 1\n", "k:\n")]
)
def test_another_exit_code_fails(tmp_path, line, code):
    with pytest.raises(harness.CheckFailure, match="exit "):
        check(tmp_path, f"{RUN}{line}; CHECK: s_endpgm\n{code}")


def test_standard_error_is_checked_only_when_asked_for(tmp_path):
    checks = "; EXIT: 2\n; CHECK: E0122\n"
    bad = CODE.replace("v_mov", "v_mvo")
    check(tmp_path, RUN.replace("|", "2>&1 |") + checks + bad)
    with pytest.raises(harness.CheckFailure):
        check(tmp_path, RUN + checks + bad)


def test_pytest_shows_the_failure_and_not_its_own_frames(tmp_path, monkeypatch):
    path = tmp_path / "wrong.s"
    path.write_text(f"{RUN}; CHECK: no such thing\n{CODE}")
    reports = []

    class Collects:
        def pytest_runtest_logreport(self, report):
            reports.append(report)

        pytest_collect_file = staticmethod(harness.pytest_collect_file)

    monkeypatch.chdir(tmp_path)
    code = pytest.main(["-p", "no:cacheprovider", "-p", "no:terminal", str(path)], plugins=[Collects()])
    failed = [r for r in reports if r.failed]
    assert code == 1
    assert len(failed) == 1
    assert "no such thing" in str(failed[0].longrepr)
    assert "Traceback" not in str(failed[0].longrepr)
