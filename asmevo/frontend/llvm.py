"""The LLVM library that assembles and disassembles AMDGPU instructions, through its C API.

Owns finding and loading the library, its foreign declarations, and the one lock around it. It must not know what an
instruction means: text goes in, bytes come out, and the other way round.

The library is `librocmllvm.so` of the wheel rocm-llvm-python, or `libLLVM.so` of a ROCm install.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from asmevo.diagnostics import fail

TARGETS = ("gfx90a", "gfx942", "gfx950")
"""The chips this version handles. LLVM may abort the process on a chip it does not know: no other name is passed on."""

# `amdgcn--`, not `amdgcn-amd-amdhsa`: the latter pads .text and adds notes of its own, but knows the HSA directives.
_TRIPLE = b"amdgcn--"
_HSA_TRIPLE = b"amdgcn-amd-amdhsa"
_WINDOW = 20
_TEXT_CAPACITY = 1024
_SEVERITY_ERROR = 0
_OBJECT_FILE = 1
_WHERE = re.compile(r"<inline asm>:(\d+):(\d+): (?:error: )?(.*)")

# Name -> (result, arguments). P: opaque pointer, S: C string, U: unsigned, Z: size.
_P, _S, _U, _Z = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_size_t
_HANDLER = ctypes.CFUNCTYPE(None, _P, _P)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "LLVMInitializeAMDGPUTargetInfo": (None, ()),
    "LLVMInitializeAMDGPUTarget": (None, ()),
    "LLVMInitializeAMDGPUTargetMC": (None, ()),
    "LLVMInitializeAMDGPUAsmParser": (None, ()),
    "LLVMInitializeAMDGPUAsmPrinter": (None, ()),
    "LLVMInitializeAMDGPUDisassembler": (None, ()),
    "LLVMGetVersion": (None, (_P, _P, _P)),
    "LLVMCreateDisasmCPUFeatures": (_P, (_S, _S, _S, _P, ctypes.c_int, _P, _P)),
    "LLVMDisasmInstruction": (_Z, (_P, _P, ctypes.c_uint64, ctypes.c_uint64, _P, _Z)),
    "LLVMContextCreate": (_P, ()),
    "LLVMContextDispose": (None, (_P,)),
    "LLVMContextSetDiagnosticHandler": (None, (_P, _HANDLER, _P)),
    "LLVMGetDiagInfoDescription": (_P, (_P,)),
    "LLVMGetDiagInfoSeverity": (ctypes.c_int, (_P,)),
    "LLVMModuleCreateWithNameInContext": (_P, (_S, _P)),
    "LLVMDisposeModule": (None, (_P,)),
    "LLVMSetTarget": (None, (_P, _S)),
    "LLVMSetModuleInlineAsm2": (None, (_P, _S, _Z)),
    "LLVMGetTargetFromTriple": (ctypes.c_int, (_S, _P, _P)),
    "LLVMCreateTargetMachine": (_P, (_P, _S, _S, _S, ctypes.c_int, ctypes.c_int, ctypes.c_int)),
    "LLVMTargetMachineEmitToMemoryBuffer": (ctypes.c_int, (_P, _P, ctypes.c_int, _P, _P)),
    "LLVMDisposeMessage": (None, (_P,)),
    "LLVMGetBufferStart": (_P, (_P,)),
    "LLVMGetBufferSize": (_Z, (_P,)),
    "LLVMDisposeMemoryBuffer": (None, (_P,)),
}


@dataclass(frozen=True, slots=True)
class AssemblyError:
    """One complaint of the assembler: 1-based line and column in the source given to it (0 when unknown)."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Assembled:
    """What the assembler made: a relocatable object, or errors (then the object must not be used)."""

    object: bytes
    errors: tuple[AssemblyError, ...]


@lru_cache(maxsize=1)
def library_lock() -> threading.RLock:
    """Return the lock that every call into the library holds."""
    return threading.RLock()


def find_library() -> Path:
    """Find the path of the LLVM library to load. Raises E0601 when neither the wheel nor a ROCm install has one.

    `ROCM_PATH` names the ROCm install, as it does for ROCm's own tools; /opt/rocm is its usual place.
    """
    for candidate in _candidates():
        if candidate.is_file():
            return candidate
    fail("E0601", "no LLVM library with AMDGPU found", help="pip install 'rocm-llvm-python>=7.2,<8', or set ROCM_PATH")


def _candidates() -> Iterator[Path]:
    package = importlib.util.find_spec("rocm")
    for location in (package.submodule_search_locations or ()) if package else ():
        yield Path(location) / "llvm" / "librocmllvm.so"
    folder = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "llvm" / "lib"
    yield folder / "libLLVM.so"
    yield from sorted(folder.glob("libLLVM.so.*"), reverse=True)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    path = find_library()
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        fail("E0601", f"the LLVM library '{path}' cannot be used: {error}", help="reinstall rocm-llvm-python")
    for name in _FUNCTIONS:
        if name.startswith("LLVMInitializeAMDGPU"):
            getattr(library, name)()
    return library


