from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.frontend import llvm


def test_a_missing_library_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(DiagnosticError) as caught:
        llvm.find_library()
    assert caught.value.diagnostics[0].code == "E0601"
    assert "rocm-llvm-python" in (caught.value.diagnostics[0].help or "")


def test_a_rocm_install_is_used_when_there_is_no_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "llvm" / "lib" / "libLLVM.so.20.0"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    assert llvm.find_library() == library


@pytest.mark.parametrize("target", llvm.TARGETS)
def test_each_target_assembles_and_decodes(target: str) -> None:
    made = llvm.assemble_object("s_nop 1\n", target)
    assert made.errors == ()
    assert b"\x01\x00\x80\xbf" in made.object
    assert llvm.InstructionDecoder(b"\x01\x00\x80\xbf", target).at(0) == (4, "s_nop 1")


def test_an_error_is_reported_though_the_library_reports_success() -> None:
    made = llvm.assemble_object("s_nop 0\ns_bogus\n", "gfx942")
    assert [(error.line, error.column) for error in made.errors] == [(2, 1)]
