"""Element types and fills of launch buffers: numbers to bytes and back.

Owns number formats and seeded fills. It must not know launch files or kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.launch import Bytes

Floats = npt.NDArray[np.float64]

POISON = 0xA5
"""Byte that fills buffers whose contents are undefined: a plausible-looking but recognisable value in every element type."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """A number format: its size in bytes, whether it holds fractions, and both conversions."""

    name: str
    size: int
    is_float: bool
    encode: Callable[[npt.NDArray[Any]], Bytes]
    decode: Callable[[Bytes], npt.NDArray[Any]]


def element_types(target: str) -> dict[str, ElementType]:
    """The element types by name. `fp8` and `bf8` are the target's own: FNUZ on gfx90a and gfx942, OCP on gfx950."""
    return _element_types(target.startswith("gfx950"))


@lru_cache(maxsize=2)
def _element_types(ocp: bool) -> dict[str, ElementType]:
    plain = {
        "f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "u64": np.uint64, "i32": np.int32,
        "u32": np.uint32, "i16": np.int16, "u16": np.uint16, "i8": np.int8, "u8": np.uint8,
    }  # fmt: skip
    types = {name: _plain(name, np.dtype(kind)) for name, kind in plain.items()}
    types["bf16"] = ElementType("bf16", 2, True, _encode_bf16, decode_bf16)
    for name, exponent_bits in (("fp8", 4), ("bf8", 5)):
        values = fp8_values(exponent_bits, ocp)
        types[name] = ElementType(name, 1, True, _nearest_encoder(values), _table_decoder(values))
    return types


def _bytes(values: npt.NDArray[Any]) -> Bytes:
    return np.array(np.frombuffer(values.tobytes(), dtype=np.uint8))


def _plain(name: str, kind: np.dtype[Any]) -> ElementType:
    def encode(values: npt.NDArray[Any]) -> Bytes:
        with np.errstate(over="ignore"):
            return _bytes(values.astype(kind))

    def decode(data: Bytes) -> npt.NDArray[Any]:
        return np.frombuffer(data.tobytes(), dtype=kind)

    return ElementType(name, kind.itemsize, kind.kind == "f", encode, decode)


def _encode_bf16(values: npt.NDArray[Any]) -> Bytes:
    bits = np.frombuffer(values.astype(np.float32).tobytes(), dtype=np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return _bytes(np.where(np.isnan(values.ravel()), quiet, rounded).astype(np.uint16))


def decode_bf16(data: Bytes) -> npt.NDArray[np.float32]:
    """The float32 values of bfloat16 bytes; shape (n,) from (2n,)."""
    halves = np.frombuffer(data.tobytes(), dtype=np.uint16).astype(np.uint32)
    return np.frombuffer((halves << np.uint32(16)).tobytes(), dtype=np.float32)


def fp8_values(exponent_bits: int, ocp: bool) -> Floats:
    """The 256 values of an 8-bit float by code: 4 exponent bits is FP8, 5 is BF8. Shape (256,).

    Source: OCP 8-bit floating point specification 1.0; FNUZ has one more in the bias, no infinities and NaN at 0x80 only.
    """
    mantissa_bits = 7 - exponent_bits
    bias = (1 << (exponent_bits - 1)) - (1 if ocp else 0)
    codes = np.arange(128)
    exponent = codes >> mantissa_bits
    fraction = (codes & ((1 << mantissa_bits) - 1)) / float(1 << mantissa_bits)
    positive = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1.0 + fraction, exponent - bias))
    if ocp and exponent_bits == 5:
        positive[0x7C], positive[0x7D:] = np.inf, np.nan
    elif ocp:
        positive[0x7F] = np.nan
    values = np.concatenate([positive, -positive])
    if not ocp:
        values[0x80] = np.nan
    return values


def _nearest_encoder(values: Floats) -> Callable[[npt.NDArray[Any]], Bytes]:
    finite = np.flatnonzero(np.isfinite(values[:128]))
    magnitudes = values[finite]
    nan = int(np.flatnonzero(np.isnan(values))[0])
    negative_zero = not np.isnan(values[0x80])

    def encode(numbers: npt.NDArray[Any]) -> Bytes:
        size = np.minimum(np.abs(numbers.astype(np.float64)), magnitudes[-1])
        above = np.minimum(np.maximum(np.searchsorted(magnitudes, size), 1), len(magnitudes) - 1)
        down, up = size - magnitudes[above - 1], magnitudes[above] - size
        tie_down = (finite[above - 1] & 1) == 0
        code = np.where((down < up) | ((down == up) & tie_down), finite[above - 1], finite[above])
        signed = np.where(np.signbit(numbers) & ((code != 0) | negative_zero), code | 0x80, code)
        return _bytes(np.where(np.isnan(numbers), nan, signed).astype(np.uint8))

    return encode


