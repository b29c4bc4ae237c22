"""verify with certificates, in several processes, and with proofs of earlier runs."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from support import EXAMPLES

SOFTMAX = EXAMPLES / "kernels" / "softmax.co"
QUERY = "(set-logic QF_UFBV)\n(push 1)\n(declare-fun a () (_ BitVec 8))\n(assert (distinct a {}))\n(check-sat)\n(pop 1)\n"


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("changed") / "new.co"
    run("opt", SOFTMAX, "--passes", "list-schedule", "--verify", "static", "-o", out)
    return out


def test_certificates_are_written_and_hold(changed: Path, tmp_path: Path) -> None:
    said = run("verify", SOFTMAX, changed, "--certificates", tmp_path / "proof", "--no-proof-cache", "--jobs", "1")
    count = len(list((tmp_path / "proof").glob("*.smt2")))
    assert f"{count} certificates written" in said
    assert count > 0
    assert f"{count} of {count} certificates hold" in run("verify", "--check-certificates", tmp_path / "proof")
    rows = json.loads(run("verify", "--check-certificates", tmp_path / "proof", "--format", "json"))
    assert all(row["holds"] for row in rows)


def test_a_wrong_certificate_is_an_answer_of_no(tmp_path: Path) -> None:
    (tmp_path / "a.smt2").write_text(QUERY.format("a"))
    run("verify", "--check-certificates", tmp_path)
    (tmp_path / "b.smt2").write_text(QUERY.format("#x01"))
    assert "b.smt2: is contradicted" in run("verify", "--check-certificates", tmp_path, code=1)


def test_a_certificate_that_no_solver_can_read_is_not_decided(tmp_path: Path) -> None:
    (tmp_path / "a.smt2").write_text(QUERY.format("b"))
    assert "a.smt2: is not decided" in run("verify", "--check-certificates", tmp_path, code=3)


def test_what_is_asked_for_must_fit(tmp_path: Path, changed: Path) -> None:
    assert "E0522" in run("verify", "--check-certificates", tmp_path, code=2)
    assert "E0208" in run("verify", SOFTMAX, changed, "--check-certificates", tmp_path, code=2)
    assert "E0208" in run("verify", SOFTMAX, code=2)


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("v_exp_f32_e32 v0, v0", "v_log_f32_e32 v0, v0", 1, "v0 lane"),
        ("ds_write_b32 v12, v4", "ds_write_b32 v12, v4 offset:1", 1, "misaligned at"),
        ("v_mul_f32_e32 v15, v13, v11", "v_mul_f32_e32 v15, v11, v13", 3, "float operands stand in another order"),
        ("s_barrier", "s_nop 0", 3, "equal for one wave alone"),
    ],
)
def test_an_edit_by_hand_gets_an_answer_that_says_why(tmp_path: Path, old: str, new: str, code: int, said: str) -> None:
    listing, made = tmp_path / "k.s", tmp_path / "k.co"
    run("disasm", SOFTMAX, "-o", listing)
    text = listing.read_text()
    assert f"\t{old}\n" in text
    listing.write_text(text.replace(f"\t{old}\n", f"\t{new}\n", 1))
    run("asm", listing, "--like", SOFTMAX, "-o", made)
    answer = run("verify", SOFTMAX, made, "--level", "smt", "--no-proof-cache", "--jobs", "1", code=code)
    assert said in answer
    assert ("help: nothing was proved" in answer) == (code == 3)
