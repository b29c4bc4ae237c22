"""The normaliser, the evaluator and the z3 encoding against plain Python integers."""

import random
from collections.abc import Callable

import pytest
import z3

from asmevo.verify.equivalence.evaluate import Evaluator
from asmevo.verify.equivalence.machine import holds
from asmevo.verify.equivalence.normal import Normaliser
from asmevo.verify.equivalence.solver import Prover, _Encoder
from asmevo.verify.equivalence.terms import Term

BITS = (1, 8, 16, 32, 64)
Pair = tuple[Term, tuple[int, ...]]


def signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


REFERENCE: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, n: a + b,
    "sub": lambda a, b, n: a - b,
    "mul": lambda a, b, n: a * b,
    "and": lambda a, b, n: a & b,
    "or": lambda a, b, n: a | b,
    "xor": lambda a, b, n: a ^ b,
    "shl": lambda a, b, n: a << b if b < n else 0,
    "lshr": lambda a, b, n: a >> b if b < n else 0,
    "ashr": lambda a, b, n: signed(a, n) >> min(b, n),
    "udiv": lambda a, b, n: a // b if b else -1,
    "urem": lambda a, b, n: a % b if b else a,
}
COMPARE: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda a, b, n: a == b,
    "ult": lambda a, b, n: a < b,
    "slt": lambda a, b, n: signed(a, n) < signed(b, n),
}


