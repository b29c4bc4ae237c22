"""Values of registers: constants, known bits, forms over lanes, kernel arguments, loops, EXEC."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asmevo.ir.analysis.dataflow.divergence import Divergence
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.analysis.memory.addresses import MemoryAccesses
from asmevo.ir.analysis.values.abstract import Evaluation
from asmevo.ir.analysis.values.domain import Domain
from asmevo.ir.analysis.values.fixpoint import Values
from asmevo.ir.analysis.values.induction import Inductions, Trips
from asmevo.ir.analysis.values.value import Kind, Symbol, Value, concrete, constant, of_symbol
from asmevo.ir.registers import VGPR0
from asmevo.ir.semantics import build as b
from programs import kernel_of


def value_at_end(text: str, unit: int) -> Value:
    kernel = kernel_of(text)
    values = AnalysisManager(kernel).get(Values)
    block = kernel.blocks[-1]
    return values.unit_before(block.label, len(block.instructions) - 1, unit)


def text_of(text: str, mnemonic: str) -> list[str | None]:
    accesses = AnalysisManager(kernel_of(text)).get(MemoryAccesses).accesses
    return [
        None if form is None or (form.lanes is None) else form.text
        for access in accesses
        if access.instruction.mnemonic.startswith(mnemonic)
        for form in access.addresses
    ]


def test_scalar_constants_are_followed():
    found = value_at_end("s_mov_b32 s8, 5\n s_lshl_b32 s9, s8, 4\n s_addk_i32 s9, 0x1\n s_endpgm", 9)
    assert found.is_constant
    assert found.const == 81


def test_known_bits_and_interval_of_a_masked_value():
    found = value_at_end("s_and_b32 s9, s20, 0xf0\n s_endpgm", 9)
    assert found.zeros == 0xFFFFFFFF & ~0xF0
    assert (found.low, found.high) == (0, 0xF0)


def test_the_lane_part_of_the_work_item_id_is_exact_through_swizzles():
    text = """
        v_and_b32_e32 v1, 63, v0
        v_lshrrev_b32_e32 v2, 4, v1
        v_xor_b32_e32 v3, v1, v2
        v_lshlrev_b32_e32 v3, 2, v3
        s_endpgm
    """
    found = value_at_end(text, VGPR0 + 3)
    assert found.is_concrete
    lane = np.arange(64)
    assert (found.table == (lane ^ lane >> 4) << 2).all()


def test_a_wave_number_is_what_is_left_of_the_id():
    assert value_at_end("v_lshrrev_b32_e32 v1, 6, v0\n v_readfirstlane_b32 s9, v1\n s_endpgm", 9).terms is not None
    found = value_at_end("v_readfirstlane_b32 s9, v0\n s_lshr_b32 s9, s9, 6\n s_endpgm", 9)
    assert found.terms is not None
    assert [(s.kind, f) for s, f in found.terms] == [(Kind.WAVE, 1)]
    assert (found.low, found.high) == (0, 15)


POINTER = """
    s_load_dwordx2 s[4:5], s[0:1], 0x8
    s_waitcnt lgkmcnt(0)
    v_lshlrev_b32_e32 v1, 2, v0
"""


def test_a_64_bit_sum_made_of_two_halves_is_one_address():
    text = f"""
        {POINTER}
        s_lshl_b32 s6, s2, 10
        s_add_u32 s4, s4, s6
        s_addc_u32 s5, s5, 0
        global_load_dword v2, v1, s[4:5] offset:8
        s_waitcnt vmcnt(0)
        v_mov_b32_e32 v4, s4
        v_mov_b32_e32 v5, s5
        v_add_co_u32_e32 v4, vcc, v4, v1
        v_addc_co_u32_e32 v5, vcc, 0, v5, vcc
        global_store_dword v[4:5], v2, off
        s_endpgm
    """
    load, store = (set(str(found).split(" + ")) for found in text_of(text, "global"))
    base = {"4294967296*kernarg[0xc]", "kernarg[0x8]", "1024*workgroup_x", "256*wave"}
    assert load == base | {"4*lane", "8"}
    assert store == base | {"4*lane"}


def test_the_argument_behind_an_address_is_found_and_not_guessed():
    accesses = AnalysisManager(kernel_of(POINTER + "global_load_dword v2, v1, s[4:5]\n s_endpgm")).get(MemoryAccesses).accesses
    assert [access.argument_offset for access in accesses] == [None, 8]
    other = AnalysisManager(kernel_of("global_load_dword v2, v0, s[6:7]\n s_endpgm")).get(MemoryAccesses).accesses
    assert other[0].argument_offset is None


def test_a_descriptor_is_traced_to_its_argument():
    text = f"""
        {POINTER}
        s_and_b32 s5, s5, 0xffff
        s_mov_b32 s6, 0x1000
        s_mov_b32 s7, 0x20000
        buffer_load_dword v2, v1, s[4:7], 0 offen offset:4
        s_endpgm
    """
    access = AnalysisManager(kernel_of(text)).get(MemoryAccesses).accesses[-1]
    assert access.descriptor is not None
    assert (access.argument_offset, access.descriptor.records, access.descriptor.stride_bytes) == (8, "4096", 0)
    assert access.addresses[0] is not None
    assert access.addresses[0].lane_stride_bytes == 4


LOOP = """
    s_mov_b32 s8, 0
    v_lshlrev_b32_e32 v1, 2, v0
