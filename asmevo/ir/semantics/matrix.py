"""MFMA and SMFMAC: shapes, types, register layouts and modifiers of every matrix instruction.

D[b] = A[b] * B[b] + C[b] for each block b. The program is the intrinsic `matrix:NAME@TARGET ...`; interpreters take everything
from `operation_of`. The wave acts as if EXEC were all ones.

Layouts (source: CDNA3 ISA guide, "Matrix Arithmetic Instructions", and AMD's matrix instruction calculator):
* A: lane = i + M * (b + blocks * (k // per_lane)), element k % per_lane. B: the same with j and N.
* C and D of 32 bits: registers come in groups of 4 rows; of 64 bits one row at a time.
* The 8-bit formats of gfx950's f8f6f4 instructions hold K in chunks of 16 that go round the groups of lanes; 6 and 4 bits are
  consecutive as above. Element k is scaled by the byte of lane i + M * (k // 32), 2^(byte - 127), 255 being NaN.
* Sparse A holds two of every four k. The pair p of a lane's elements stands for four k of B's same group of lanes, and index
  bits 4p+1:4p and 4p+3:4p+2 tell which two of them.

Modifiers. cbsz c and abid a (several blocks): blocks in groups of 2^c all take A of the group's block a. In sparse instructions
abid picks the index bits within their register where cbsz is 0; in f8f6f4 ones cbsz and blgp are the formats of A and B. blgp:
rows of 16 lanes of B are broadcast (1, 2, 4 to 7) or rotated (3). f64 has no blgp, but negates A, B and C.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Family, OpcodeDef
from asmevo.ir.semantics.expr import Domain, Program
from asmevo.ir.semantics.form import Form, UnsupportedFormError
from asmevo.ir.semantics.small_float import SMALL, format_of

WAVE = 64
PREFIX = "matrix:"
_TYPES = r"f16|bf16|xf32|f32|f64|i8|fp8|bf8|f8f6f4"
_NAME = re.compile(rf"v_(mfma|mfma_scale|smfmac)_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_\d+b)?_?({_TYPES})(?:_(fp8|bf8)|_1k)?")
_TEXT = re.compile(r"matrix:(\w+)@(\w+)((?: \w+=\d+)*)")
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "f64": 64, "i8": 8, "i32": 32} | {n: f.bits for n, f in SMALL.items()}
_MIXED = ("fp8", "bf8", "fp6", "bf6", "fp4")
_ROWS = {0: (0, 1, 2, 3), 1: (0, 1, 0, 1), 2: (2, 3, 2, 3), 3: (1, 2, 3, 0)} | {4 + n: (n,) * 4 for n in range(4)}
"""By blgp: for each row of 16 lanes, the row of B it reads."""


class Rule(enum.Enum):
    """How the products of a row and a column are added; see `reference_matrix`."""

    CHAIN = "chain"
    """One fused multiply-add after another."""
    FUSED = "fused"
    """Groups that are aligned, truncated, added exactly and rounded once: gfx942, and gfx950 for want of a published rule."""
    PAIRS = "pairs"
    """Pairwise sums without subnormals: gfx90a."""
    INTEGER = "integer"


@dataclass(frozen=True, slots=True)
class MatrixShape:
    """A matrix instruction: `blocks` products of M x K by K x N; types of A, of B, and of C and D.

    `sparse`: A holds half of its K. `chunked`: K goes round the groups of lanes in chunks of 16 where elements have 8 bits.
    """

    m: int
    n: int
    k: int
    blocks: int
    type_a: str
    type_b: str
    type_d: str
    sparse: bool = False
    chunked: bool = False

    @property
    def k_a(self) -> int:
        """Elements that a row of A holds."""
        return self.k // 2 if self.sparse else self.k

    @property
    def per_lane(self) -> int:
        """Elements of B that one lane holds, consecutive in k unless chunked; of A too, unless it is sparse."""
        return self.n * self.k * self.blocks // WAVE

    @property
    def per_lane_a(self) -> int:
        """Elements of A that one lane holds."""
        return self.m * self.k_a * self.blocks // WAVE

    @property
    def element_bits(self) -> int:
        """Width of an element of A; packed from bit 0 of the first register."""
        return _BITS[self.type_a]

    @property
    def element_bits_b(self) -> int:
        """Width of an element of B."""
        return _BITS[self.type_b]

    @property
    def result_bits(self) -> int:
        """Width of an element of C and D."""
        return _BITS[self.type_d]

    @property
    def results_per_lane(self) -> int:
        """Elements of C (and of D) that one lane holds."""
        return self.m * self.n * self.blocks // WAVE

    def _place(self, size: int, block: int, i: int, k: int, per: int, bits: int) -> tuple[int, int]:
        if self.chunked and bits == 8:
            groups = WAVE // size
            chunk, inside = divmod(k, 16)
            return i + size * (chunk % groups), 16 * (chunk // groups) + inside
        return i + size * (block + self.blocks * (k // per)), k % per

    def place_a(self, block: int, i: int, k: int) -> tuple[int, int]:
        """Lane and element of A[block][i][k]; of a sparse A the k-th that it holds."""
        return self._place(self.m, block, i, k, self.per_lane_a, self.element_bits)

    def place_b(self, block: int, k: int, j: int) -> tuple[int, int]:
        """Lane and element of B[block][k][j]."""
        return self._place(self.n, block, j, k, self.per_lane, self.element_bits_b)

    def place_d(self, lane: int, element: int) -> tuple[int, int, int]:
        """Block, row and column of a lane's element of C and D."""
        j = lane % self.n
        rest = lane // self.n
        across = WAVE // self.n
        group = 1 if self.type_d == "f64" else 4
        if self.m * self.n < WAVE or (self.m == 4 and self.n == 4):
            inside = self.blocks if group == 4 else WAVE // (self.n * self.m)
            return rest % inside, element + rest // inside, j
        rows = self.m // (group * across)
        high, low = divmod(element, group)
        block, step = divmod(high, rows)
        return block, group * (step * across + rest) + low, j