def version() -> str:
    """Return the version of the loaded library, such as `22.0.0`."""
    parts = [ctypes.c_uint() for _ in range(3)]
    _library().LLVMGetVersion(*(ctypes.addressof(part) for part in parts))
    return ".".join(str(part.value) for part in parts)


def check_target(target: str) -> str:
    """Return `target` when it is supported; raises E0602 otherwise."""
    if target not in TARGETS:
        fail("E0602", f"target '{target}' is not supported", help=f"supported targets: {', '.join(TARGETS)}")
    return target


@cache
def _disassembler(target: str) -> int:
    context = _library().LLVMCreateDisasmCPUFeatures(_TRIPLE, check_target(target).encode(), b"", None, 0, None, None)
    if not context:
        fail("E0602", f"the LLVM library {version()} has no disassembler for '{target}'")
    return context


@cache
def _machine(target: str, triple: bytes, features: str) -> int:
    library = _library()
    base, message = ctypes.c_void_p(), ctypes.c_void_p()
    if library.LLVMGetTargetFromTriple(triple, ctypes.addressof(base), ctypes.addressof(message)):
        fail("E0602", f"the LLVM library {version()} has no AMDGPU target: {_take_message(message)}")
    machine = library.LLVMCreateTargetMachine(base, triple, check_target(target).encode(), features.encode(), 0, 0, 0)
    if not machine:
        fail("E0602", f"the LLVM library {version()} has no assembler for '{target}'")
    return machine


def _take_message(message: ctypes.c_void_p) -> str:
    if not message.value:
        return "no reason given"
    text = ctypes.string_at(message.value).decode(errors="replace")
    _library().LLVMDisposeMessage(message)
    return text


class InstructionDecoder:
    """Decodes instructions at offsets of one byte string. Not for use from two threads at once.

    Some bytes that are no instruction crash the library and the process: the disassembler keeps them away from here.
    """

    def __init__(self, code: bytes, target: str) -> None:
        with library_lock():
            self._context = _disassembler(target)
            self._decode: Any = _library().LLVMDisasmInstruction
        self._code = code
        # LLVM crashes on an instruction whose literal is cut off: it always gets a whole window, and lengths are checked here.
        self._buffer = ctypes.create_string_buffer(code, len(code) + _WINDOW)
        self._address = ctypes.addressof(self._buffer)
        self._text = ctypes.create_string_buffer(_TEXT_CAPACITY)
        self._text_address = ctypes.addressof(self._text)

    def at(self, offset: int) -> tuple[int, str]:
        """Return length in bytes and text of the instruction at `offset`; (0, "") when the bytes are none."""
        left = len(self._code) - offset
        if not 0 < left <= len(self._code):
            return 0, ""
        with library_lock():
            length = self._decode(self._context, self._address + offset, _WINDOW, 0, self._text_address, _TEXT_CAPACITY)
        if not 0 < length <= left:
            return 0, ""
        return length, self._text.value.decode("ascii", errors="replace").strip()


def assemble_object(source: str, target: str, *, hsa: bool = False, features: str = "") -> Assembled:
    """Assemble a whole source text to a relocatable ELF object.

    With `hsa` the source may use `.amdhsa_kernel`, `.amdgpu_metadata` and the like; LLVM then adds s_nop behind .text, an empty
    metadata note behind the source's own, and a .note.GNU-stack. `features` are the target ID's, such as `+sramecc,-xnack`.
    The library reports success even when it dropped a line, so errors come from its diagnostic handler.
    """
    text = source.encode()
    complaints: list[str] = []
    with library_lock():
        triple = _HSA_TRIPLE if hsa else _TRIPLE
        library, machine = _library(), _machine(target, triple, features)

        def receive(info: int, _: int | None) -> None:
            if library.LLVMGetDiagInfoSeverity(info) == _SEVERITY_ERROR:
                complaints.append(_take_message(ctypes.c_void_p(library.LLVMGetDiagInfoDescription(info))))

        handler = _HANDLER(receive)
        context = library.LLVMContextCreate()
        library.LLVMContextSetDiagnosticHandler(context, handler, None)
        module = library.LLVMModuleCreateWithNameInContext(b"asmevo", context)
        buffer, message = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            library.LLVMSetTarget(module, triple)
            library.LLVMSetModuleInlineAsm2(module, text, len(text))
            failed = library.LLVMTargetMachineEmitToMemoryBuffer(
                machine, module, _OBJECT_FILE, ctypes.addressof(message), ctypes.addressof(buffer)
            )
            if failed:
                complaints.append(_take_message(message))
            data = b""
            if not failed and buffer.value:
                data = ctypes.string_at(library.LLVMGetBufferStart(buffer), library.LLVMGetBufferSize(buffer))
                library.LLVMDisposeMemoryBuffer(buffer)
        finally:
            library.LLVMDisposeModule(module)
            library.LLVMContextDispose(context)
    return Assembled(data, tuple(_located(complaints)))


def _located(complaints: Sequence[str]) -> Iterator[AssemblyError]:
    for complaint in complaints:
        found = _WHERE.search(complaint)
        if found:
            yield AssemblyError(int(found[1]), int(found[2]), found[3].strip())
        else:
            yield AssemblyError(0, 0, complaint.strip())
