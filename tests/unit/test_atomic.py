import os
import threading

import pytest

from asmevo.atomic import check_writable, write_atomically
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


def test_a_pipe_or_device_is_written_to_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_writable(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"x")
    reader.join(10)
    assert got == [b"x"]
    assert pipe.is_fifo()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_name_of_any_length_that_the_system_takes_is_written(tmp_path):
    path = tmp_path / ("a" * 250)
    write_atomically(path, b"x")
    assert path.read_bytes() == b"x"
    with pytest.raises(DiagnosticError, match="E0108"):
        write_atomically(tmp_path / ("a" * 300), b"x")
