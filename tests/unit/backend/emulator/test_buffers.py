"""Buffer addressing by the descriptor's fields, against plain Python: strides, swizzling, thread ids and range checks."""

from __future__ import annotations

import numpy as np
import pytest

from asmevo.backend.emulator import layout
from asmevo.frontend.parser import parse_line
from machines import BUFFER_BYTES, LANES, Step, random_machine

SWIZZLE, ADD_TID = 1 << 63, 1 << 119
SHIFTS = {2: 0, 4: 1, 8: 2, 16: 3}


def descriptor(records: int, stride: int = 0, *, flags: int = 0, index_stride: int = 8, element: int = 4) -> int:
    """A descriptor of the test's buffer."""
    shifts = (index_stride.bit_length() - 4) << 117 | SHIFTS[element] << 115
    return layout.base_address(0) | stride << 48 | records << 64 | flags | shifts


def place(index: int, offset: int, stride: int, index_stride: int, element: int) -> int:
    """Where a byte of a swizzled buffer lies."""
    across, low = divmod(index, index_stride)
    element_number, inside = divmod(offset, element)
    return (across * stride + element_number * element) * index_stride + low * element + inside


def loaded(line: str, words: int, index: np.ndarray, offset: np.ndarray, soffset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """What a load leaves in v8 and on, and the buffer's bytes."""
    machine = random_machine(11)
    machine.put(4, words, 128)
    machine.put(8, soffset, 32)
    machine.vector[2], machine.vector[3] = index, offset
    after = Step(parse_line(line)).run(machine)
    return after.vector[8:12], machine.buffer


@pytest.mark.parametrize("index_stride", [8, 16, 32, 64])
@pytest.mark.parametrize("element", [4, 8, 16])
def test_swizzled_records_lie_side_by_side(index_stride: int, element: int) -> None:
    rng = np.random.default_rng(index_stride + element)
    index = rng.integers(0, 80, LANES).astype(np.uint32)
    offset = (rng.integers(0, 5, LANES) * 16 // max(4, element) * max(4, element)).astype(np.uint32)
    stride = 96
    words = descriptor(64, stride, flags=SWIZZLE, index_stride=index_stride, element=element)
    got, memory = loaded("buffer_load_dwordx4 v[8:11], v[2:3], s[4:7], s8 idxen offen offset:4", words, index, offset, 32)
    for lane in range(LANES):
        for part in range(4):
            at = 32 + place(int(index[lane]), int(offset[lane]) + 4 + 4 * part, stride, index_stride, element)
            want = int.from_bytes(memory[at : at + 4].tobytes(), "little") if index[lane] < 64 else 0
            assert got[part, lane] == want, (lane, part)


def test_a_thread_id_is_added_to_the_index() -> None:
    offset = np.full(LANES, 8, np.uint32)
    # The data format's bits are the stride's upper ones here.
    words = descriptor(BUFFER_BYTES, 36, flags=ADD_TID)
    got, memory = loaded("buffer_load_dwordx2 v[8:9], v3, s[4:7], 0 offen", words, offset, offset)
    for lane in range(LANES):
        at = 8 + 36 * lane
        assert [int(v) for v in got[:2, lane]] == memory[at : at + 8].view(np.uint32).tolist()
    far, _ = loaded("buffer_load_dword v8, v3, s[4:7], 0 offen", words | 1 << 111, offset, offset)
    assert (far[0, 1:] == 0).all()


@pytest.mark.parametrize("swizzled", [False, True])
def test_raw_ranges_are_checked_dword_by_dword(swizzled: bool) -> None:
    offset = (np.arange(LANES) * 4).astype(np.uint32)
    flags = SWIZZLE if swizzled else 0
    got, _ = loaded("buffer_load_dwordx4 v[8:11], v3, s[4:7], s8 offen", descriptor(200, flags=flags), offset, offset, 24)
    inside = np.array([[24 + 4 * lane + 4 * part < 200 for lane in range(LANES)] for part in range(4)])
    assert (got[~inside] == 0).all()
    assert (got[inside] != 0).mean() > 0.5


def test_a_scalar_load_counts_records_by_their_stride() -> None:
    machine = random_machine(3)
    machine.put(4, descriptor(3, 8), 128)
    after = Step(parse_line("s_buffer_load_dwordx8 s[16:23], s[4:7], 0x0")).run(machine)
    assert after.scalar[16:22].tolist() == machine.buffer[:24].view(np.uint32).tolist()
    assert after.scalar[22:24].tolist() == [0, 0]
