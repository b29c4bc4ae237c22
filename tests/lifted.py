"""Runs lifted LLVM IR natively, so that it can be compared with the emulator: a thread for each lane, waves in step."""

import ctypes
import re
import threading
from dataclasses import dataclass, field, replace

import llvmlite.binding as llvm

from asmevo.backend.emulator.prepare import prepare
from asmevo.backend.emulator.setup import build_entry, build_memory
from asmevo.ir.analysis.dataflow.ssa import Ssa
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.registers import SCC, VGPR0
from asmevo.report.lift import print_llvm_ir

LANES = 64
_MEMORY = re.compile(r"asmevo\.(load|store|atomic\.(\w+))(?:\.b(\d+))?\.(lds|global|scalar|flat|buffer)(\.uniform)?")
_ATOMICS = {"add_u32": "add", "and_b32": "and", "or_b32": "or", "xor_b32": "xor", "swap_b32": "xchg", "max_u32": "umax"}
_NOTHING = ("asmevo.leave", "amdgcn.s_nop", "amdgcn.s_setprio")
_SUPPORT = """
@lds = internal global [163840 x i8] zeroinitializer, align 16
declare i64 @host(i64)
declare void @together()
declare void @barrier()
declare i64 @ballot(i32)
declare i32 @gather(i32, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal ptr @place.lds(i32 %a) {
  %p = getelementptr i8, ptr @lds, i32 %a
  ret ptr %p
}
define internal ptr @place.global(i64 %a) {
  %h = call i64 @host(i64 %a)
  %p = inttoptr i64 %h to ptr
  ret ptr %p
}
define void @clear_lds() {
  call void @llvm.memset.p0.i64(ptr @lds, i8 0, i64 163840, i1 false)
  ret void
}
"""


class NotRunnableError(Exception):
    """The kernel calls what no definition is given here for."""


def support(module):
    """Definitions, as text, of the functions that `module` declares."""
    parts = [_SUPPORT]
    for function in module.functions:
        name = function.name
        if not function.is_declaration or name.startswith("llvm.") or name in ("sin", "cos", "ldexp"):
            continue
        if name.startswith(_NOTHING):
            parts.append(f'define void @"{name}"() {{\n  ret void\n}}')
        elif name.startswith(("amdgcn.s_waitcnt", "amdgcn.s_barrier")):
            what = "barrier" if "barrier" in name else "together"
            parts.append(f'define void @"{name}"() {{\n  call void @{what}()\n  ret void\n}}')
        elif name == "asmevo.ballot":
            work = "  %w = zext i1 %v to i32\n  %r = call i64 @ballot(i32 %w)\n  ret i64 %r"
            parts.append(f'define i64 @"{name}"(i1 %v) {{\n{work}\n}}')
        elif name == "asmevo.gather":
            work = "  %r = call i32 @gather(i32 %v, i32 %n)\n  ret i32 %r"
            parts.append(f'define i32 @"{name}"(i32 %v, i32 %n) {{\n{work}\n}}')
        elif found := _MEMORY.fullmatch(name):
            parts.append(_memory(name, found))
        else:
            raise NotRunnableError(name)
    return "\n".join(parts)


def _memory(name, found):
    operation, atomic, bits, space, uniform = found.groups()
    if space == "buffer":
        return _buffer(name, operation, bits, uniform)
    address = "i32" if space == "lds" else "i64"
    where = "lds" if space == "lds" else "global"
    active = "" if uniform else "i1 %active, "
    kind = f"i{bits or re.search('[0-9]+$', atomic)[0]}"
    data = "" if operation == "load" else f", {kind} %data"
    work = {
        "load": f"  %r = load {kind}, ptr %p, align 1\n  ret {kind} %r",
        "store": f"  store {kind} %data, ptr %p, align 1\n  ret void",
    }.get(operation)
    if work is None:
        if atomic not in _ATOMICS:
            raise NotRunnableError(name)
        work = f"  %r = atomicrmw {_ATOMICS[atomic]} ptr %p, {kind} %data seq_cst\n  ret {kind} %r"
    result, nothing = ("void", "ret void") if operation == "store" else (kind, f"ret {kind} 0")
    # A wave's LDS operations are carried out one after another: no lane's store overtakes another lane's load.
    first = "  call void @together()\n" if space == "lds" else ""
    enter = "br label %do" if uniform else "br i1 %active, label %do, label %skip"
    return (
        f'define {result} @"{name}"({active}{address} %a{data}) {{\n{first}  {enter}\n'
        f"do:\n  %p = call ptr @place.{where}({address} %a)\n{work}\nskip:\n  {nothing}\n}}"
    )


