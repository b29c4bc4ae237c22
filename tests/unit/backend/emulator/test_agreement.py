"""The native engine against the reference interpreter, one instruction at a time, from the same registers and memory.

Everything must agree bit for bit, but for the functions that the host's mathematical library computes, where one unit in the
last place is allowed. The quick tests take a sample of the forms, the slow ones all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import pytest

from agreement import comparable_lines, compare, z3_differences
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.codeobject import load_file
from asmevo.frontend.parser import parse_line
from asmevo.frontend.recover import recover
from asmevo.ir.instruction import Instruction
from asmevo.ir.isa import definitions
from asmevo.ir.isa.model import Family, OpcodeDef
from asmevo.ir.printer import print_instruction
from asmevo.ir.registers import MODE
from asmevo.ir.semantics import program_of
from asmevo.ir.semantics.expr import Domain, Expr, Op, Program
from asmevo.ir.semantics.form import form_of
from asmevo.ir.semantics.matrix import shape_of
from line_forms import lines_of
from machines import ALL, Step, aim, differences, random_machine
from reference_step import run_reference
from support import EXAMPLES, SHIPPED
from z3_step import Place, encoded_results

DENORMALS, IEEE, DX10, FP16_OVFL = 0xF0, 1 << 9, 1 << 8, 1 << 23
SETTINGS = (
    (DENORMALS | IEEE | DX10, ALL),
    (0xC0 | IEEE | DX10, 0x0123456789ABCDEF),
    (0x30 | FP16_OVFL, 0xFFFEFFFEFFFF0001),
    (0, 1 << 41),
    (DENORMALS, 0),
)
"""MODE and EXEC: all denormals and the modes of compilers first, then each denormal control alone, then none."""

APPROXIMATE = frozenset({Op.FEXP2, Op.FLOG2, Op.FSIN, Op.FCOS})
REFUSED = ("s_getpc_b64",)
"""What has a meaning, but not in the engine, which must say so."""


def _nodes(program: Program) -> Iterable[Expr]:
    stack = [write.value for write in program.writes]
    seen: set[int] = set()
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack.extend(e.args)


def disagreements(i: Instruction, settings: Iterable[int]) -> list[str]:
    """Where engine and reference differ on `i`, each with the number of its setting."""
    program = program_of(i)
    assert program is not None
    try:
        step = Step(i)
    except NotImplementedError as refusal:
        return [] if i.mnemonic.startswith(REFUSED) else [f"refused: {refusal}"]
    ulps = int(any(e.op in APPROXIMATE for e in _nodes(program)))
    for k in settings:
        mode, exec_mask = SETTINGS[k]
        machine = aim(i, random_machine(k + 1, mode, exec_mask), k)
        found = differences(step.run(machine), run_reference(i, machine), ulps)
        if found:
            return [f"setting {k}: {found[0]} (and {len(found) - 1} more)"]
    return []


def check(instructions: Iterable[Instruction], settings: Iterable[int]) -> int:
    """Compares all instructions, shows every one that differs, and tells how many there were."""
    chosen = tuple(settings)
    failures: list[str] = []
    count = 0
    for i in instructions:
        count += 1
        failures += [f"{print_instruction(i)}: {found}" for found in disagreements(i, chosen)]
    assert not failures, "\n".join(failures)
    return count


def _comparable(i: Instruction) -> bool:
    program = program_of(i)
    return program is not None and program.domain is not Domain.CONTROL and shape_of(i.mnemonic) is None


@lru_cache(maxsize=1)
def shipped_forms() -> list[Instruction]:
    """One instruction of each form in the shipped kernels."""
    found: dict[object, Instruction] = {}
    for name in SHIPPED:
        for i in recover(load_file(EXAMPLES / "kernels" / f"{name}.co")).instructions():
            if _comparable(i):
                found.setdefault(form_of(i), i)
    return list(found.values())


def table_lines(family: str | None = None, *, all_lines: bool = True) -> list[Instruction]:
    """Instructions of every opcode of the tables that has a meaning; without `all_lines` the plain one of each."""
    found: list[Instruction] = []
    for group in definitions().values():
        for definition in group:
            if "gfx942" not in definition.targets or (family and definition.family.value != family):
                continue
            lines = lines_of(definition)
            for line in lines if all_lines else lines[:1]:
                try:
                    i = parse_line(line)
                except DiagnosticError:
                    continue
                if _comparable(i):
                    found.append(i)
    return found


def _sample(instructions: list[Instruction], share: int) -> list[Instruction]:
    """One in `share`, the same ones in every run whatever the tables' order."""
    return [i for i in instructions if zlib.crc32(print_instruction(i).encode()) % share == 0]


