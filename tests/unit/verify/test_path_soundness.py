"""A path that some run of a random program takes must never be called impossible."""

import random

from asmevo.frontend.source import parse_source
from asmevo.verify.static.waits import MISSING_WAIT, check_waits

MASK = (1 << 32) - 1
BLOCKS, INPUTS, STEPS, PROGRAMS = 4, 40, 60, 40
REGISTERS = ("s4", "s5", "s6", "s7")
VALUES = (0, 1, 2, 3, 31, 32, 33, 0x7FFFFFFF, 0x80000000, MASK)


def signed(value):
    return value - (1 << 32) if value >> 31 else value


OPERATIONS = {
    "s_add_u32": lambda a, b: ((a + b) & MASK, (a + b) >> 32),
    "s_sub_u32": lambda a, b: ((a - b) & MASK, int(a < b)),
    "s_and_b32": lambda a, b: (a & b, int(a & b != 0)),
    "s_xor_b32": lambda a, b: (a ^ b, int(a ^ b != 0)),
    "s_lshr_b32": lambda a, b: (a >> (b & 31), int(a >> (b & 31) != 0)),
    "s_lshl_b32": lambda a, b: (a << (b & 31) & MASK, int(a << (b & 31) & MASK != 0)),
    "s_mul_i32": lambda a, b: (a * b & MASK, None),
}
COMPARISONS = {
    "s_cmp_eq_u32": lambda a, b: a == b,
    "s_cmp_lt_u32": lambda a, b: a < b,
    "s_cmp_lt_i32": lambda a, b: signed(a) < signed(b),
    "s_cmp_ge_i32": lambda a, b: signed(a) >= signed(b),
}


def program(pick):
    """Blocks of (operation, operands...) ending with a branch (condition, target) or None."""
    blocks = []
    for number in range(BLOCKS):
        body = []
        for _ in range(pick.randrange(3)):
            second = pick.choice([*REGISTERS, 1, 2, 3, 32])
            body.append((pick.choice(list(OPERATIONS)), pick.choice(REGISTERS), pick.choice(REGISTERS), second))
        body.append(pick.choice([("load",), ("load",), ("wait",), ("use",), ("none",)]))
        body.append((pick.choice(list(COMPARISONS)), pick.choice(REGISTERS), pick.choice([*REGISTERS, 0, 1, 2])))
        target = pick.randrange(BLOCKS) if number < BLOCKS - 1 else None
        blocks.append((body, None if target is None else (pick.randrange(2), target)))
    blocks[-1][0].append(("use",))
    return blocks


TEXTS = {
    "load": "global_load_dword v1, v0, s[0:1]",
    "wait": "s_waitcnt vmcnt(0)",
    "use": "v_mov_b32_e32 v2, v1",
    "none": "s_nop 0",
}


def text_of(blocks):
    lines = []
    for number, (body, branch) in enumerate(blocks):
        lines.append(f"b{number}:")
        for step in body:
            lines.append(TEXTS.get(step[0]) or f"{step[0]} {', '.join(map(str, step[1:]))}")
        if branch:
            lines.append(f"s_cbranch_scc{branch[0]} b{branch[1]}")
    return "\n".join([*lines, "s_endpgm"])


def uses_too_early(blocks, registers):
    """Whether a run from these registers uses the load's result before a wait."""
    state, scc, at, pending = dict(registers), 0, 0, False
    for _ in range(STEPS):
        body, branch = blocks[at]
        for step in body:
            if step[0] in OPERATIONS:
                _, target, first, second = step
                value, flag = OPERATIONS[step[0]](state[first], state.get(second, second))
                state[target], scc = value, scc if flag is None else flag
            elif step[0] in COMPARISONS:
                scc = int(COMPARISONS[step[0]](state[step[1]], state.get(step[2], step[2])))
            elif step[0] == "load":
                pending = True
            elif step[0] == "wait":
                pending = False
            elif step[0] == "use" and pending:
                return True
        if branch is None:
            return False
        at = branch[1] if scc == branch[0] else at + 1
    return False


def test_no_use_that_some_run_makes_too_early_is_dropped():
    pick = random.Random(20)
    early = clean = 0
    for _ in range(PROGRAMS):
        blocks = program(pick)
        found = any(f.code == MISSING_WAIT for f in check_waits(parse_source(text_of(blocks), "t.s")))
        runs = [{name: pick.choice([*VALUES, pick.getrandbits(32)]) for name in REGISTERS} for _ in range(INPUTS)]
        happens = any(uses_too_early(blocks, registers) for registers in runs)
        assert found or not happens, text_of(blocks)
        early += happens
        clean += not found
    assert early > 5
    assert clean > 5
