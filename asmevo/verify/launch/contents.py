"""Buffers of a launch file: shape, role, contents and how results are compared.

Owns the meaning of a buffer's keys. How numbers are made and encoded is `verify.launch.data`'s.
"""

from __future__ import annotations

import math

import numpy as np

from asmevo.backend.launch import Buffer, Tolerance
from asmevo.verify.launch.data import FILLS, POISON, SPRINKLES, ElementType, Fill, fill_values, special_values
from asmevo.verify.launch.file import Argument, Key
from asmevo.verify.launch.scope import Scope
from asmevo.verify.launch_files import read_contents

MAX_BUFFER_BYTES = 1 << 30
"""What the buffers of all cases take together: every case is built before the first is run."""

MAX_FILLED = 1 << 26
"""Elements of a buffer that a fill computes, in double precision and with temporaries of that size."""

MAX_DISTINCT = 1 << 26
"""The range that distinct numbers are drawn from, all of which is held."""
MAX_WHOLE = 1 << 62
_FLOAT_FILLS = ("normal", "special", "uniform")
_WHOLE_FILLS = ("integers", "permutation", "indices", "pages", "offsets")
_NUMBERS = ("low", "high", "value", "scale", "share")


def make_buffer(scope: Scope, place: Key, argument: Argument, name: str, element: ElementType, seed: int, taken: int) -> Buffer:
    """The buffer of an argument; `seed` is that of its fill, `taken` the bytes of those made before. Raises E0224, E0225."""
    assert argument.buffer is not None
    shape = [scope.whole(item, (*place, "buffer")) for item in argument.buffer]
    if not shape or any(item < 1 for item in shape):
        scope.refuse("E0225", f"a buffer's shape is whole numbers from 1, not {shape}", (*place, "buffer"))
    count = math.prod(shape)
    if taken + count * element.size > MAX_BUFFER_BYTES:
        message = f"the buffers take {taken + count * element.size} bytes, more than {MAX_BUFFER_BYTES}"
        scope.refuse("E0225", message, (*place, "buffer"))
    tolerance = _tolerance(scope, place, argument, element)
    if argument.role == "out":
        if argument.fill is not None:
            scope.refuse("E0225", "an output has no fill: it starts undefined", (*place, "fill"), 'role = "inout"?')
        return Buffer(name, np.full(count * element.size, POISON, dtype=np.uint8), True, False, element.name, tolerance)
    if (argument.fill == "file") != (argument.file is not None):
        scope.refuse("E0225", "file goes with fill 'file'", (*place, "file" if argument.file else "fill"))
    if argument.links is not None and argument.file is None:
        scope.refuse(
            "E0225", "links go with fill 'file'", (*place, "links"), "for a table of pointers there is fill 'pointers'"
        )
    if argument.file is not None:
        data = read_contents(scope, (*place, "file"), argument.file, count * element.size)
        return Buffer(name, data, argument.role != "in", True, element.name, tolerance)
    if count > MAX_FILLED:
        scope.refuse("E0225", f"{count} elements are more than the {MAX_FILLED} that are filled", (*place, "buffer"))
    fill = _fill(scope, place, argument, element, seed)
    _check_drawn(scope, place, fill, count, shape[-1])
    data = element.encode(fill_values(fill, count, shape[-1]))
    return Buffer(name, data, argument.role != "in", True, element.name, tolerance)


def _tolerance(scope: Scope, place: Key, argument: Argument, element: ElementType) -> Tolerance | None:
    given = argument.compare
    if given is None or given == "exact":
        return None
    if argument.role == "in":
        scope.refuse("E0225", "compare is for buffers that are written", (*place, "compare"), 'role = "out" or "inout"?')
    if given.ulps is None and given.absolute is None and given.relative is None:
        scope.refuse("E0225", "compare names no bound", (*place, "compare"), 'ulps, absolute or relative; or "exact"')
    if not element.is_float:
        scope.refuse("E0225", f"{element.name} is compared exactly", (*place, "compare"), 'compare = "exact"')
    return Tolerance(given.ulps, given.absolute, given.relative)