def test_forms_of_shipped_kernels_agree() -> None:
    assert check(_sample(shipped_forms(), 4), (0, 2)) > 20


def test_sample_of_all_opcodes_agrees() -> None:
    assert check(_sample(table_lines(all_lines=False), 8), (1,)) > 80


@pytest.mark.slow
def test_all_forms_of_shipped_kernels_agree() -> None:
    assert check(shipped_forms(), range(len(SETTINGS))) > 100


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({d.family.value for group in definitions().values() for d in group}))
def test_all_opcodes_agree(family: str) -> None:
    check(table_lines(family), range(3))


# Matrix products -------------------------------------------------------------------------------------------------------------

MATRIX = sorted(
    d.mnemonic for group in definitions().values() for d in group if "gfx942" in d.targets and shape_of(d.mnemonic) is not None
)


def _matrix_line(mnemonic: str, constant: str | None = None) -> Instruction:
    definition = definitions()[mnemonic][0]
    line = lines_of(definition)[0]
    return parse_line(line if constant is None else f"{line.rpartition(',')[0]}, {constant}")


NEAR_ONE = {
    "f16": (0x3000, 0x1C00),
    "bf16": (0x3F00, 0x0300),
    "fp8": (0x30, 0x18),
    "bf8": (0x30, 0x1C),
    "f64": (0x3FE0000000000000, 0x0030000000000000),
}
"""By type, the bits of a number somewhat below 1, and how far to go up from there; f32's for all others."""


def _like_sizes(mnemonic: str, seed: int) -> np.ndarray:
    """Registers of elements without infinities and NaN, and of like sizes, so that sums cancel and round."""
    shape = shape_of(mnemonic)
    assert shape is not None
    rng = np.random.default_rng(seed)
    width = shape.element_bits
    low, span = NEAR_ONE.get(shape.type_a, (0x3F000000, 0x03000000))
    count = 64 * 256 * 32 // width
    values = rng.integers(0, span, count, np.uint64) + np.uint64(low)
    values |= rng.integers(0, 2, count, np.uint64) << np.uint64(width - 1)
    if width == 64:
        return values.view(np.uint32).reshape(128, 64, 2).transpose(0, 2, 1).reshape(256, 64)
    return values.astype(f"u{width // 8}").view(np.uint32).reshape(256, 64)


def _check_matrix(mnemonic: str, seeds: Iterable[int]) -> None:
    for seed in seeds:
        i = _matrix_line(mnemonic, "1.0" if seed % 3 == 2 and "i8" not in mnemonic else None)
        machine = random_machine(seed, SETTINGS[seed % 2][0], SETTINGS[seed % 3][1])
        if seed % 2:
            machine.vector[:256] = _like_sizes(mnemonic, seed)
        found = differences(Step(i).run(machine), run_reference(i, machine))
        assert not found, f"{print_instruction(i)}, seed {seed}: {found[:3]} of {len(found)}"