class Builder:
    """Random terms through the normaliser, each with its values on the evaluator's 64 lanes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.n = Normaliser()
        self.state = Evaluator(seed)

    def leaf(self, bits: int) -> Pair:
        if self.random.random() < 0.4:
            value = self.random.choice((0, 1, 2, bits - 1, (1 << bits) - 1, 1 << (bits - 1), self.random.getrandbits(bits)))
            value &= (1 << bits) - 1
            return self.n.const(bits, value), (value,) * 64
        term = self.n.table.node("var", min(bits, 32), (), f"x{self.random.randrange(3)}/{min(bits, 32)}", True)
        value = self.state.value(term)
        if bits == 64:
            return self.n.make("sext", 64, (term,)), tuple(signed(v, 32) & (1 << 64) - 1 for v in value)
        return term, value

    def term(self, bits: int, depth: int) -> Pair:
        if depth == 0:
            return self.leaf(bits)
        kind = self.random.randrange(8)
        mask = (1 << bits) - 1
        if kind == 0:
            wide = self.random.choice([w for w in BITS if w >= bits])
            low = self.random.randint(0, wide - bits)
            a, x = self.term(wide, depth - 1)
            return self.n.extract(a, low, bits), tuple(v >> low & mask for v in x)
        if kind == 1 and bits > 1:
            top = self.random.randint(1, bits - 1)
            (a, x), (b, y) = self.term_any(top, depth - 1), self.term_any(bits - top, depth - 1)
            return self.n.concat(a, b), tuple(v << (bits - top) | w for v, w in zip(x, y, strict=True))
        if kind == 2:
            (a, x), (b, y), (c, z) = self.term(1, depth - 1), self.term(bits, depth - 1), self.term(bits, depth - 1)
            return self.n.ite(a, b, c), tuple(w if v else u for v, w, u in zip(x, y, z, strict=True))
        if kind == 3:
            a, x = self.term(bits, depth - 1)
            return self.n.make("not", bits, (a,)), tuple(~v & mask for v in x)
        if kind == 4:
            small = self.random.choice([w for w in BITS if w <= bits])
            a, x = self.term(small, depth - 1)
            op = self.random.choice(("zext", "sext"))
            value = tuple((v if op == "zext" else signed(v, small)) & mask for v in x)
            return self.n.make(op, bits, (a,)), value
        if kind == 5 and bits == 1:
            wide = self.random.choice(BITS)
            (a, x), (b, y) = self.term(wide, depth - 1), self.term(wide, depth - 1)
            op = self.random.choice(list(COMPARE))
            return self.n.make(op, 1, (a, b)), tuple(int(COMPARE[op](v, w, wide)) for v, w in zip(x, y, strict=True))
        op = self.random.choice(list(REFERENCE))
        (a, x), (b, y) = self.term(bits, depth - 1), self.term(bits, depth - 1)
        return self.n.make(op, bits, (a, b)), tuple(REFERENCE[op](v, w, bits) & mask for v, w in zip(x, y, strict=True))

    def term_any(self, bits: int, depth: int) -> Pair:
        wide = next(w for w in BITS if w >= bits)
        a, x = self.term(wide, depth)
        return self.n.extract(a, 0, bits), tuple(v & (1 << bits) - 1 for v in x)


@pytest.mark.parametrize("seed", range(60))
def test_normal_forms_keep_the_value(seed: int) -> None:
    builder = Builder(seed)
    for _ in range(12):
        term, expected = builder.term(builder.random.choice(BITS), 4)
        value = builder.state.value(term)
        assert (value * 64 if len(value) == 1 else value) == expected, term


@pytest.mark.parametrize("seed", range(12))
def test_the_encoding_says_what_the_evaluator_says(seed: int) -> None:
    builder = Builder(seed)
    for _ in range(6):
        term, expected = builder.term(builder.random.choice(BITS), 3)
        encoder = _Encoder(lambda t: t.ident, multiply=True)
        encoder.encode((term,))
        values = [
            (z3.BitVec(f"var!{t.ident}", t.bits), z3.BitVecVal(builder.state.value(t)[5], t.bits))
            for t in builder.n.table._nodes.values()
            if t.op == "var"
        ]
        assert z3.simplify(z3.substitute(encoder.of(term), *values)).as_long() == expected[5], term


def test_a_mask_of_lane_logic_is_the_logic_of_masks() -> None:
    n = Normaliser()
    a, b = (n.table.node("var", 1, (), name, True) for name in "ab")
    assert n.make("and", 64, (n.ballot(a), n.ballot(b))) is n.ballot(n.both(a, b))
    assert n.lane_bit(n.make("not", 64, (n.ballot(a),))) is n.make("not", 1, (a,))


def test_what_a_context_decides() -> None:
    n = Normaliser()
    a, b = (n.table.node("var", 1, (), name, True) for name in "ab")
    assert holds(n.both(a, b), a) is True
    assert holds(a, n.both(a, b)) is None
    assert holds(n.both(a, n.make("not", 1, (b,))), b) is False
    assert holds(a, n.make("or", 1, (a, b))) is True
    assert holds(b, n.make("or", 1, (a, b))) is True
    assert holds(n.make("or", 1, (a, b)), a) is None


def test_lane_values_do_not_make_whole_registers_equal() -> None:
    """ite(active, x, y) and x agree in active lanes; matrix atoms of them must stay apart."""
    n = Normaliser()
    active, x, y = (n.table.node("var", bits, (), name, True) for bits, name in ((1, "e"), (32, "x"), (32, "y")))
    one, other = (n.table.node("atom", 32, (t,), "mfma", True) for t in (n.ite(active, x, y), x))
    prover = Prover(1e12, lambda term: 0)
    assert not prover.equal(one, other)
    assert not prover.equal(n.ite(active, one, y), n.ite(active, other, y))


def test_opaque_terms_merge_when_their_arguments_are_equal_everywhere() -> None:
    n = Normaliser()
    x, y = (n.table.node("var", 32, (), name, True) for name in "xy")
    left = n.make("and", 32, (x, n.make("or", 32, (x, y))))
    one, other = (n.table.node("atom", 32, (t,), "mfma", True) for t in (left, x))
    prover = Prover(1e12, lambda term: 0)
    assert prover.equal(n.make("add", 32, (one, y)), n.make("add", 32, (other, y)))
    assert prover.queries >= 1


def test_a_gather_is_a_function_of_the_lane_number_only_for_one_register() -> None:
    n = Normaliser()
    x, y, k = (n.table.node("var", 32, (), name, True) for name in "xyk")
    prover = Prover(1e12, lambda term: 0)
    same = [n.make("gather", 32, (x, index)) for index in (n.make("and", 32, (k, n.make("or", 32, (k, y)))), k)]
    assert prover.equal(*same)
    assert not prover.equal(n.make("gather", 32, (x, k)), n.make("gather", 32, (y, k)))


def test_a_uniform_value_is_itself_in_any_lane() -> None:
    n = Normaliser()
    s, k = n.table.node("var", 32, (), 0, False), n.table.node("var", 32, (), "k", True)
    assert n.make("gather", 32, (s, k)) is s
