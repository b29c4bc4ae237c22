"""A kernel's strict run against its NumPy reference."""

import numpy as np

from asmevo.backend.emulator import run
from asmevo.verify.launch.data import element_types


def inputs(kernel, dispatch):
    """Buffers by name as numbers; scalars by metadata name, and by position."""
    types = element_types(kernel.target)
    values = {buffer.name: types[buffer.dtype].decode(buffer.data) for buffer in dispatch.buffers}
    visible = [argument for argument in kernel.metadata.arguments if not argument.value_kind.startswith("hidden_")]
    for number, argument in enumerate(visible):
        if argument.size == 4 and argument.value_kind == "by_value":
            raw = dispatch.kernarg[argument.offset : argument.offset + 4]
            values[f"arg{number}"] = values[argument.name or f"arg{number}"] = int.from_bytes(raw, "little")
    return values


def check(kernel, dispatch, reference, rounded_alike):
    """Every result lies in its bounds, and at least the share `rounded_alike` has the reference's bits."""
    with np.errstate(all="ignore"):
        expected = reference(inputs(kernel, dispatch))
    result = run(kernel, dispatch, mode="strict", seed=0)
    assert result.faults == ()
    types = element_types(kernel.target)
    for buffer, data, written in zip(dispatch.buffers, result.buffers, result.written, strict=True):
        if buffer.name not in expected:
            assert not written.any()
            continue
        actual, wanted = types[buffer.dtype].decode(data), expected[buffer.name]
        if buffer.defined is False:
            assert written.all()
        wrong = np.flatnonzero(~wanted.accepts(actual))
        assert not wrong.size, f"{dispatch.name}, {buffer.name}[{wrong[0]}]: {actual[wrong[0]]}, not {wanted.value[wrong[0]]}"
        assert wanted.same_bits(actual) >= rounded_alike