again:
    ds_read_b32 v2, v1 offset:16
    v_add_u32_e32 v1, 0x400, v1
    s_add_i32 s8, s8, 3
    s_cmp_{test} s8, {bound}
    s_cbranch_scc{scc} again
out:
    s_endpgm
"""


def test_addresses_in_loops_count_the_trips():
    [found] = text_of(LOOP.format(test="lt_u32", bound=12, scc=1), "ds_read")
    assert set(str(found).split(" + ")) == {"256*wave", "1024*trip of again", "4*lane", "16"}


@pytest.mark.parametrize(
    ("test", "bound", "scc", "trips"),
    [("lt_u32", 12, 1, 4), ("lt_i32", 13, 1, 5), ("eq_u32", 9, 0, 3), ("lg_u32", 9, 1, 3), ("ge_u32", 12, 0, 4)],
)
def test_trip_counts_are_those_of_running_the_loop(test, bound, scc, trips):
    manager = AnalysisManager(kernel_of(LOOP.format(test=test, bound=bound, scc=scc)))
    assert manager.get(Inductions).trips("again") == Trips(trips, trips)


def test_a_trip_count_that_rests_on_an_argument_is_not_known():
    manager = AnalysisManager(kernel_of(LOOP.format(test="lt_u32", bound="s20", scc=1)))
    assert manager.get(Inductions).trips("again") == Trips(None, None)


def test_a_register_that_moves_in_two_ways_is_no_induction():
    text = LOOP.format(test="lt_u32", bound=12, scc=1).replace("0x400, v1", "v2, v1")
    assert text_of(text, "ds_read") == [None]


PARTIAL = """
    v_mov_b32_e32 v1, 0
    v_cmp_gt_u32_e32 vcc, 7, v0
    s_and_saveexec_b64 s[8:9], vcc
    v_mov_b32_e32 v1, 1
    {after}
    s_endpgm