def _buffer(name, operation, bits, uniform):
    """A raw buffer: the offset is checked against the size, base and scalar offset are added."""
    if operation not in ("load", "store"):
        raise NotRunnableError(name)
    active = "" if uniform else "i1 %active, "
    data, result, nothing = ("", f"i{bits}", f"ret i{bits} 0")
    work = f"  %r = load i{bits}, ptr %p, align 1\n  ret i{bits} %r"
    if operation == "store":
        data, result, nothing = f", i{bits} %data", "void", "ret void"
        work = f"  store i{bits} %data, ptr %p, align 1\n  ret void"
    return f"""
define {result} @"{name}"({active}i128 %rsrc, i32 %index, i32 %soffset, i32 %offset{data}) {{
  %high = lshr i128 %rsrc, 64
  %records = trunc i128 %high to i32
  %offset64 = zext i32 %offset to i64
  %records64 = zext i32 %records to i64
  %end = add i64 %offset64, {int(bits) // 8}
  %inside = icmp ule i64 %end, %records64
  %go = and i1 %inside, {"true" if uniform else "%active"}
  br i1 %go, label %do, label %skip
do:
  %low = trunc i128 %rsrc to i64
  %base = and i64 %low, 281474976710655
  %soffset64 = zext i32 %soffset to i64
  %moved = add i64 %base, %soffset64
  %a = add i64 %moved, %offset64
  %p = call ptr @place.global(i64 %a)
{work}
skip:
  {nothing}
}}"""


@dataclass
class Group:
    """The waves of one work-group, whose lanes meet in what looks at other lanes."""

    waves: int
    values: list = field(init=False)
    meetings: list = field(init=False)
    everyone: threading.Barrier = field(init=False)
    here: threading.local = field(default_factory=threading.local)

    def __post_init__(self):
        self.values = [[(0, 0)] * LANES for _ in range(self.waves)]
        self.meetings = [threading.Barrier(LANES, timeout=60) for _ in range(self.waves)]
        self.everyone = threading.Barrier(self.waves * LANES, timeout=60)

    def together(self):
        self.meetings[self.here.wave].wait()

    def barrier(self):
        self.everyone.wait()

    def share(self, value):
        """Every lane's value."""
        values = self.values[self.here.wave]
        values[self.here.lane] = value
        self.together()
        seen = list(values)
        self.together()
        return seen

    def ballot(self, bit):
        return sum((value & 1) << lane for lane, value in enumerate(self.share(bit)))

    def gather(self, value, lane):
        return self.share(value)[lane % LANES]


def run_lifted(kernel, dispatch, *, lanes=None):
    """The buffers after every work-group of `dispatch` ran, one after another.

    `lanes` is None for whole work-groups; 1 runs one lane a work-group, as if its size were one work-item.
    """
    if lanes == 1:
        dispatch = replace(dispatch, workgroup=(1, 1, 1))
    text = print_llvm_ir([kernel])
    module = llvm.parse_assembly(text)
    module.verify()
    helpers = llvm.parse_assembly(support(module))
    helpers.verify()
    module.link_in(helpers)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, codemodel="large", reloc="static")
    lds = dispatch.dynamic_lds_bytes + (kernel.descriptor.group_segment_bytes if kernel.descriptor else 0)
    memory = build_memory(dispatch, lds)
    entry = build_entry(prepare(kernel, False), dispatch, memory)
    group = Group(len(entry.lanes))
    alone = lanes == 1

    def host(address):
        for row in memory.table:
            if int(row["base"]) <= address < int(row["base"]) + int(row["size"]):
                return int(row["data"]) + address - int(row["base"])
        raise AssertionError(f"no buffer at {address:#x}")

    callbacks = {
        "host": ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)(host),
        "together": ctypes.CFUNCTYPE(None)((lambda: None) if alone else group.together),
        "barrier": ctypes.CFUNCTYPE(None)((lambda: None) if alone else group.barrier),
        "ballot": ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32)((lambda bit: bit) if alone else group.ballot),
        "gather": ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)(
            (lambda value, lane: 0 if lane % LANES else value) if alone else group.gather
        ),
    }
    for name, callback in callbacks.items():
        llvm.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    ssa = AnalysisManager(kernel).get(Ssa)
    kinds = [ctypes.c_bool if value.unit == SCC else ctypes.c_uint32 for value in ssa.entry]
    call = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, *kinds)(engine.get_function_address(kernel.name))
    clear = ctypes.CFUNCTYPE(None)(engine.get_function_address("clear_lds"))
    start = len(ssa.starts) - 1 if kernel.descriptor and kernel.descriptor.preload_dwords else 0

    def run_lane(wave, lane, coordinates):
        group.here.wave, group.here.lane = wave, lane
        scalars = entry.scalar[wave].copy()
        for register, coordinate in zip(entry.group_ids, coordinates, strict=True):
            if register is not None:
                scalars[register] = coordinate
        vectors = {VGPR0: int(entry.lanes[wave, lane])}
        call(lane, start, *(vectors.get(v.unit, 0) if v.unit >= VGPR0 else int(scalars[v.unit]) for v in ssa.entry))

    gx, gy, gz = dispatch.grid
    for number in range(gx * gy * gz):
        coordinates = (number % gx, number // gx % gy, number // (gx * gy))
        clear()
        if alone:
            run_lane(0, 0, coordinates)
            continue
        places = [(wave, lane, coordinates) for wave in range(group.waves) for lane in range(LANES)]
        threads = [threading.Thread(target=run_lane, args=place) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [
        memory.arena[begin : begin + len(buffer.data)] for begin, buffer in zip(memory.starts, dispatch.buffers, strict=False)
    ]