def _fill(scope: Scope, place: Key, argument: Argument, element: ElementType, seed: int) -> Fill:
    kind = argument.fill
    if kind not in FILLS:
        message = f"unknown fill '{kind}'" if kind else "an input buffer needs a fill"
        scope.refuse("E0225", message, (*place, "fill"), f"one of {', '.join(FILLS)}")
    if kind in _FLOAT_FILLS and not element.is_float:
        scope.refuse("E0225", f"fill '{kind}' needs a float dtype", (*place, "fill"), 'use "integers"')
    if kind == "pointers" and element.name != "u64":
        scope.refuse("E0225", "pointers are u64", (*place, "dtype") if argument.dtype else place)
    if (kind == "list") != (argument.data is not None):
        scope.refuse("E0225", "data goes with fill 'list'", (*place, "data" if argument.data else "fill"))
    if (kind == "pointers") != (argument.to is not None):
        scope.refuse("E0225", "to goes with fill 'pointers'", (*place, "to" if argument.to else "fill"))
    given = {name: scope.real(value, (*place, name)) for name in _NUMBERS if (value := getattr(argument, name)) is not None}
    for name, value in given.items():
        if (kind in _WHOLE_FILLS or not element.is_float) and not abs(value) < MAX_WHOLE:
            scope.refuse("E0225", f"{name} {value} is no whole number that a fill can make", (*place, name))
    data = tuple(scope.real(value, (*place, "data")) for value in argument.data or ())
    if not element.is_float and any(value != int(value) if abs(value) < MAX_WHOLE else True for value in data):
        scope.refuse("E0225", f"data has what is no {element.name}", (*place, "data"))
    fill = Fill(kind, seed, **given, specials=_specials(scope, place, argument, element), data=data)
    if not 0 < fill.share <= 1:
        scope.refuse("E0225", f"share {fill.share} is not above 0 and at most 1", (*place, "share"))
    if kind in ("uniform", "integers", "indices", "pages") and not fill.low < fill.high:
        scope.refuse("E0225", f"low {fill.low} is not below high {fill.high}", place)
    if kind == "uniform" and not math.isfinite(fill.high - fill.low):
        scope.refuse("E0225", f"from {fill.low} to {fill.high} is farther than a float reaches", place)
    return fill


def _specials(scope: Scope, place: Key, argument: Argument, element: ElementType) -> tuple[float, ...]:
    if argument.sprinkle is None:
        return special_values(element) if argument.fill == "special" else ()
    unknown = [name for name in argument.sprinkle if name not in SPRINKLES]
    if unknown or not argument.sprinkle:
        message = f"unknown class '{unknown[0]}'" if unknown else "sprinkle names no class"
        scope.refuse("E0225", message, (*place, "sprinkle"), f"of {', '.join(SPRINKLES)}")
    if not element.is_float:
        scope.refuse("E0225", "sprinkle needs a float dtype", (*place, "sprinkle"))
    return special_values(element, argument.sprinkle)


def _check_drawn(scope: Scope, place: Key, fill: Fill, count: int, width: int) -> None:
    """Refuses more distinct numbers than there are, and steps that do not add up."""
    if fill.kind not in _WHOLE_FILLS:
        return
    low, high = int(fill.low), int(fill.high)
    if fill.kind in ("indices", "pages"):
        wanted = width if fill.kind == "indices" else count
        if high - low < wanted:
            scope.refuse("E0225", f"{wanted} distinct numbers do not lie from {low} to below {high}", place)
        if high - low > MAX_DISTINCT:
            scope.refuse("E0225", f"distinct numbers come from at most {MAX_DISTINCT}", (*place, "high"))
    if fill.kind == "offsets":
        if count != width or count < 2:
            scope.refuse("E0225", "offsets have one dimension and at least two elements", (*place, "buffer"))
        if low < 0 or low * (count - 1) > high:
            scope.refuse("E0225", f"{count - 1} steps of at least {low} do not lead from 0 to {high}", place)
