"""MFMA: the shape, types and register layouts of every dense matrix instruction.

D[b] = A[b] * B[b] + C[b] for each block b. The program of an MFMA is the intrinsic `mfma:NAME`; interpreters take shape and
layouts from `shape_of`. The wave acts as if EXEC were all ones. cbsz, abid, blgp and neg have no semantics here, nor have the
sparse (smfmac) and block-scaled forms.

Layouts (source: CDNA3 ISA guide, "Matrix Arithmetic Instructions", and AMD's matrix instruction calculator):
* A: lane = i + M * (b + blocks * (k // per_lane)), element k % per_lane. B: the same with j and N.
* C and D of 32 bits: registers come in groups of 4 rows; of 64 bits one row at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from asmevo.ir.isa import lookup
from asmevo.ir.isa.model import Family, OpcodeDef
from asmevo.ir.semantics.expr import Domain, Program
from asmevo.ir.semantics.form import Form, UnsupportedFormError

WAVE = 64
_NAME = re.compile(r"v_mfma_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_\d+b)?_?(f16|bf16|f32|xf32|f64|i8|fp8|bf8)(?:_(fp8|bf8)|_1k)?")
_ELEMENT_BITS = {"f16": 16, "bf16": 16, "f32": 32, "xf32": 32, "f64": 64, "i8": 8, "fp8": 8, "bf8": 8, "i32": 32}


@dataclass(frozen=True, slots=True)
class MatrixShape:
    """A dense matrix instruction: `blocks` products of M x K by K x N; types of A, of B, and of C and D."""

    m: int
    n: int
    k: int
    blocks: int
    type_a: str
    type_b: str
    type_d: str

    @property
    def per_lane(self) -> int:
        """Elements of A (and of B) that one lane holds, consecutive in k."""
        return self.m * self.k * self.blocks // WAVE

    @property
    def element_bits(self) -> int:
        """Width of an element of A and B; packed from bit 0 of the first register."""
        return _ELEMENT_BITS[self.type_a]

    @property
    def result_bits(self) -> int:
        """Width of an element of C and D."""
        return _ELEMENT_BITS[self.type_d]

    @property
    def results_per_lane(self) -> int:
        """Elements of C (and of D) that one lane holds."""
        return self.m * self.n * self.blocks // WAVE

    def place_a(self, block: int, i: int, k: int) -> tuple[int, int]:
        """Lane and element of A[block][i][k]."""
        return i + self.m * (block + self.blocks * (k // self.per_lane)), k % self.per_lane

    def place_b(self, block: int, k: int, j: int) -> tuple[int, int]:
        """Lane and element of B[block][k][j]."""
        return j + self.n * (block + self.blocks * (k // self.per_lane)), k % self.per_lane

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


@lru_cache(maxsize=256)
def shape_of(mnemonic: str) -> MatrixShape | None:
    """The shape of a dense MFMA by mnemonic; None for any other instruction."""
    definition = lookup(mnemonic)
    match = _NAME.fullmatch(mnemonic)
    return None if definition is None or match is None else _shape(definition, match)


def _shape(definition: OpcodeDef, match: re.Match[str]) -> MatrixShape | None:
    result, first, second = match[1], match[5], match[6]
    m, n, k = (int(match[index]) for index in (2, 3, 4))
    bits = {spec.name: spec.bits for spec in definition.operands}
    blocks = bits["vdst"] // _ELEMENT_BITS[result] * WAVE // (m * n)
    shape = MatrixShape(m, n, k, blocks, first, second or first, result)
    return shape if shape.per_lane * shape.element_bits == bits["src0"] else None


def program(form: Form) -> Program | None:
    """The program of an MFMA; None for sparse, scaled and permuting forms."""
    if form.definition.family is not Family.MATRIX or shape_of(form.name) is None:
        return None
    for name in ("cbsz", "abid", "blgp", "neg", "clamp"):
        if form.modifier(name):
            raise UnsupportedFormError(f"{name} on a matrix instruction")
    # Only gfx942's sums are published to the bit.
    return Program(Domain.INTRINSIC, intrinsic=f"mfma:{form.name}", approximate="gfx942" not in form.definition.targets)
