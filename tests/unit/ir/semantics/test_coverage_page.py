"""The generated coverage page: as the tables are, and a page that is not so is named."""

from __future__ import annotations

import pytest

from tools.semantics import coverage


def test_the_page_is_up_to_date() -> None:
    assert coverage.main(["--check"]) == 0, "run python -m tools.semantics.coverage"


def test_an_outdated_page_is_named(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(coverage, "PAGE", tmp_path / "semantics.md")
    assert coverage.main([]) == 0
    assert coverage.main(["--check"]) == 0
    (tmp_path / "semantics.md").write_text("# Semantics\n", encoding="utf-8")
    assert coverage.main(["--check"]) == 1
    assert "semantics.md" in capsys.readouterr().err
