import numpy as np
import pytest

from asmevo.backend.emulator import run
from asmevo.backend.inputs import load_input
from asmevo.backend.observe.accesses import AccessReader
from asmevo.backend.observe.statistics import MemoryStatistics
from asmevo.backend.observe.watch import Watch
from asmevo.backend.observe.waves import Filter, Stop, Trace
from asmevo.frontend.recover import recover
from asmevo.ir.registers import VGPR0
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES, SHIPPED
from unit.backend.emulator.small_kernels import POINTERS, dispatch, kernel, output, words

COPY = f"""{POINTERS}
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
v_add_u32_e32 v2, 1, v2
global_store_dword v1, v2, s[6:7]
"""


def copy_launch(groups=1):
    return dispatch(words("x", np.arange(64)), output("y", 64), groups=groups)


def mnemonic(name):
    return lambda i: i.mnemonic == name


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_watching_everything_changes_nothing(name, mode):
    made = recover(load_input(EXAMPLES / "kernels" / f"{name}.co"))
    launch = load_launches(EXAMPLES / "launches" / f"{name}.toml", made)[-1]
    watch = Watch()
    MemoryStatistics(made.target, mode == "strict").join(watch)
    Trace(0, 1 << 30, mode == "strict", most=50).join(watch)
    plain, watched = run(made, launch, mode=mode, threads=1), run(made, launch, mode=mode, observer=watch)
    assert plain.faults == watched.faults == ()
    assert plain.executions == watched.executions
    assert all(np.array_equal(a, b) for a, b in zip(plain.buffers, watched.buffers, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(plain.written, watched.written, strict=True))


def test_a_moment_shows_registers_before_and_after():
    seen = []

    def look(moment):
        before = moment.vector(VGPR0 + 2)
        assert moment.execute() == 0
        assert moment.execute() == 0  # Runs once.
        seen.append((moment.wave, moment.workgroup, before, moment.vector(VGPR0 + 2)))
        return False

    watch = Watch()
    watch.before(mnemonic("v_add_u32_e32"), look)
    result = run(kernel(COPY), copy_launch(groups=2), mode="fast", observer=watch)
    assert [(wave, group) for wave, group, _, _ in sorted(seen, key=lambda s: s[1])] == [(0, (0, 0, 0)), (0, (1, 0, 0))]
    assert all(np.array_equal(after, before + 1) and np.array_equal(before, np.arange(64)) for _, _, before, after in seen)
    assert np.array_equal(result.buffers[1].view(np.uint32), np.arange(1, 65))


def test_a_call_can_end_the_run_without_a_fault():
    watch = Watch()
    watch.before(mnemonic("global_store_dword"), lambda moment: True)
    result = run(kernel(COPY), copy_launch(), observer=watch)
    assert result.faults == ()
    assert not result.written[1].any()


def test_what_a_call_raises_comes_out_of_the_run():
    def broken(moment):
        raise KeyError("look here")

    watch = Watch()
    watch.before(mnemonic("global_store_dword"), broken)
    with pytest.raises(KeyError, match="look here"):
        run(kernel(COPY), copy_launch(), observer=watch)
    # The watch is good for another run, which raises its own.
    with pytest.raises(KeyError, match="look here"):
        run(kernel(COPY), copy_launch(), observer=watch)


def test_faults_come_through_a_watch():
    watch = Watch()
    watch.before(lambda i: True, lambda moment: False)
    result = run(kernel(COPY.replace("s_waitcnt vmcnt(0)", "s_nop 0")), copy_launch(), observer=watch)
    assert [fault.kind for fault in result.faults] == ["pending-read"]


def test_progress_is_told_by_work_groups():
    told = []
    run(kernel(COPY), copy_launch(groups=40), threads=1, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (40, 40)


def accesses(text, launch, name, mode="fast"):
    reader, found = AccessReader("gfx942", mode == "strict"), []

    def look(moment):
        found.append(reader.read(moment))
        return False

    watch = Watch()
    watch.before(mnemonic(name), look)
    result = run(kernel(text), launch, mode=mode, observer=watch)
    assert result.faults == ()
    return found


def test_addresses_of_lanes():
    (load,) = accesses(COPY, copy_launch(), "global_load_dword")
    (store,) = accesses(COPY, copy_launch(), "global_store_dword")
    assert (load.loads, load.stores, store.loads, store.stores) == (True, False, False, True)
    assert np.array_equal(np.diff(load.addresses[0].astype(np.int64)), np.full(63, 4))
    assert load.bytes == 4
    (table,) = accesses(COPY, copy_launch(), "s_load_dwordx4")
    assert (table.addresses.shape, table.bytes) == ((1, 1), 16)


def test_lanes_that_are_off_are_left_out():
    text = COPY.replace("global_store", "s_mov_b64 exec, 0xf0\nglobal_store")
    (store,) = accesses(text, copy_launch(), "global_store_dword")
    assert store.lanes.tolist() == [4, 5, 6, 7]
    assert store.addresses.shape == (1, 4)
    off = COPY.replace("global_store", "s_mov_b64 exec, 0\nglobal_store")
    assert accesses(off, copy_launch(), "global_store_dword")[0].addresses.size == 0


def test_lanes_beyond_a_buffers_records_are_out():
    text = f"""{POINTERS}
s_mov_b32 s10, 0x20
s_mov_b32 s11, 0x20000
s_mov_b64 s[8:9], s[4:5]
buffer_load_dword v2, v1, s[8:11], 0 offen
s_waitcnt vmcnt(0)
"""
    (load,) = accesses(text, copy_launch(), "buffer_load_dword")
    assert (load.lanes.tolist(), load.out) == (list(range(8)), 56)


def test_two_points_of_an_lds_read():
    text = """
v_lshlrev_b32_e32 v1, 2, v0
ds_read2_b32 v[2:3], v1 offset0:1 offset1:3
s_waitcnt lgkmcnt(0)
"""
    (read,) = accesses(text, dispatch(lds=1024), "ds_read2_b32")
    assert read.addresses[:, 5].tolist() == [24, 32]


def test_counts_of_traffic():
    statistics, watch = MemoryStatistics("gfx942", True), Watch()
    statistics.join(watch)
    text = f"""{POINTERS}
v_lshlrev_b32_e32 v3, 7, v0
ds_write_b32 v3, v0
global_load_dword v2, v1, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword v1, v2, s[6:7]
"""
    run(kernel(text), dispatch(words("x", np.arange(64)), output("y", 64), groups=3, lds=8192), observer=watch)
    by_name = {one.instruction.mnemonic: one for one in statistics.traffic()}
    load, lds, store = (by_name[name] for name in ("global_load_dword", "ds_write_b32", "global_store_dword"))
    assert (load.executions, load.lanes, load.bytes, load.buffers) == (3, 192, 768, {0})
    assert store.buffers == {1}
    # 256 bytes from a multiple of 64, and one of 128.
    assert load.segments == [(12, 12), (6, 6)]
    # A stride of 128 bytes puts every lane on one bank: each half of the wave takes 32 clocks.
    assert lds.bank_clocks == (3 * 64, 3 * 2)
    assert by_name["s_load_dwordx4"].buffers == {-1}


def test_a_stop_shows_what_is_pending():
    made = recover(load_input(EXAMPLES / "kernels" / "vector_add.co"))
    launch = load_launches(EXAMPLES / "launches" / "vector_add.toml", made)[0]
    code = list(made.instructions())
    load = next(i for i in code if i.mnemonic.startswith(("global_load", "buffer_load")))
    after = code[code.index(load) + 1]
    watch, stop = Watch(), Stop(after.offset, True, Filter((1, 0, 0), 2))
    stop.join(watch)
    result = run(made, launch, observer=watch)
    assert result.faults == ()
    state = stop.state
    assert (state.workgroup, state.wave, state.outstanding[0]) == ((1, 0, 0), 2, 1)
    assert sum(value.pending for value in state.registers) == 1
    assert dict(state.specials)["exec"] == (1 << 64) - 1


def test_a_stop_counts_hits():
    made = recover(load_input(EXAMPLES / "kernels" / "reduce_sum.co"))
    launch = load_launches(EXAMPLES / "launches" / "reduce_sum.toml", made)[0]
    first = next(made.instructions()).offset
    executed = []
    for hit in (1, 3, 1000):
        watch, stop = Watch(), Stop(first, False, Filter(), hit)
        stop.join(watch)
        run(made, launch, mode="fast", observer=watch)
        executed.append(None if stop.state is None else stop.state.executed)
    assert executed[0] == 0
    assert executed[1] > 0
    assert executed[2] is None


def test_a_trace_is_bounded():
    made = recover(load_input(EXAMPLES / "kernels" / "vector_add.co"))
    launch = load_launches(EXAMPLES / "launches" / "vector_add.toml", made)[0]
    watch, trace = Watch(), Trace(0, 1 << 20, True, most=7)
    trace.join(watch)
    result = run(made, launch, observer=watch)
    assert len(trace.steps) == 7
    assert trace.left_out == result.wave_instructions - 7
