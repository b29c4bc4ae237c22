"""Subjects, findings, views, batch reports and SARIF."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from asmevo.diagnostics import Severity
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.finding import Finding
from asmevo.ir.kernel import Kernel
from asmevo.report import batch
from asmevo.report.batch import FileReport, Wanted, report_file, report_kernels
from asmevo.report.explanations import explanation, hint, meanings
from asmevo.report.findings import concise_line, full_lines, grouped, reaches
from asmevo.report.sarif import sarif_log, sarif_result
from asmevo.report.subject import Subject
from asmevo.report.views.registry import VIEWS
from programs import kernel_of
from support import EXAMPLES, SHIPPED

KERNELS = EXAMPLES / "kernels"
HOSTILE = "<script>alert('x')</script>\x1b[31m"


def placed(kernel: Kernel) -> Kernel:
    """The kernel with offsets four bytes apart, as in an object."""
    at = 0
    blocks = []
    for block in kernel.blocks:
        moved = tuple(replace(i, offset=at + 4 * n) for n, i in enumerate(block.instructions))
        at += 4 * len(moved)
        blocks.append(replace(block, instructions=moved))
    return replace(kernel, blocks=tuple(blocks))


def subject(text: str) -> Subject:
    return Subject("k.co", placed(kernel_of(text)))


MISSING = "global_load_dword v1, v0, s[0:1]\nv_add_u32_e32 v2, v1, v1\nglobal_store_dword v0, v2, s[0:1]\ns_endpgm"
LOOP = """
s_mov_b32 s4, 0
top:
v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], v[0:15]
v_mfma_f32_32x32x8_f16 v[0:15], v[40:41], v[42:43], v[0:15]
s_waitcnt vmcnt(0)
s_nop 3
s_add_u32 s4, s4, 1
s_cmp_lt_u32 s4, 8
s_cbranch_scc1 top
end:
s_endpgm
"""


def codes(one: Subject) -> list[str]:
    return [finding.code for finding in one.findings]


def test_the_worst_stands_first() -> None:
    one = subject(MISSING)
    assert (one.findings[0].code, one.findings[0].severity) == ("E0501", Severity.ERROR)
    assert one.worst() is Severity.ERROR


def test_what_is_in_excess_is_a_note() -> None:
    one = subject(LOOP)
    assert {"E0530", "E0531"} <= set(codes(one))
    assert one.worst() is Severity.NOTE


def test_a_wait_that_is_needed_is_no_note() -> None:
    text = MISSING.replace("v_add_u32", "s_waitcnt vmcnt(0)\nv_add_u32", 1)
    assert "E0530" not in codes(subject(text))
    assert "E0501" not in codes(subject(text))


def test_dead_results_and_unreached_blocks() -> None:
    found = codes(subject("v_mov_b32_e32 v5, 1\ns_branch end\nlost:\nv_mov_b32_e32 v1, 1\nend:\ns_endpgm"))
    assert found.count("E0534") == 1
    assert found.count("E0535") == 1


def test_padding_that_no_path_reaches_is_not_told() -> None:
    assert "E0535" not in codes(subject("s_branch end\nlost:\ns_nop 0\ns_nop 0\nend:\ns_endpgm"))


def test_bank_conflicts() -> None:
    def found(stride: int) -> list[str]:
        descriptor = recover(load_file(KERNELS / "softmax.co")).descriptor
        kernel = kernel_of(
            f"v_and_b32_e32 v2, 63, v0\ns_movk_i32 s8, {stride}\nv_mul_lo_u32 v1, v2, s8\nds_read_b32 v3, v1\ns_endpgm"
        )
        return codes(Subject("k", placed(replace(kernel, descriptor=descriptor))))

    assert "E0532" in found(128)
    assert "E0532" not in found(132)


def test_what_nothing_wrote_is_not_counted_as_live() -> None:
    one = subject("v_mov_b32_e32 v9, 1\nv_add_u32_e32 v8, v9, v9\nglobal_store_dword v0, v8, s[0:1]\ns_endpgm")
    lines = [line for block in VIEWS["listing"].data(one).blocks for line in block.lines]
    assert [line.vgpr for line in lines] == [2, 2, 0, 0]


def test_an_irreducible_cycle() -> None:
    text = "s_cbranch_scc0 b\na:\ns_nop 0\nb:\ns_cbranch_scc1 a\nend:\ns_endpgm"
    assert "E0538" in codes(subject(text))


def test_findings_of_one_kind_are_one_group() -> None:
    groups = grouped(subject(LOOP + LOOP.replace("top", "again").replace("end:", "last:")).findings)
    assert len({(g.code, g.severity, g.rule) for g in groups}) == len(groups)
    shown = full_lines("k.co", groups[0])
    assert any("--all shows each" in line for line in shown) == (len(groups[0].findings) > 1)
    assert len(full_lines("k.co", groups[0], every=True)) >= len(shown) - 1


def test_a_finding_in_full_and_in_one_line() -> None:
    one = subject(MISSING)
    (group,) = [g for g in grouped(one.findings) if g.code == "E0501"]
    text = "\n".join(full_lines("k.co", group))
    assert text.startswith("error[E0501]: v_add_u32")
    assert " --> k.co +0x4, in block entry" in text
    assert "+0x0  global_load_dword v1, v0, s[0:1]" in text
    assert "help: put the wait" in text
    assert concise_line("k.co", group.findings[0]).startswith("k.co+0x4: error[E0501]: ")


@pytest.mark.parametrize(
    ("worst", "level", "answer"),
    [
        (Severity.ERROR, Severity.ERROR, True),
        (Severity.WARNING, Severity.ERROR, False),
        (Severity.WARNING, Severity.NOTE, True),
        (Severity.NOTE, None, False),
        (None, Severity.NOTE, False),
    ],
)
def test_levels(worst: Severity | None, level: Severity | None, answer: bool) -> None:
    assert reaches(worst, level) is answer


def test_control_characters_reach_no_terminal() -> None:
    one = Subject(HOSTILE, placed(replace(kernel_of(MISSING), name=HOSTILE)))
    views = [line for view in VIEWS.values() for line in view.lines(view.data(one))]
    found = [line for group in grouped(one.findings) for line in full_lines(one.file, group)]
    text = report_kernels(HOSTILE, [one.kernel], Wanted(views=tuple(VIEWS))).text
    for line in (*views, *found, *text, concise_line(one.file, one.findings[0])):
        assert line.isprintable() or not line, line


@pytest.mark.parametrize("name", ["softmax", "matmul_fp16"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_of_a_shipped_kernel(name: str, view: str) -> None:
    one = Subject(name, recover(load_file(KERNELS / f"{name}.co")))
    data = VIEWS[view].data(one)
    json.dumps(asdict(data))
    assert VIEWS[view].lines(data)
    assert len(VIEWS[view].lines(data, most=5)) <= len(VIEWS[view].lines(data)) + 2


def test_the_views_say_what_is_so() -> None:
    one = subject(LOOP)
    loops = VIEWS["loops"].data(one).loops
    assert [(loop.header, loop.trips, loop.instructions) for loop in loops] == [("top", 8, 7)]
    (wait,) = VIEWS["waits"].data(one).waits
    assert (wait.wait, wait.enough, wait.depth) == ("vmcnt(0)", "none", 1)
    (nop,) = VIEWS["hazards"].data(one).nops
    assert (nop.states, nop.needed_llvm) == (4, 0)
    lines = [line for block in VIEWS["listing"].data(one).blocks for line in block.lines]
    # The accumulator alone: nothing wrote v40 to v43.
    assert lines[1].vgpr == 16
    (round_,) = VIEWS["timeline"].data(one).rounds
    assert [issue.at for issue in round_.issues] == sorted(issue.at for issue in round_.issues)
    assert [edge.target for edge in VIEWS["cfg"].data(one).nodes[1].edges if edge.back] == ["top"]


def test_the_timeline_adds_up_to_the_estimate() -> None:
    one = Subject("k", recover(load_file(KERNELS / "matmul_fp16.co")))
    for round_ in VIEWS["timeline"].data(one).rounds:
        loop = next(v for v in VIEWS["loops"].data(one).loops if v.header == round_.header)
        if loop.blocks == 1:
            assert round_.cycles == pytest.approx(loop.cycles, rel=0.02, abs=20)


def test_arguments_of_a_shipped_kernel() -> None:
    found = VIEWS["arguments"].data(Subject("k", recover(load_file(KERNELS / "vector_add.co"))))
    assert found.arguments
    assert any(argument.slots for argument in found.arguments)


def test_a_report_of_a_file() -> None:
    report = report_file(str(KERNELS / "softmax.co"), Wanted(data=True, sarif=True))
    assert (report.kernels, report.refusal, report.bug) == (1, "", "")
    assert report.instructions == 540
    assert sum(report.codes.values()) == sum(report.counts.values()) == len(report.results)
    json.dumps(report.data)


def test_a_report_of_what_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "x.co"
    path.write_bytes(b"nothing of the kind")
    report = report_file(str(path), Wanted())
    assert "E0101" in report.refusal
    assert not report.bug


def test_a_fault_of_ours_is_kept_with_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> FileReport:
        raise RuntimeError("seven")

    monkeypatch.setattr(batch, "report_kernels", broken)
    assert "RuntimeError: seven" in report_file(str(KERNELS / "softmax.co"), Wanted()).bug


def test_every_code_has_a_meaning_and_every_finding_an_explanation() -> None:
    found = {finding.code for text in (MISSING, LOOP) for finding in subject(text).findings}
    assert found <= set(meanings())
    for code in found:
        assert hint(code)
        assert explanation(code)
    assert explanation("E9999") is None
    assert explanation("E0101") == f"E0101: {meanings()['E0101']}"


def test_every_finding_documented_is_a_code() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "findings.md").read_text(encoding="utf-8")
    listed = re.findall(r"^## (E0\d{3}): ", text, re.MULTILINE)
    assert listed == sorted(set(listed))
    for code in listed:
        assert code in meanings()
        assert hint(code), code


# The required parts of SARIF 2.1.0, by section of the specification.
def check_sarif(log: dict[str, object]) -> None:
    assert log["version"] == "2.1.0"  # 3.13.2
    runs = log["runs"]
    assert isinstance(runs, list)
    for run in runs:
        driver = run["tool"]["driver"]  # 3.14.6, 3.18.2
        assert isinstance(driver["name"], str)
        ids = [rule["id"] for rule in driver["rules"]]  # 3.49.3
        assert len(ids) == len(set(ids))
        for rule in driver["rules"]:
            assert rule["shortDescription"]["text"]  # 3.11
        for artifact in run["artifacts"]:
            assert re.fullmatch(r"[A-Za-z0-9\-._~/!%<>:]*", artifact["location"]["uri"])
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")  # 3.14.17
        for result in run["results"]:
            assert result["message"]["text"]  # 3.27.11
            assert result["level"] in ("none", "note", "warning", "error")  # 3.27.10
            assert ids[result["ruleIndex"]] == result["ruleId"]  # 3.27.5 and .6
            for location in result["locations"] + result.get("relatedLocations", []):
                physical = location["physicalLocation"]  # 3.29.2: an artifact or an address
                assert "uri" in physical["artifactLocation"]
                assert physical.get("region", {"startLine": 1})["startLine"] >= 1  # 3.30.5
                assert physical.get("address", {"relativeAddress": 0})["relativeAddress"] >= 0
                for logical in location["logicalLocations"]:
                    assert logical["fullyQualifiedName"]


def test_sarif_has_the_required_structure() -> None:
    one = Subject("a folder/k.co", placed(replace(kernel_of(MISSING), name=HOSTILE)))
    log = sarif_log([sarif_result(one.file, one.kernel.name, f) for f in one.findings], [one.file])
    check_sarif(json.loads(json.dumps(log)))
    (error,) = [r for r in log["runs"][0]["results"] if r["level"] == "error"]
    assert error["locations"][0]["physicalLocation"]["address"]["relativeAddress"] == 4
    assert error["relatedLocations"][0]["physicalLocation"]["address"]["relativeAddress"] == 0


def test_sarif_of_nothing() -> None:
    check_sarif(json.loads(json.dumps(sarif_log([], ["k.co"]))))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_kernels_have_no_errors(name: str) -> None:
    findings: tuple[Finding, ...] = Subject(name, recover(load_file(KERNELS / f"{name}.co"))).findings
    assert not [f for f in findings if f.severity is Severity.ERROR]
