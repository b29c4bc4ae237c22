"""Windows from text, for the tests of the equivalence proof."""

from collections.abc import Sequence

from asmevo.frontend.parser import parse_line
from asmevo.ir.instruction import Instruction
from asmevo.ir.registers import SPECIAL_NAMES, VGPR0
from asmevo.verify.equivalence.window import prove_window
from asmevo.verify.verdict import Outcome, Verdict


def window(text: str) -> list[Instruction]:
    return [parse_line(line.strip()) for line in text.strip().splitlines()]


def live(names: str) -> int:
    mask = 0
    for name in names.split():
        if name in SPECIAL_NAMES:
            unit, count = SPECIAL_NAMES[name]
            mask |= ((1 << count) - 1) << unit
        else:
            first, _, last = name[1:].partition("-")
            base = {"v": VGPR0, "a": VGPR0 + 256, "s": 0}[name[0]]
            for k in range(int(first), int(last or first) + 1):
                mask |= 1 << (base + k)
    return mask


def judge(before: str | Sequence[Instruction], after: str | Sequence[Instruction], live_out: str, **options: object) -> Verdict:
    one = window(before) if isinstance(before, str) else before
    other = window(after) if isinstance(after, str) else after
    return prove_window(one, other, live(live_out), **options)  # type: ignore[arg-type]


def outcome(before: str, after: str, live_out: str, **options: object) -> Outcome:
    return judge(before, after, live_out, **options).outcome