@dataclass(frozen=True, slots=True)
class MatrixOperation:
    """All that an interpreter needs of a matrix instruction beside its registers.

    `group`: products that are summed before the accumulator joins. `broadcast` is cbsz and abid of a dense instruction.
    `negate`: A, B and C. `index_shift`: the index register's bit at which a sparse instruction's index bits begin.
    `scale_bytes`: the bytes of the two scale operands, None without scales. `exact`: the sums are published to the bit.
    """

    shape: MatrixShape
    rule: Rule
    group: int
    exact: bool
    broadcast: tuple[int, int] = (0, 0)
    blgp: int = 0
    negate: tuple[bool, bool, bool] = (False, False, False)
    index_shift: int = 0
    scale_bytes: tuple[int, int] | None = None

    @property
    def split(self) -> bool:
        """Whether products at even and odd k are summed apart, as those of 8 bits and less are."""
        return self.shape.type_a in SMALL

    def block_of_a(self, block: int) -> int:
        """The block whose A block `block` takes."""
        size, chosen = 1 << self.broadcast[0], self.broadcast[1]
        return block // size * size + chosen % size

    def lane_of_b(self, lane: int) -> int:
        """The lane whose B registers stand in for those of `lane`."""
        return 16 * _ROWS[self.blgp][lane // 16] + lane % 16

    def index_bits(self) -> int:
        """Index bits of one lane."""
        return 2 * self.shape.per_lane_a


def _group(shape: MatrixShape, rule: Rule) -> int:
    kind = shape.type_a
    if rule is Rule.PAIRS:
        # gfx90a's first bf16 instructions take two elements a lane, the _1k ones four.
        return 2 if kind == "bf16" and shape.per_lane == 2 else 4
    if rule is not Rule.FUSED:
        return 1
    return min(4 if kind == "xf32" else 16 if kind in SMALL else 8, shape.k_a)


def _rule(kind: str, target: str) -> Rule:
    if kind == "i8":
        return Rule.INTEGER
    if kind in ("f32", "f64"):
        return Rule.CHAIN
    return Rule.PAIRS if target == "gfx90a" else Rule.FUSED


def _shape(definition: OpcodeDef, match: re.Match[str], target: str, formats: tuple[int, int]) -> MatrixShape | None:
    kind, result, first, second = match[1], match[2], match[6], match[7]
    m, n, k = (int(match[index]) for index in (3, 4, 5))
    bits = {spec.name: spec.bits for spec in definition.operands}
    blocks = bits["vdst"] // _BITS[result] * WAVE // (m * n)
    if first == "f8f6f4":
        if max(formats) >= len(_MIXED):
            return None
        a, b = (format_of(_MIXED[code], target) for code in formats)
        return MatrixShape(m, n, k, blocks, a, b, result, chunked=True)
    a, b = (format_of(name, target) if name in ("fp8", "bf8") else name for name in (first, second or first))
    shape = MatrixShape(m, n, k, blocks, a, b, result, sparse=kind == "smfmac")
    return shape if shape.per_lane_a * shape.element_bits == bits["src0"] else None


@lru_cache(maxsize=1024)
def operation_of(intrinsic: str) -> MatrixOperation | None:
    """What a program's intrinsic `matrix:...` does; None for any other, and for combinations that no chip has."""
    text = _TEXT.fullmatch(intrinsic)
    if text is None:
        return None
    name, target = text[1], text[2]
    given = {key: int(value) for key, value in (item.split("=") for item in text[3].split())}
    cbsz, abid, blgp = (given.get(key, 0) for key in ("cbsz", "abid", "blgp"))
    definition, match = lookup(name), _NAME.fullmatch(name)
    if definition is None or match is None:
        return None
    mixed = match[6] == "f8f6f4"
    shape = _shape(definition, match, target, (cbsz, blgp))
    if shape is None:
        return None
    rule = _rule(shape.type_a, target)
    published = target in ("gfx90a", "gfx942") and not shape.sparse and not mixed
    sparse_set = abid if shape.sparse and cbsz == 0 else 0
    double = shape.type_d == "f64"
    negate = given.get("neg", blgp if double else 0)
    operation = MatrixOperation(
        shape,
        rule,
        _group(shape, rule),
        rule is Rule.INTEGER or published,
        (0, 0) if mixed or shape.sparse else (cbsz, abid),
        0 if mixed or double else blgp,
        (bool(negate & 1), bool(negate & 2), bool(negate & 4)),
        sparse_set * 2 * shape.per_lane_a,
        (given["scale0"], given["scale1"]) if match[1] == "mfma_scale" else None,
    )
    size = 1 << operation.broadcast[0]
    sensible = size <= max(1, shape.blocks) and operation.index_shift + (operation.index_bits() if shape.sparse else 0) <= 32
    return operation if sensible and operation.blgp in _ROWS else None


def plain_operation(mnemonic: str, target: str = "gfx942") -> MatrixOperation | None:
    """The operation of a matrix instruction without modifiers; None for any other instruction."""
    scale = " scale0=0 scale1=0" if mnemonic.startswith("v_mfma_scale_") else ""
    return operation_of(f"{PREFIX}{mnemonic}@{target}{scale}")


def shape_of(mnemonic: str, target: str = "gfx942") -> MatrixShape | None:
    """The shape of a matrix instruction without modifiers; None for any other instruction."""
    operation = plain_operation(mnemonic, target)
    return None if operation is None else operation.shape


def _number(form: Form, name: str) -> int:
    value = form.modifier(name, 0)
    if isinstance(value, tuple):
        return sum(item << place for place, item in enumerate(value))
    return int(value) if isinstance(value, int) else 0


def program(form: Form) -> Program | None:
    """The program of a matrix instruction; None for any other. UnsupportedFormError for combinations that no chip has."""
    if form.definition.family is not Family.MATRIX or not form.name.startswith(("v_mfma_", "v_smfmac_")):
        return None
    if _NAME.fullmatch(form.name) is None:
        return None
    if form.modifier("clamp"):
        raise UnsupportedFormError("clamp on a matrix instruction")
    parts = [f"{name}={_number(form, name)}" for name in ("cbsz", "abid", "blgp", "neg") if _number(form, name)]
    if form.name.startswith("v_mfma_scale_"):
        low, high = form.flags("op_sel", 2, 0), form.flags("op_sel_hi", 2, 1)
        parts += [f"scale{n}={low[n] + 2 * high[n]}" for n in (0, 1)]
    text = " ".join([f"{PREFIX}{form.name}@{form.target}", *parts])
    operation = operation_of(text)
    if operation is None:
        raise UnsupportedFormError("this combination of modifiers on a matrix instruction")
    return Program(Domain.INTRINSIC, intrinsic=text, approximate=not operation.exact)