def _table_decoder(values: Floats) -> Callable[[Bytes], npt.NDArray[Any]]:
    def decode(data: Bytes) -> npt.NDArray[Any]:
        return values[data]

    return decode


_FRACTION_BITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "fp8": 3, "bf8": 2}


SPRINKLES = ("zero", "denormal", "smallest", "largest", "infinity", "nan")
"""Classes of numbers at a float format's edges."""


def special_classes(element: ElementType) -> dict[str, tuple[float, ...]]:
    """The edges of a float format by class, both signs: zero, least and largest denormal, least normal, largest; infinity, NaN.

    A format without infinities or without a negative zero encodes these as its nearest.
    """
    fraction_bits, bits = _FRACTION_BITS[element.name], 8 * element.size
    normal = 1 << fraction_bits
    infinity = (1 << (bits - 1)) - normal
    largest = infinity - 1
    if element.size == 1:  # Some 8-bit formats have numbers where others have infinity.
        largest = int(np.flatnonzero(np.isfinite(element.decode(np.arange(128, dtype=np.uint8))))[-1])
    codes = np.array((0, 1, normal - 1, normal, largest), dtype=f"u{element.size}")
    zero, *edges = ((float(value), -float(value)) for value in element.decode(_bytes(codes)).astype(np.float64))
    return {
        "zero": zero,
        "denormal": (*edges[0], *edges[1]),
        "smallest": edges[2],
        "largest": edges[3],
        "infinity": (math.inf, -math.inf),
        "nan": (math.nan,),
    }


def special_values(element: ElementType, classes: Sequence[str] = SPRINKLES) -> tuple[float, ...]:
    """The edges of a float format in some classes, by default in all."""
    known = special_classes(element)
    return tuple(value for name in SPRINKLES if name in classes for value in known[name])


@dataclass(frozen=True, slots=True)
class Fill:
    """How a buffer starts: `kind` with its parameters; `high` is exclusive, as in NumPy, but for `offsets`.

    `specials` take the place of a `share` (0 to 1) of the numbers, whatever the kind. `data` are the numbers of `list`.
    """

    kind: str
    seed: int = 0
    low: float = 0.0
    high: float = 1.0
    value: float = 0.0
    scale: float = 1.0
    share: float = 0.125
    specials: tuple[float, ...] = ()
    data: tuple[float, ...] = ()


FILLS = (
    "normal", "special", "uniform", "integers", "permutation", "indices", "pages", "offsets", "zeros", "arange", "constant",
    "list", "pointers", "file",
)  # fmt: skip
"""All fills; the addresses of `pointers` are known only when the launch is run, so its numbers are zeros here. The bytes of
`file` are no numbers: `verify.launch.contents` reads them."""


def fill_values(fill: Fill, count: int, width: int | None = None) -> npt.NDArray[Any]:
    """`count` numbers, the same for the same fill on every machine; `width` is the length of a row, `count` if not given.

    A `permutation` and `indices` are drawn for each row, `pages` and `offsets` once; `list` is repeated to the end.
    """
    random = np.random.default_rng(fill.seed)
    values = _values(fill, count, width or count, random)
    if not fill.specials:
        return values
    chosen = np.array(fill.specials)[random.integers(0, len(fill.specials), count)]
    return np.where(random.random(count) < fill.share, chosen, values)


def _values(fill: Fill, count: int, width: int, random: np.random.Generator) -> npt.NDArray[Any]:
    low, high = fill.low, fill.high
    match fill.kind:
        case "normal" | "special":
            return random.standard_normal(count) * fill.scale + fill.value
        case "uniform":
            return random.uniform(low, high, count)
        case "integers":
            return random.integers(int(low), int(high), count)
        case "permutation":
            return np.concatenate([random.permutation(width) + int(low) for _ in range(count // width)])
        case "indices":
            return np.concatenate([_distinct(random, int(low), int(high), width) for _ in range(count // width)])
        case "pages":
            return _distinct(random, int(low), int(high), count)
        case "offsets":
            cuts = np.sort(random.integers(0, int(high) - int(low) * (count - 1) + 1, max(count - 2, 0)))
            return np.concatenate([[0], cuts + int(low) * np.arange(1, count - 1), [int(high)]])[-count:]
        case "arange":
            return np.arange(count) * fill.scale + fill.value
        case "constant":
            return np.full(count, fill.value)
        case "list":
            return np.resize(np.array(fill.data), count)
        case _:
            return np.zeros(count)


def _distinct(random: np.random.Generator, low: int, high: int, count: int) -> npt.NDArray[Any]:
    return random.choice(high - low, count, replace=False) + low
