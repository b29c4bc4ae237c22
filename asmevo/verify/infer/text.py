"""A proposed launch as TOML with comments that say what was seen and what is a guess.

Owns the text. Names from a code object are escaped: they may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from asmevo.diagnostics import printable
from asmevo.verify.infer.explore import Effect
from asmevo.verify.infer.probe import Use

if TYPE_CHECKING:
    from asmevo.verify.infer.proposal import BufferArgument, Proposal, ScalarArgument

_AXES = "xyz"
_MAX_NAME = 200


def as_toml(found: Proposal) -> str:
    """The launch file's text; `parse_launches` takes it."""
    kernel, geometry = found.kernel, found.geometry
    lines = [f"# {line}" for line in _head(found)]
    lines += ["version = 1", f"kernel = {quoted(kernel.name)}"]
    lines.append(f"grid = {_triple(geometry.grid)} # {_grid_comment(found)}")
    lines.append(f"workgroup = {_triple(geometry.workgroup)} # {found.group_source}")
    if geometry.dynamic_lds_bytes:
        lines.append(f"dynamic_lds_bytes = {geometry.dynamic_lds_bytes} # {found.lds_source}")
    if found.skipped:
        shown = ", ".join(_shown(slot.name) for slot in found.skipped[:8]) + (", ..." if len(found.skipped) > 8 else "")
        lines.append(f'rest = "zero" # no code reads them, or they are not touched: {shown}')
    lines.append("args = [")
    names = _value_names(found.scalars)
    arguments = {b.slot.offset: _buffer(b) for b in found.buffers if b.slot}
    arguments |= {s.slot.offset: _scalar(s, names[s.slot.offset], found) for s in found.scalars}
    lines += [line for offset in sorted(arguments) for line in arguments[offset]]
    lines.append("]")
    others = [b for b in found.buffers if b.slot is None]
    if others:
        lines += ["buffers = [", *(line for other in others for line in _buffer(other)), "]"]
    lines += ["", "[[case]]", 'name = "probed"']
    if found.scalars:
        values = ", ".join(f"{names[s.slot.offset]} = {_number(s.value)}" for s in found.scalars)
        lines.append(f"values = {{ {values} }}")
    return "\n".join(lines) + "\n"


def _head(found: Proposal) -> Iterator[str]:
    yield f"A launch of {_shown(found.kernel.name)} ({found.kernel.target}) proposed by `asmevo launch infer`: complete it."
    yield "Sizes are the first that ran, contents are made up, types are guesses: only extents were seen to be so."
    if found.check is None:
        probe = found.probe
        told = f": {printable(probe.fault.message)}" if probe.fault else ""
        yield f"NOT RUN TO ITS END while probing: {probe.ended_early}{told}."
    elif found.check.faults:
        fault = found.check.faults[0]
        place = "" if fault.offset is None else f" at +0x{fault.offset:x}"
        yield f"STRICT EMULATION REPORTS {fault.kind}{place}: {printable(fault.message)}."
        if found.fast is not None and not found.fast.faults:
            yield f"Without strict checks (--mode fast) it runs to its end: {found.fast.wave_instructions:,} wave-instructions."
    else:
        yield f"Strict emulation runs it without a fault: {found.check.wave_instructions:,} wave-instructions."
    for note in found.notes:
        yield f"Note: {_shown(note)}."


def _grid_comment(found: Proposal) -> str:
    parts = [f"a second one in {_AXES[axis]}: {_effect(effect, found)}" for axis, effect in sorted(found.axes.items())]
    return "; ".join(parts) or "work-groups"


