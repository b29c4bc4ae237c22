"""Captured dispatches as launch files: pointers, structures, links, LDS; and that they run as the launch did."""

import struct

import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.launch import BufferLink, PointerSlot
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.ir.abi import KernelArgument, KernelMetadata
from asmevo.ir.kernel import Kernel
from asmevo.verify.capture.folder import Capture, Region, read_capture
from asmevo.verify.capture.pieces import kernarg_pieces, links_inside
from asmevo.verify.capture.text import import_capture
from asmevo.verify.launch.dispatches import load_launches
from captures import write_capture
from support import EXAMPLES
from unit.backend.emulator.small_kernels import kernel as small

BASE = 0x7F0000000000


def shipped(name, case=1):
    path = EXAMPLES / "kernels" / f"{name}.co"
    kernel = recover(load_file(path))
    return path.read_bytes(), kernel, load_launches(EXAMPLES / "launches" / f"{name}.toml", kernel)[case]


def kernel(*arguments):
    return Kernel("k", "gfx942", (), (), None, KernelMetadata("k", "k.kd", arguments) if arguments else None)


@pytest.fixture
def capture(tmp_path):
    (tmp_path / "memory").mkdir()

    def made(kernarg, *regions):
        found = []
        for number, data in enumerate(regions):
            base = BASE + number * 0x1000
            path = tmp_path / "memory" / f"region_{base:x}.bin"
            path.write_bytes(data)
            found.append(Region(base, len(data), path))
        return Capture(tmp_path, "k", (1, 1, 1), (64, 1, 1), 0, kernarg, tuple(found))

    return made


@pytest.mark.parametrize(("name", "lds", "margin"), [("vector_add", 0, 0), ("softmax", 16, 64)])
def test_a_captured_dispatch_runs_as_the_launch_did(tmp_path, name, lds, margin):
    data, ir, dispatch = shipped(name)
    capture = read_capture(write_capture(tmp_path / "capture", data, dispatch, lds_bytes=lds, margin=margin))
    (tmp_path / "launch.toml").write_text(import_capture(capture, ir, tmp_path / "launch.toml").text)
    (again,) = load_launches(tmp_path / "launch.toml", ir)
    assert (again.grid, again.workgroup, again.dynamic_lds_bytes) == (dispatch.grid, dispatch.workgroup, lds)
    assert again.pointers == tuple(PointerSlot(p.offset, p.buffer, p.addend + margin) for p in dispatch.pointers)
    first, second = run(ir, dispatch, seed=1), run(ir, again, seed=1)
    assert not second.faults
    for n, buffer in enumerate(dispatch.buffers):
        if buffer.writable:
            assert (second.buffers[n][margin:] == first.buffers[n]).all()
            assert not second.written[n][:margin].any()


def test_contents_are_copied_when_the_capture_lies_elsewhere(tmp_path):
    data, ir, dispatch = shipped("vector_add")
    capture = read_capture(write_capture(tmp_path / "capture", data, dispatch))
    (tmp_path / "other").mkdir()
    target = tmp_path / "other" / "l.toml"
    found = import_capture(capture, ir, target)
    target.write_text(found.text)
    assert found.copies == tmp_path / "other" / "l.toml.data"
    for path in (tmp_path / "capture" / "memory").iterdir():
        path.unlink()
    (again,) = load_launches(target, ir)
    assert (again.buffers[0].data == dispatch.buffers[0].data).all()


def test_by_the_metadata_only_pointers_and_structures_hold_addresses(capture):
    kernarg = struct.pack("<QIIQQQIIQ", BASE + 8, 7, 0, BASE, 0x7F5000000000, BASE, 5, 6, BASE + 0x1000)
    one = capture(kernarg, bytes(16), bytes(8))
    pieces = kernarg_pieces(
        one,
        kernel(
            KernelArgument("x", 0, 8, "global_buffer"),
            KernelArgument("n", 8, 4, "by_value"),
            KernelArgument("y", 16, 8, "global_buffer"),
            KernelArgument("w", 24, 8, "global_buffer"),
            KernelArgument("s", 32, 24, "by_value"),
            KernelArgument("", 56, 8, "hidden_heap_v1"),
        ),
    )
    first, second = one.regions
    told = [(p.offset, p.size, p.name, p.region, p.addend, p.is_wild) for p in pieces]
    assert told == [
        (0, 8, "x", first, 8, False),
        (8, 4, "n", None, 0, False),
        (16, 8, "y", first, 0, False),
        (24, 8, "w", None, 0, True),
        (32, 8, "s_0", first, 0, False),
        (40, 8, "s_8", None, 0, False),
        (48, 8, "s_16", second, 0, False),
    ]


