"""Contents of buffers from files: what is read, pointers among it, and which files may not be named."""

import os
import struct

import numpy as np
import pytest

from asmevo.backend.launch import BufferLink
from asmevo.diagnostics import DiagnosticError
from asmevo.ir.kernel import Kernel
from asmevo.verify.launch.dispatches import load_launches

HEAD = "version = 1\ngrid = [1]\nworkgroup = [64]\n"
KERNEL = Kernel("k", "gfx942", (), ())


@pytest.fixture
def load(tmp_path):
    folder = tmp_path / "launch"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "x.bin").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    (tmp_path / "outside.bin").write_bytes(bytes(16))

    def load(keys, others=""):
        path = folder / "launch.toml"
        path.write_text(f'{HEAD}args = [{{ name = "x", {keys} }}]\n{others}')
        return load_launches(path, KERNEL)[0]

    load.folder = folder
    return load


def test_a_file_is_the_buffers_contents(load):
    (x,) = load('buffer = [4], dtype = "f32", role = "inout", fill = "file", file = "data/x.bin"').buffers
    assert x.data.view(np.float32).tolist() == [1, 2, 3, 4]
    assert (x.writable, x.defined, x.dtype) == (True, True, "f32")


def test_links_are_addresses_among_the_contents(load):
    other = 'buffers = [{ name = "y", buffer = [8], dtype = "u8", fill = "zeros" }]\n'
    links = 'links = [{ at = 0, to = "y", offset = 4 }, { at = 8, to = "x" }]'
    made = load(f'buffer = [16], dtype = "u8", fill = "file", file = "data/x.bin", {links}', other)
    assert made.links == (BufferLink(0, 0, 1, 4), BufferLink(0, 8, 0, 0))


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('fill = "file"', "file goes with fill 'file'"),
        ('fill = "zeros", file = "data/x.bin"', "file goes with fill 'file'"),
        ('fill = "zeros", links = [{ at = 0, to = "x" }]', "links go with fill 'file'"),
        ('role = "out", fill = "file", file = "data/x.bin"', "an output has no fill"),
        ('fill = "file", file = "/etc/passwd"', "leads out of the launch file's folder"),
        ('fill = "file", file = "../outside.bin"', "leads out of the launch file's folder"),
        ('fill = "file", file = "data/../../outside.bin"', "leads out of the launch file's folder"),
        ('fill = "file", file = "link.bin"', "a link that leads out"),
        ('fill = "file", file = "linked/outside.bin"', "a link that leads out"),
        ('fill = "file", file = "pipe"', "no file 'pipe' is there"),
        ('fill = "file", file = "data"', "no file 'data' is there"),
        ('fill = "file", file = "data/y.bin"', "no file 'data/y.bin' is there"),
        ('fill = "file", file = "short.bin"', "'short.bin' has 15 bytes, the buffer 16"),
        ('fill = "file", file = "long.bin"', "'long.bin' has more than 16 bytes"),
        ('fill = "file", file = "data/x.bin", links = [{ at = 9, to = "x" }]', "a pointer at byte 9 does not fit"),
        ('fill = "file", file = "data/x.bin", links = [{ at = 0, to = "y" }]', "no buffer is named 'y'"),
        ('fill = "file", file = "data/x.bin", links = [{ at = 0, to = "x", offset = 17 }]', "offset 17 lies outside 'x'"),
        ('fill = "file", file = "data/x.bin", links = [{ at = 0, too = "x" }]', "unknown key"),
    ],
)
def test_what_is_refused(load, keys, told):
    folder = load.folder
    (folder / "link.bin").symlink_to(folder.parent / "outside.bin")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "short.bin").write_bytes(bytes(15))
    (folder / "long.bin").write_bytes(bytes(17))
    os.mkfifo(folder / "pipe")
    with pytest.raises(DiagnosticError) as caught:
        load(f'buffer = [16], dtype = "u8", {keys}')
    (diagnostic,) = caught.value.diagnostics
    assert told in diagnostic.message
    assert diagnostic.span.line == 4


def test_a_structure_may_be_given_in_pieces(load):
    from asmevo.ir.abi import KernelArgument, KernelMetadata

    metadata = KernelMetadata("k", "k.kd", (KernelArgument("s", 0, 24, "by_value"), KernelArgument("n", 24, 8, "by_value")))
    kernel = Kernel("k", "gfx942", (), (), None, metadata)
    path = load.folder / "l.toml"
    pieces = '{ at = 0, bytes = "01000000" }, { at = 8, name = "x", buffer = [4], dtype = "f32", fill = "zeros" }'
    path.write_text(f'{HEAD}args = [{pieces}, {{ at = 24, bytes = "0200000000000000" }}]\n')
    made = load_launches(path, kernel)[0]
    assert made.kernarg.hex() == "01000000" + "00" * 20 + "0200000000000000"
    assert [slot.offset for slot in made.pointers] == [8]
    path.write_text(f'{HEAD}args = [{pieces}, {{ at = 24, bytes = "02000000" }}]\n')
    with pytest.raises(DiagnosticError, match="has 8 bytes, this one 4"):
        load_launches(path, kernel)