def _buffer(argument: BufferArgument) -> list[str]:
    place = f"kernarg {argument.slot.offset}" if argument.slot else "reached by a pointer in another buffer"
    if argument.slot and argument.slot.access:
        place += f", {_shown(argument.slot.access)} by the metadata"
    pairs = [f"name = {quoted(argument.name)}"]
    pairs += [f"at = {argument.slot.offset}"] if argument.slot else []
    pairs += [f"buffer = [{argument.elements}]", f'dtype = "{argument.dtype}"']
    pairs += [f'role = "{argument.role}"'] if argument.role != "in" else []
    if argument.role != "out":
        pairs.append(f'fill = "{argument.fill}"')
        pairs += [f"value = {argument.value}"] if argument.fill == "constant" else []
        pairs += ["low = 0, high = 8"] if argument.fill == "integers" else []
        pairs += [f"to = [{', '.join(map(quoted, argument.to))}]"] if argument.to else []
    return [f"  # {place}: {_use(argument.use)}", f"  {{ {', '.join(pairs)} }},"]


def _use(use: Use) -> str:
    if not use.is_touched:
        return "not touched in this launch"
    parts = [f"{word} {span[0]:,} to {span[1]:,}" for word, span in (("read", use.read), ("written", use.written)) if span]
    widths = " and ".join(str(width) for width in sorted(use.widths))
    text = f"bytes {', '.join(parts)}; {widths} at a time"
    if use.step is not None and not use.is_scalar:
        text += f", the next lane {use.step:+,}"
    moves = _group_steps(use)
    text += "".join(f", the next work-group in {_AXES[axis]} {step:+,}" for axis, step in moves)
    return text + (", atomically" if use.is_atomic else "") + (", by scalar loads" if use.is_scalar else "")


def _group_steps(use: Use) -> Iterator[tuple[int, int]]:
    start = use.groups.get((0, 0, 0))
    for axis in range(3):
        other = use.groups.get((int(axis == 0), int(axis == 1), int(axis == 2)))
        if start and other and other[0] != start[0]:
            yield axis, other[0] - start[0]


def _scalar(argument: ScalarArgument, name: str, found: Proposal) -> list[str]:
    slot = argument.slot
    comment = "not varied" if argument.effect is None else f"{argument.effect.role}; doubled: {_effect(argument.effect, found)}"
    if slot.dtype or slot.size in (1, 2, 8):
        kind = slot.dtype or f"u{8 * slot.size}"
        given = f'scalar = "{name}", dtype = "{kind}"'
    else:
        value = int(argument.value).to_bytes(max(slot.size, 8), "little")[: slot.size]
        given = f'bytes = "{value.hex()}"'
    return [f"  # kernarg {slot.offset}: {comment}", f"  {{ name = {quoted(argument.name)}, at = {slot.offset}, {given} }},"]


def _effect(effect: Effect, found: Proposal) -> str:
    if effect.ended_early:
        return f"the run ends early ({effect.ended_early})"
    names = {buffer.number: _shown(buffer.name) for buffer in found.buffers}
    parts = [f"{effect.instructions:.2f} times the instructions"] if abs(effect.instructions - 1) > 1e-9 else []
    parts += [f"{ratio:.2f} times the bytes of {names.get(n, f'buffer {n}')}" for n, ratio in effect.grown.items()]
    parts += [f"{names.get(n, f'buffer {n}')} ends {step:+,} bytes" for n, step in effect.moved.items()]
    return ", ".join(parts) or "no address changes"


def _value_names(scalars: Sequence[ScalarArgument]) -> dict[int, str]:
    """A bare TOML key for each scalar, by offset."""
    names: dict[int, str] = {}
    for scalar in scalars:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", scalar.name)[:_MAX_NAME] or "value"
        names[scalar.slot.offset] = name if name not in names.values() else f"{name}_{scalar.slot.offset}"
    return names


def quoted(name: str) -> str:
    """A TOML string; whatever is not plain is escaped."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in name)
    return f'"{"".join(plain)}"'


def _shown(name: str) -> str:
    return printable(name)[:_MAX_NAME]


def _triple(sides: tuple[int, int, int]) -> str:
    kept = [*sides]
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return f"[{', '.join(map(str, kept))}]"


def _number(value: int | float) -> str:
    return str(value)