"""


def test_a_write_of_some_lanes_does_not_hold_when_the_others_come_back():
    inside = value_at_end(PARTIAL.format(after=""), VGPR0 + 1)
    assert inside.is_constant
    assert not value_at_end(PARTIAL.format(after="s_or_b64 exec, exec, s[8:9]"), VGPR0 + 1).is_constant
    assert not value_at_end(PARTIAL.format(after="s_mov_b64 exec, -1"), VGPR0 + 1).is_constant


def test_values_hold_where_lanes_came_back_before_the_write():
    found = value_at_end(PARTIAL.format(after="s_or_b64 exec, exec, s[8:9]\n v_mov_b32_e32 v1, 2"), VGPR0 + 1)
    assert found.const == 2
    assert found.is_constant


def test_different_values_of_two_paths_meet_in_their_common_bits():
    text = """
        s_cmp_eq_u32 s20, 0
        s_mov_b32 s8, 4
        s_cbranch_scc1 out
    other:
        s_mov_b32 s8, 12
    out:
        s_endpgm
    """
    found = value_at_end(text, 8)
    assert not found.is_constant
    assert (found.low, found.high, found.ones & 4, found.zeros & 3) == (4, 12, 4, 3)


def test_uniform_results_and_divergent_masks():
    manager = AnalysisManager(kernel_of(PARTIAL.format(after="v_mov_b32_e32 v3, v0")))
    divergence = manager.get(Divergence)
    assert ("entry", 0) in divergence.uniform
    assert ("entry", 4) not in divergence.uniform
    assert [write.divergent for write in divergence.exec_writes] == [True]


# The domain against plain arithmetic --------------------------------------------------------------------------------------


class FixedLeaves:
    """Operands by name."""

    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values

    def source(self, name, bits):
        return self.values[name]

    def any_lane(self, name, bits):
        return None

    def immediate(self, name, bits):
        return constant(bits, 0)

    def special(self, name, bits):
        return constant(bits, 0)

    def lane_bit(self, mask):
        return None


BINARY = [b.add, b.sub, b.mul, b.and_, b.or_, b.xor]
SHIFTS = [b.shl, b.lshr, b.ashr]
NUMBERS = st.one_of(
    st.integers(0, 40), st.sampled_from([0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFFFFC0]), st.integers(0, 2**32 - 1)
)


@st.composite
def expressions(draw, depth=3):
    if not depth or draw(st.booleans()):
        return draw(st.sampled_from([b.src("s", 32), b.src("t", 32), b.src("v", 32), b.const(32, draw(NUMBERS))]))
    kind = draw(st.integers(0, 5))
    first = draw(expressions(depth - 1))
    if kind <= 1:
        return draw(st.sampled_from(BINARY))(first, draw(expressions(depth - 1)))
    if kind == 2:
        return draw(st.sampled_from(SHIFTS))(first, b.const(32, draw(st.integers(0, 33))))
    if kind == 3:
        wide = draw(st.sampled_from([b.zext, b.sext]))(first, 64)
        total = draw(st.sampled_from([b.add, b.sub]))(wide, b.zext(draw(expressions(depth - 1)), 64))
        return b.extract(total, draw(st.sampled_from([0, 2, 31, 32])), 32)
    if kind == 4:
        return b.extract(b.concat(first, draw(expressions(depth - 1))), draw(st.integers(0, 32)), 32)
    condition = draw(st.sampled_from([b.eq, b.ult, b.slt]))(first, draw(expressions(depth - 1)))
    return b.ite(condition, first, draw(expressions(depth - 1)))


def substituted(e, numbers):
    """The constant that an expression is with numbers for its operands: the constructors' own folding."""
    from asmevo.ir.semantics.expr import Op

    if e.op is Op.CONST:
        return e
    if e.op is Op.SRC:
        return b.const(e.bits, numbers[e.attr])
    args = [substituted(a, numbers) for a in e.args]
    simple = {
        Op.ADD: b.add, Op.SUB: b.sub, Op.MUL: b.mul, Op.AND: b.and_, Op.OR: b.or_, Op.XOR: b.xor, Op.SHL: b.shl,
        Op.LSHR: b.lshr, Op.ASHR: b.ashr, Op.EQ: b.eq, Op.ULT: b.ult, Op.SLT: b.slt, Op.CONCAT: b.concat, Op.ITE: b.ite,
        Op.NOT: b.not_,
    }  # fmt: skip
    if e.op in simple:
        return simple[e.op](*args)
    if e.op is Op.EXTRACT:
        return b.extract(args[0], e.attr, e.bits)
    return (b.zext if e.op is Op.ZEXT else b.sext)(args[0], e.bits)


def symbol_value(symbol: Symbol, numbers: dict[str, int]) -> int | None:
    return numbers.get(symbol.name)


@settings(max_examples=300, deadline=None)
@given(expressions(), NUMBERS, st.integers(0, 15))
def test_every_claim_holds_for_the_numbers_that_operands_may_be(e, s, t):
    table = np.arange(64, dtype=np.int64)
    operands = {
        "s": of_symbol(Symbol(Kind.SITE, "s", 0, 2**32 - 1), 32),
        "t": of_symbol(Symbol(Kind.WAVE, "t", 0, 15), 32),
        "v": concrete(32, table),
    }
    found = Evaluation(Domain(), FixedLeaves(operands)).value(e)
    for lane in (0, 1, 17, 63):
        true = substituted(e, {"s": s, "t": t, "v": lane}).attr
        assert found.zeros & true == 0
        assert found.ones & ~true == 0
        assert found.low <= true <= found.high
        assert found.divergent or found.terms is None or found.table is None
        if found.terms is not None and all(symbol.name in "st" for symbol, _ in found.terms):
            form = found.const + sum(f * {"s": s, "t": t}[symbol.name] for symbol, f in found.terms)
            form += 0 if found.table is None else int(found.table[lane])
            assert form == true if found.exact else (form - true) % (1 << found.bits) == 0


def test_bits_that_are_all_known_are_the_value_whatever_the_interval_says():
    text = "s_and_b32 s8, s20, 2\n s_mov_b32 s9, 0x80000001\n s_lshr_b64 s[10:11], s[8:9], 2\n s_endpgm"
    found = value_at_end(text, 10)
    assert (found.is_constant, found.const) == (True, 0x40000000)


def test_every_pair_of_small_numbers_agrees():
    domain = Domain()
    for x, y in itertools.product(range(0, 70, 7), repeat=2):
        left, right = constant(8, x), constant(8, y)
        assert domain.add(left, right).const == (x + y) % 256
        assert domain.and_(left, right).const == x & y
        assert domain.compare(b.ult(b.src("a", 8), b.src("b", 8)).op, left, right).const == int(x < y)
