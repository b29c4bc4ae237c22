"""Certificates as files: one for each proved window, confirmed by both solvers; other files are refused."""

from pathlib import Path

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.ir.kernel import Block, Kernel
from asmevo.verify.certificate_files import check_certificates, write_certificates
from windows import window

HEAD = "v_mul_lo_u32 v2, v0, v1\nv_add_u32_e32 v3, 3, v2\ns_cbranch_scc1 .end"
TAIL = "v_add_u32_e32 v2, v2, v3\nglobal_store_dword v1, v2, s[0:1]"
QUERY = "(set-logic QF_UFBV)\n(push 1)\n(declare-fun a () (_ BitVec 8))\n(assert (distinct a a))\n(check-sat)\n(pop 1)\n"


def kernel(head: str = HEAD, tail: str = TAIL) -> Kernel:
    blocks = (
        Block(".head", tuple(window(head)), (".end", ".tail")),
        Block(".tail", tuple(window(tail)), (".end",)),
        Block(".end", tuple(window("s_endpgm"))),
    )
    return Kernel("k", "gfx942", blocks, (".head",))


def test_each_window_has_a_file_that_both_solvers_confirm(tmp_path: Path) -> None:
    after = kernel(HEAD.replace("v0, v1", "v1, v0"), TAIL.replace("v2, v2, v3", "v2, v3, v2"))
    written = write_certificates(kernel(), after, tmp_path / "proof", 10.0)
    assert [path.name for path in written.files] == ["0000-head-0.smt2", "0001-tail-0.smt2"]
    assert written.missing == ()
    text = written.files[0].read_text()
    assert "; kernel k, gfx942" in text
    assert ";   v_mul_lo_u32 v2, v1, v0" in text
    for checked in check_certificates(tmp_path / "proof", 20.0):
        assert checked.holds
        assert checked.queries > 0
        assert checked.answers == {solver: ["unsat"] * checked.queries for solver in ("z3", "cvc5")}
        assert "holds" in str(checked)


def test_what_is_not_proved_is_named(tmp_path: Path) -> None:
    written = write_certificates(kernel(), kernel(HEAD.replace("v2, v0, v1", "v2, v0, v0")), tmp_path, 2.0)
    assert written.files == ()
    assert written.missing == (".head[0:1]",)


def test_a_folder_is_of_one_pair_of_kernels(tmp_path: Path) -> None:
    (tmp_path / "0000-old-0.smt2").write_text(QUERY)
    with pytest.raises(DiagnosticError, match="holds certificates already"):
        write_certificates(kernel(), kernel(), tmp_path, 1.0)


def test_a_certificate_that_does_not_hold_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "a.smt2").write_text(QUERY.replace("(distinct a a)", "(distinct a #x01)"))
    (checked,) = check_certificates(tmp_path, 20.0)
    assert checked.is_contradicted
    assert not checked.holds
    assert "is contradicted" in str(checked)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no commands",
        QUERY + "(echo \"unsat\")",
        QUERY.replace("(check-sat)", "(echo \"unsat\") ;(check-sat)"),
        QUERY.replace("QF_UFBV", "QF_BV"),
        QUERY + "(set-info :status unsat)",
        QUERY + ")",
        QUERY + "(",
        "(set-logic QF_UFBV)\n(reset)(check-sat)",
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.smt2").write_text(text)
    with pytest.raises(DiagnosticError) as error:
        list(check_certificates(tmp_path, 5.0))
    assert error.value.diagnostics[0].code == "E0522"


def test_text_that_solvers_refuse_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "a.smt2").write_text(QUERY.replace("distinct a a", "distinct a b"))
    (checked,) = check_certificates(tmp_path, 5.0)
    assert not checked.holds
    assert not checked.is_contradicted


def test_an_empty_folder_has_no_certificates(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(DiagnosticError, match="no certificate in"):
            list(check_certificates(folder, 5.0))
