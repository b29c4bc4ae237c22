"""Final buffers compared with expected ones from an .npz file, by the launch's own rules.

Owns reading that file and what is said of differences. It is a check of a kernel's results, not of one kernel by another.
"""

# NumPy's own stubs leave several methods of plain arrays partially unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from asmevo.backend.launch import Bytes, Dispatch, RunResult
from asmevo.diagnostics import Span, fail
from asmevo.verify.launch.data import element_types
from asmevo.verify.tolerances import agreeing

MAX_FILE_BYTES = 2 << 30


def differences(path: Path, target: str, dispatch: Dispatch, result: RunResult) -> list[str]:
    """One sentence for each buffer of the file that differs, in the launch's order; buffers not in the file are not compared.

    Arrays are taken as bytes, of whatever dtype and shape. Raises E0228 for a file that cannot be read, has no buffer of the
    launch, or one of another size.
    """
    expected = _read(path)
    known = [buffer.name for buffer in dispatch.buffers]
    if not any(name in expected for name in known):
        fail("E0228", f"'{path}' has none of the launch's buffers", Span(str(path)), f"buffers: {', '.join(known)}")
    found: list[str] = []
    for buffer, data in zip(dispatch.buffers, result.buffers, strict=True):
        if buffer.name not in expected:
            continue
        wanted = expected[buffer.name]
        if len(wanted) != len(data):
            message = f"'{buffer.name}' has {len(wanted)} bytes in '{path}', {len(data)} in the launch"
            fail("E0228", message, Span(str(path)))
        same = agreeing(buffer, target, wanted, data)
        wrong = np.flatnonzero(~same)
        if len(wrong):
            first = int(wrong[0])
            element = element_types(target)[buffer.dtype]
            values = [_value(part[first * element.size :][: element.size], element.decode) for part in (wanted, data)]
            share = f"{len(wrong)} of {len(same)} elements of {buffer.name} differ"
            found.append(f"{share}; element {first}: expected {values[0]}, found {values[1]}")
    return found


def _value(data: Bytes, decode: Callable[[Bytes], npt.NDArray[Any]]) -> str:
    bits = int.from_bytes(data.tobytes(), "little")
    return f"{decode(data)[0]} (0x{bits:0{2 * len(data)}x})"


def _read(path: Path) -> dict[str, Bytes]:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            fail("E0228", f"'{path}' has more than {MAX_FILE_BYTES} bytes", Span(str(path)))
        with zipfile.ZipFile(path) as archive:
            expanded = sum(entry.file_size for entry in archive.infolist())
        if expanded > MAX_FILE_BYTES:
            fail("E0228", f"'{path}' expands to {expanded} bytes, more than {MAX_FILE_BYTES}", Span(str(path)))
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fail("E0228", f"cannot read '{path}': {reason}", Span(str(path)))
    return {name: np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8) for name, array in arrays.items()}
