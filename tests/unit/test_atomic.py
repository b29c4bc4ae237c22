import pytest

from asmevo.atomic import write_atomically
from asmevo.diagnostics import DiagnosticError


def test_writes_whole_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "out.co"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["out.co"]


def test_missing_folder_is_a_diagnostic(tmp_path):
    with pytest.raises(DiagnosticError, match="E0108"):
        write_atomically(tmp_path / "none" / "out.co", b"x")


def test_target_that_cannot_be_replaced_leaves_no_temporary(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(DiagnosticError, match="E0108"):
        write_atomically(tmp_path / "out", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
