"""The generated pages: as the tables are, and a page that is not so is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from asmevo.ir.isa import definitions
from tools.isa import pages


def test_the_pages_are_up_to_date() -> None:
    assert pages.differences() == [], "run `make isa-docs`"


def test_a_page_that_was_edited_is_missing_or_is_left_over_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path / "isa")
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0
    (tmp_path / "isa" / "sop2.md").write_text("| edited |")
    (tmp_path / "isa" / "ds.md").unlink()
    (tmp_path / "isa" / "mimg.md").write_text("left over")
    capsys.readouterr()
    assert pages.main(["--check"]) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "docs/isa/ds.md",
        "docs/isa/mimg.md",
        "docs/isa/sop2.md",
    ]
    assert pages.main([]) == 0
    assert pages.differences() == []
    assert not (tmp_path / "isa" / "mimg.md").exists()


def test_every_definition_has_a_line() -> None:
    text = "".join(pages.pages().values())
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    for mnemonic, found in definitions().items():
        rows = [line for line in lines if line.startswith(f"| `{mnemonic}`")]
        assert len(rows) == len(found), mnemonic


@pytest.mark.parametrize(
    ("page", "cells"),
    [
        ("sop2.md", ["`s_addc_u32`", "sdst w 32 sreg, ssrc0 r 32 ssrc, ssrc1 r 32 ssrc", "scc", "4 (slot)"]),
        ("ds.md", ["`ds_read_b128`", "load 16 lds", "lgkmcnt", "(lds_latency)"]),
        ("matrix.md", ["`v_mfma_f64_16x16x4_f64`", "8, gfx950: 16", "dgemm"]),
        ("matrix.md", ["`v_mfma_f32_32x32x8f16` (prints `v_mfma_f32_32x32x8_f16`)", "accumulator"]),
        ("mubuf.md", ["`buffer_load_dword`", "glc scc slc; nt sc0 sc1", "m0-lds"]),
        ("vop1.md", ["`v_exp_f32`", "e32 e64 sdwa dpp", "16 (transcendental)", "trans"]),
    ],
)
def test_what_a_line_says(page: str, cells: list[str]) -> None:
    assert any(all(cell in line for cell in cells) for line in pages.pages()[page].splitlines())
