import pytest

from asmevo.deploy.replacement import check_distinct, from_evidence, from_verdict
from asmevo.diagnostics import DiagnosticError
from asmevo.verify.verdict import Basis, Outcome, Verdict
from deployments import OBJECTS, changed, evidence_of

OLD = OBJECTS["softmax.co"]
NEW = changed(OLD)


def read(tmp_path, text):
    path = tmp_path / "new.co"
    path.write_bytes(NEW)
    if text is not None:
        (tmp_path / "new.co.evidence.json").write_text(text)
    return from_evidence(path, NEW)


def test_evidence_names_the_original_and_the_verdict(tmp_path):
    found = read(tmp_path, evidence_of(OLD, NEW))
    assert (found.verdict, found.cycles, found.basis) == ("proved", (100.0, 90.0), ({"method": "z3"},))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        "{",
        evidence_of(OLD, OLD),
        evidence_of(OLD, NEW, k0_sha256="abc"),
        evidence_of(OLD, NEW, steps=[]),
        evidence_of(OLD, NEW, steps=[{"verdict": "refuted", "basis": []}]),
        evidence_of(OLD, NEW, steps=[{"verdict": "unknown", "basis": []}]),
        evidence_of(OLD, NEW, steps=[{"verdict": "proved", "basis": 3}]),
        evidence_of(OLD, NEW, cycles=None),
    ],
)
def test_what_is_no_evidence_for_this_object_is_refused(tmp_path, text):
    with pytest.raises(DiagnosticError, match="E0901"):
        read(tmp_path, text)


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if not outcome.is_success])
def test_only_a_success_is_deployed(outcome):
    with pytest.raises(DiagnosticError, match="E0901"):
        from_verdict(OLD, NEW, "k", "gfx942", Verdict(outcome, (), reason="why"))


def test_a_success_keeps_its_basis():
    verdict = Verdict(Outcome.PROVED, (Basis("z3", Outcome.PROVED, "one window"),))
    assert from_verdict(OLD, NEW, "k", "gfx942", verdict).basis[0]["method"] == "z3"


def test_two_objects_cannot_take_one_place(tmp_path):
    first = read(tmp_path, evidence_of(OLD, NEW))
    second = from_verdict(OLD, OLD + b"\0", "k", "gfx942", Verdict(Outcome.PROVED))
    check_distinct([first, first])
    with pytest.raises(DiagnosticError, match="E0901"):
        check_distinct([first, second])