@pytest.mark.parametrize(
    "mnemonic",
    [
        "v_mfma_f32_4x4x4_16b_f16",
        "v_mfma_f32_16x16x16_bf16",
        "v_mfma_f32_16x16x32_fp8_bf8",
        "v_mfma_i32_16x16x32_i8",
        "v_mfma_f64_4x4x4_4b_f64",
        "v_mfma_f32_16x16x8_xf32",
    ],
)
def test_matrix_products_agree(mnemonic: str) -> None:
    _check_matrix(mnemonic, (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("mnemonic", MATRIX)
def test_all_matrix_products_agree(mnemonic: str) -> None:
    _check_matrix(mnemonic, range(6))


# Division --------------------------------------------------------------------------------------------------------------------

DIVISION = {
    np.float32: """
        v_div_scale_f32 v10, s[20:21], v1, v1, v0
        v_div_scale_f32 v11, vcc, v0, v1, v0
        v_rcp_f32 v12, v10
        v_fma_f32 v13, -v10, v12, 1.0
        v_fma_f32 v12, v13, v12, v12
        v_mul_f32 v14, v11, v12
        v_fma_f32 v13, -v10, v14, v11
        v_fma_f32 v14, v13, v12, v14
        v_fma_f32 v13, -v10, v14, v11
        v_div_fmas_f32 v13, v13, v12, v14
        v_div_fixup_f32 v2, v13, v1, v0""",
    np.float64: """
        v_div_scale_f64 v[10:11], s[20:21], v[2:3], v[2:3], v[0:1]
        v_rcp_f64 v[12:13], v[10:11]
        v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
        v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
        v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
        v_fma_f64 v[12:13], v[12:13], v[14:15], v[12:13]
        v_div_scale_f64 v[16:17], vcc, v[0:1], v[2:3], v[0:1]
        v_mul_f64 v[18:19], v[16:17], v[12:13]
        v_fma_f64 v[14:15], -v[10:11], v[18:19], v[16:17]
        v_div_fmas_f64 v[14:15], v[14:15], v[12:13], v[18:19]
        v_div_fixup_f64 v[4:5], v[14:15], v[2:3], v[0:1]""",
}


def _reals(vector: np.ndarray, first: int, kind: type) -> np.ndarray:
    rows = np.dtype(kind).itemsize // 4
    return np.ascontiguousarray(vector[first * rows : (first + 1) * rows].T).view(kind).reshape(-1)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_division_by_scale_fmas_and_fixup_rounds_correctly(kind: type) -> None:
    step = Step(*(parse_line(line.strip()) for line in DIVISION[kind].strip().splitlines()))
    for seed in range(100):
        machine = random_machine(seed, DENORMALS)
        if seed % 2:
            machine.vector[:4] = np.random.default_rng(seed).integers(0, 1 << 32, (4, 64), np.uint32)
        over, under = (_reals(machine.vector, n, kind) for n in (0, 1))
        with np.errstate(all="ignore"):
            expected = over / under
        found = _reals(step.run(machine).vector, 2, kind)
        same = (found == expected) & (np.signbit(found) == np.signbit(expected)) | np.isnan(found) & np.isnan(expected)
        assert same.all(), [(a, b, c, d) for a, b, c, d in zip(over, under, found, expected, strict=True)][int(np.argmin(same))]


# Rules that sources leave in doubt -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "value", "scc"),
    [
        ("s_max_i32 s8, 5, -3", 5, 1),
        ("s_max_i32 s8, -3, 5", 5, 0),
        ("s_min_i32 s8, -3, 5", 0xFFFFFFFD, 1),
        ("s_min_i32 s8, 5, 5", 5, 0),
        ("s_max_u32 s8, -3, 5", 0xFFFFFFFD, 1),
        ("s_min_u32 s8, -3, 5", 5, 0),
    ],
)
def test_scc_of_scalar_extremes_tells_that_the_first_was_chosen(line: str, value: int, scc: int) -> None:
    after = Step(parse_line(line)).run(random_machine(0))
    assert (int(after.scalar[8]), int(after.scalar[128])) == (value, scc)


def test_inline_constant_of_packed_f32_lies_in_the_low_half() -> None:
    machine = random_machine(0)
    machine.vector[2:4] = np.float32(3).view(np.uint32)
    both = Step(parse_line("v_pk_mul_f32 v[0:1], v[2:3], 2.0 op_sel_hi:[1,0]")).run(machine)
    low = Step(parse_line("v_pk_mul_f32 v[0:1], v[2:3], 2.0")).run(machine)
    assert (both.vector[:2].view(np.float32) == 6).all()
    assert (low.vector[0].view(np.float32) == 6).all()
    assert (low.vector[1] == 0).all()


def test_packing_halves_quiets_and_flushes() -> None:
    machine = random_machine(0, IEEE)
    machine.vector[1], machine.vector[2] = 0x7C01, 0x0001
    after = Step(parse_line("v_pack_b32_f16 v0, v1, v2")).run(machine)
    assert (after.vector[0] == 0x00007E01).all()


# The comparison itself -------------------------------------------------------------------------------------------------------


def test_comparison_notices_a_wrong_register_and_a_wrong_byte() -> None:
    i = parse_line("ds_write_b32 v2, v3")
    machine = aim(i, random_machine(3), 3)
    right = run_reference(i, machine)
    assert not differences(Step(i).run(machine), right)
    for name, place in (("vector", (3, 7)), ("scalar", 9), ("lds", 5), ("buffer", 5)):
        wrong = right.copy()
        getattr(wrong, name)[place] ^= 1
        assert differences(wrong, right)


def test_comparison_notices_another_instruction() -> None:
    machine = random_machine(5)
    mine = Step(parse_line("v_add_u32 v0, v1, v2")).run(machine)
    assert differences(mine, run_reference(parse_line("v_sub_u32 v0, v1, v2"), machine))


def test_output_multipliers_need_a_mode_without_ieee_and_denormals() -> None:
    machine = random_machine(0)
    machine.vector[1] = np.float32(3).view(np.uint32)
    machine.vector[2] = np.float32(-0.0).view(np.uint32)
    step = Step(parse_line("v_mul_f32 v3, v1, 1.0 mul:2"), parse_line("v_mul_f32 v4, v2, 1.0 div:2"))
    for mode, three, zero in ((0xC0, 6, 0), (0xC0 | IEEE, 3, 1 << 31), (0x30, 3, 1 << 31), (0x10, 6, 0)):
        machine.scalar[MODE] = mode
        after = step.run(machine)
        assert (after.vector[3].view(np.float32) == three).all()
        assert (after.vector[4] == zero).all()


def test_packed_integers_read_an_inline_float_as_f32() -> None:
    machine = random_machine(0)
    machine.vector[1], machine.vector[2] = 0x00030005, 0x40003C00
    low = "op_sel_hi:[1,0]"
    lines = ("v_pk_add_u16 v3, v1, 2.0", f"v_pk_add_u16 v4, v1, 2.0 {low}", f"v_pk_add_f16 v5, v2, 1.0 {low}")
    after = Step(*(parse_line(line) for line in lines)).run(machine)
    assert [int(after.vector[n, 0]) for n in (3, 4, 5)] == [0x40030005, 0x00030005, 0x42004000]


# Every opcode, as the tool that fills the coverage page does -----------------------------------------------------------------


def _opcodes(target: str = "gfx942") -> list[OpcodeDef]:
    return [d for group in definitions().values() for d in group if target in d.targets and comparable_lines(d, target)]


def test_a_sample_of_opcodes_agrees_in_all_interpreters() -> None:
    chosen = [d for d in _opcodes() if d.family is not Family.MATRIX and zlib.crc32(d.mnemonic.encode()) % 60 == 0]
    outcomes = [compare(d, "gfx942", 64) for d in chosen]
    assert [problem for outcome in outcomes for problem in outcome.problems if "refused" not in problem] == []
    assert len(outcomes) > 10
    assert any(outcome.z3 for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_all_opcodes_agree_in_all_interpreters(part: int) -> None:
    chosen = [d for d in _opcodes() if d.family is not Family.MATRIX and zlib.crc32(d.mnemonic.encode()) % 16 == part]
    problems = [problem for d in chosen for problem in compare(d, "gfx942", 1_000).problems]
    assert [problem for problem in problems if "refused" not in problem] == []


def test_z3_notices_another_result() -> None:
    i = parse_line("v_add_u32 v0, v1, v2")
    machine = random_machine(5)
    after = Step(i).run(machine)
    encoded = encoded_results(i, "gfx942")
    before, left = ([Place(state, n) for n in range(64)] for state in (machine, after))
    assert not z3_differences(encoded, before, left)
    after.vector[0, 9] ^= 1
    assert z3_differences(encoded, before, left) == [
        "z3: unit 256, lane 9: " + f"{after.vector[0, 9] ^ 1:#x} != {after.vector[0, 9]:#x}"
    ]


def test_what_z3_takes_for_a_function_is_not_evaluated() -> None:
    assert encoded_results(parse_line("v_add_f32 v0, v1, v2"), "gfx942") == []
    assert encoded_results(parse_line("v_mul_u32_u24 v0, v1, v2"), "gfx942") != []