def test_without_metadata_any_eight_bytes_may_be_an_address(capture):
    one = capture(struct.pack("<IIQQI", 1, 2, BASE + 4, 3, 4), bytes(16))
    told = [(p.offset, p.size, p.region is not None, p.addend) for p in kernarg_pieces(one, kernel())]
    assert told == [(0, 8, False, 0), (8, 8, True, 4), (16, 12, False, 0)]


def test_kernarg_that_is_too_short_is_refused(capture):
    with pytest.raises(DiagnosticError, match="kernarg of 4 bytes, and 'k' has an argument at 0 of 8 bytes"):
        kernarg_pieces(capture(bytes(4)), kernel(KernelArgument("x", 0, 8, "global_buffer")))


def test_memory_holds_addresses_only_where_it_is_said(capture, tmp_path):
    table = struct.pack("<QQQ", BASE + 0x1004, 9, BASE + 0x2000)
    one = capture(struct.pack("<Q", BASE), table, bytes(8), bytes(8))
    ir = kernel(KernelArgument("table", 0, 8, "global_buffer"))
    path = tmp_path / "launch.toml"

    def links(*followed):
        found = import_capture(one, ir, path, followed)
        path.write_text(found.text)
        (made,) = load_launches(path, ir)
        return [buffer.data.size for buffer in made.buffers], made.links

    assert links() == ([24], ())
    assert links((one.regions[0], 16)) == ([24, 8], (BufferLink(0, 16, 1, 0),))
    assert links((one.regions[0], None)) == ([24, 8, 8], (BufferLink(0, 0, 1, 4), BufferLink(0, 16, 2, 0)))
    with pytest.raises(DiagnosticError, match="at byte 8 stands 0x9, no address in a region"):
        links_inside(one, [(one.regions[0], 8)])
    with pytest.raises(DiagnosticError, match="no eight bytes are at 17 of 24"):
        links_inside(one, [(one.regions[0], 17)])


def test_a_link_into_a_buffer_is_followed_by_the_emulator(capture, tmp_path):
    ir = small("""
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        s_load_dwordx2 s[6:7], s[4:5], 0x0
        s_mov_b64 exec, 1
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 7
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[6:7]
    """)
    one = capture(struct.pack("<Q", BASE), struct.pack("<Q", BASE + 0x1004), bytes(8))
    path = tmp_path / "launch.toml"
    path.write_text(import_capture(one, ir, path, [(one.regions[0], 0)]).text)
    result = run(ir, load_launches(path, ir)[0], seed=1)
    assert not result.faults
    assert result.buffers[1].view(np.uint32).tolist() == [0, 7]


def test_wild_pointers_and_regions_left_out_are_told(capture, tmp_path):
    one = capture(struct.pack("<QQ", BASE, 0x1000), bytes(8), bytes(8))
    ir = kernel(KernelArgument("x", 0, 8, "global_buffer"), KernelArgument("w\n", 8, 8, "global_buffer"))
    found = import_capture(one, ir, tmp_path / "launch.toml")
    assert (found.unused, [piece.offset for piece in found.wild]) == (1, [8])
    assert "# 1 other regions are left out" in found.text
    assert 'bytes = "0010000000000000" }, # leads to no captured region' in found.text
    (tmp_path / "launch.toml").write_text(found.text)
    assert load_launches(tmp_path / "launch.toml", ir)[0].kernarg[8:10] == b"\0\x10"


def test_more_than_a_launch_holds_is_refused(capture, tmp_path):
    one = capture(struct.pack("<Q", BASE), bytes(8))
    large = Region(BASE, (1 << 30) + 1, one.regions[0].path)
    many = Capture(tmp_path, "k", (1, 1, 1), (64, 1, 1), 0, one.kernarg, (large,))
    ir = kernel(KernelArgument("x", 0, 8, "global_buffer"))
    with pytest.raises(DiagnosticError, match="more than the 1,073,741,824 of a launch; region_7f0000000000 has"):
        import_capture(many, ir, tmp_path / "launch.toml")
    wide = Capture(tmp_path, "k", (1 << 21, 1, 1), (64, 1, 1), 0, one.kernarg, one.regions)
    with pytest.raises(DiagnosticError, match="2,097,152 work-groups"):
        import_capture(wide, ir, tmp_path / "launch.toml")
    shared = Capture(tmp_path, "k", (1, 1, 1), (64, 1, 1), 1 << 20, one.kernarg, one.regions)
    with pytest.raises(DiagnosticError, match="more than any chip has"):
        import_capture(shared, ir, tmp_path / "launch.toml")
