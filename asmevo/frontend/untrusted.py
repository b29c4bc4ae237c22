"""A person's source text through LLVM's assembler, in a child that can harm nothing.

Owns the way of the result out of the child. Texts that AsmEvo printed itself need no child.
"""

from __future__ import annotations

import json
import struct

from asmevo.diagnostics import Span, fail
from asmevo.frontend.confined import ConfinedError, run_confined
from asmevo.frontend.llvm import Assembled, AssemblyError, assemble_object, library_lock, version

_LINES_A_SECOND, _LEAST_SECONDS = 50_000, 4


def assemble_untrusted(source: str, target: str, features: str, file: str, *, hsa: bool = True) -> Assembled:
    """Assemble as `assemble_object` does; no file is opened, nothing is printed.

    Raises E0626 when the assembler crashes, takes more than 1 GiB, or more than 4 s and 1 s for each 50,000 lines.
    """
    version()

    def run() -> bytes:
        made = assemble_object(source, target, hsa=hsa, features=features)
        head = json.dumps([(error.line, error.column, error.message) for error in made.errors]).encode()
        return struct.pack("<I", len(head)) + head + made.object

    seconds = _LEAST_SECONDS + source.count("\n") // _LINES_A_SECOND
    try:
        with library_lock():
            result = run_confined(run, seconds)
    except ConfinedError as error:
        fail(
            "E0626",
            f"the assembler could not finish: {error}",
            Span(file),
            "look for endless macros, huge counts, deep nesting",
        )
    (size,) = struct.unpack_from("<I", result)
    errors = tuple(AssemblyError(*fields) for fields in json.loads(result[4 : 4 + size]))
    return Assembled(result[4 + size :], errors)
