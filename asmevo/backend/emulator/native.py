"""Compiles handlers and the runtime, once for each host CPU and version, and links them into this process.

Owns the LLVM engine, its options and the keys under which objects are cached. It must not know what is compiled.
"""

# llvmlite has no type stubs: what its binding returns is unknown to the checker.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

from asmevo.backend.emulator import (
    cache,
    dispatch,
    faulting,
    indexing,
    lds_codegen,
    memory_codegen,
    queue_codegen,
    race_runtime,
    schedule_codegen,
)

_LIBRARY = ("sin", "cos", "ldexp")
_OPTIMISATION = 2
_RUNTIME = "runtime"
_NOT_COMPILED = frozenset({"__init__", "cache", "decode", "engine", "faults", "form_key", "prepare", "setup", "workspace"}) | {
    f"reference{part}" for part in ("", "_floats", "_matrix")
}
"""Modules whose text does not enter compiled code."""
_RUNTIME_ONLY = frozenset(
    {"dispatch", "hwreg", "indexing", "race_notes", "race_runtime", "race_words", "schedule_codegen", "validity"}
)
"""Modules that the runtime is made from, but no handler."""


class Native:
    """The linked code of this process. `built` counts the objects that had to be compiled, not taken from the cache."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple = llvm.get_process_triple()
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_triple(triple)
        self.machine: Any = target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=_OPTIMISATION, reloc="static", codemodel="large", jit=True
        )
        self.triple = triple
        empty = llvm.parse_assembly("")
        empty.triple = triple
        self.engine: Any = llvm.create_mcjit_compiler(empty, self.machine)
        self.built = 0
        self.addresses: dict[str, int] = {}
        _link_library()
        self._load(_RUNTIME, _build_runtime)

    def function(self, name: str, build: Callable[[ir.Module, str], None], key: str) -> int:
        """The address of native function `name`, made by `build` unless it is known under `key` (hexadecimal)."""
        if name not in self.addresses:
            self._load(key, lambda module: build(module, name))
            self.addresses[name] = self.engine.get_function_address(name)
        return self.addresses[name]

    def symbol(self, name: str) -> int:
        """The address of a function of the runtime."""
        if name not in self.addresses:
            self.addresses[name] = self.engine.get_function_address(name)
        return self.addresses[name]

    def _load(self, key: str, build: Callable[[ir.Module], None]) -> None:
        text = (
            f"{key} {_code_version(key == _RUNTIME)} {llvmlite.__version__} {llvm.llvm_version_info} {self.cpu} {self.features}"
        )
        digest = hashlib.sha256(text.encode()).hexdigest()
        data, built = cache.load_or_build(digest, lambda: self._compile(key, build))
        self.built += built
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        self.engine.finalize_object()

    def _compile(self, name: str, build: Callable[[ir.Module], None]) -> bytes:
        module = ir.Module(name)
        module.triple = self.triple
        build(module)
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=_OPTIMISATION)
        options.loop_unrolling = False
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(parsed, builder)
        return self.machine.emit_object(parsed)


@lru_cache(maxsize=1)
def native() -> Native:
    """The process's native code, created at first use."""
    return Native()


@lru_cache(maxsize=2)
def _code_version(runtime: bool) -> str:
    """A digest of the modules that generate code: a change to any of them makes the objects made by it stale."""
    skipped = _NOT_COMPILED if runtime else _NOT_COMPILED | _RUNTIME_ONLY
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in skipped:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _link_library() -> None:
    name = ctypes.util.find_library("m")
    library = ctypes.CDLL(name)
    for function in _LIBRARY:
        address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
        llvm.add_symbol(function, address)


def _build_runtime(module: ir.Module) -> None:
    faulting.build(module)
    race_runtime.build(module, memory_codegen.SIZES)
    memory_codegen.build_track(module)
    memory_codegen.build_resolve(module)
    lds_codegen.build_complete(module)
    for strict in (False, True):
        for size in memory_codegen.SIZES:
            memory_codegen.build_load(module, size, strict)
            memory_codegen.build_store(module, size, strict)
            lds_codegen.build_lds(module, "lds_load", size, strict)
            lds_codegen.build_lds(module, "lds_store", size, strict)
        dispatch.build_run(module, strict)
        indexing.build_indexed(module, strict)
        schedule_codegen.build_dispatch(module, strict)
    for queue in faulting.QUEUES:
        queue_codegen.build_entry(module, queue)
        queue_codegen.build_pop(module, queue)
    queue_codegen.build_cover(module)
    queue_codegen.build_wait(module)
    dispatch.build_control(module)
    indexing.build_controls(module)
    schedule_codegen.build_merge(module)
