"""Memory instructions: DS, FLAT, GLOBAL, SCRATCH, MUBUF and SMEM.

Names of `atomic`: operation and type, `add_u32`, `smax` as `max_i32`, `swap_b32`, ... `cmpswap_*` has one data operand, the new
value below the comparison value; `cmpst_*` (DS) has two, the comparison value first; `mskor_*` has mask and value.
ds_append and ds_consume are intrinsics: the LDS dword at
M0[15:0] + offset grows or shrinks by the number of active lanes, which all get its old value; without one nothing happens.
A scratch address is the byte offset in the lane's own private segment. `MemoryOp.bytes` counts one address.
Source: CDNA3 ISA guide, "Scalar Memory Operations", "Vector Memory Operations", "Flat Memory Instructions", "Data Share".
"""

from __future__ import annotations

from asmevo.ir.isa.model import Access, Family
from asmevo.ir.semantics import build as b
from asmevo.ir.semantics.expr import Domain, Expr, Extend, MemoryOp, Program
from asmevo.ir.semantics.form import Form

_ATOMICS = {
    "add": "add_u", "sub": "sub_u", "rsub": "rsub_u", "inc": "inc_u", "dec": "dec_u", "smin": "min_i", "smax": "max_i",
    "umin": "min_u", "umax": "max_u", "and": "and_b", "or": "or_b", "xor": "xor_b", "swap": "swap_b", "cmpswap": "cmpswap_b",
}  # fmt: skip
_STRIDED_64 = "st64"


def _extend(name: str) -> Extend:
    signed = any(word in name for word in ("_i8", "_i16", "_sbyte", "_sshort"))
    if "_d16_hi" in name:
        return Extend.D16_HI_SIGN if signed else Extend.D16_HI
    if "_d16" in name:
        return Extend.D16_LO_SIGN if signed else Extend.D16_LO
    return Extend.SIGN if signed else Extend.ZERO


def _load_extend(form: Form, size: int) -> Extend:
    return _extend(form.name) if size < 4 else Extend.NONE


def _store_extend(form: Form) -> Extend:
    """A d16_hi store takes the upper half of its register."""
    return Extend.D16_HI if "_d16_hi" in form.name else Extend.NONE


def _first_present(form: Form, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if form.has(name))


def _transfer(form: Form, addresses: tuple[Expr, ...], size: int, dest: str, **buffer: str | Expr | None) -> MemoryOp:
    """Loads and stores; the caller gives what is special to its family."""
    access = form.definition.access
    resource = buffer.get("resource")
    index, soffset = buffer.get("index"), buffer.get("soffset")
    load = access is Access.LOAD
    return MemoryOp(
        addresses,
        size,
        () if load else _first_present(form, "data0", "data1", "vdata", "sdata"),
        dest if load else None,
        _load_extend(form, size) if load else _store_extend(form),
        resource if isinstance(resource, str) else None,
        index if isinstance(index, Expr) else None,
        soffset if isinstance(soffset, Expr) else None,
    )


# DS --------------------------------------------------------------------------------------------------------------------------


def _ds_addresses(form: Form) -> tuple[Expr, ...]:
    name = form.name
    if "addtid" in name:
        base = b.and_(b.special("m0"), b.const(32, 0xFFFF))
        place = b.shl(b.lane(), b.const(32, 2))
        return (b.add(b.add(base, place), b.imm("offset", 32)),)
    address = b.src("addr", 32)
    if "read2" in name or "write2" in name or "wrxchg2" in name:
        scale = form.definition.memory_bytes // 2 * (64 if _STRIDED_64 in name else 1)
        return tuple(b.add(address, b.mul(b.imm(k, 32), b.const(32, scale))) for k in ("offset0", "offset1"))
    return (b.add(address, b.imm("offset", 32)),)


def _ds_atomic(name: str) -> str:
    words = [word for word in name[3:].split("_") if word != "rtn"]
    operation, kind = "_".join(words[:-1]), words[-1]
    if operation.startswith("wrxchg"):
        operation = "swap"
    return f"{operation}_{kind}"


def _transposing(form: Form) -> Program:
    """ds_read_b64_tr_bN and ds_read_b96_tr_b6, `transpose:N`: 16 lanes read a matrix by rows and hold it by columns."""
    address = b.add(b.src("addr", 32), b.imm("offset", 32))
    size = form.definition.memory_bytes
    width = form.name.rpartition("_b")[2]
    return Program(Domain.INTRINSIC, memory=MemoryOp((address,), size, (), "vdst"), intrinsic=f"transpose:{width}")


def transposed_from(lane: int, element: int, count: int) -> tuple[int, int]:
    """Which lane's which element a transposing read gives `lane` as its `element`-th, of `count` a lane.

    Of each group of 16 lanes, 16 / count consecutive ones read a row of 16 elements; lane n of the group gets the n-th
    element of every row. Source: CDNA4 ISA guide, "MFMA transpose load from LDS".
    """
    within = lane % 16
    return lane - within + element * (16 // count) + within // count, within % count


def _ds(form: Form) -> Program | None:
    name = form.name
    access = form.definition.access
    if access is None or name.startswith(("ds_condxchg32", "ds_gws")):
        return None
    if "_tr_" in name:
        return _transposing(form)
    if name in ("ds_append", "ds_consume"):
        return Program(Domain.INTRINSIC, intrinsic=name)
    addresses = _ds_addresses(form)
    size = form.definition.memory_bytes // len(addresses)
    if access in (Access.LOAD, Access.STORE):
        return Program(Domain.LANE, memory=_transfer(form, addresses, size, "vdst"))
    dest = "vdst" if access is Access.ATOMIC_RETURN else None
    data = _first_present(form, "data0", "data1")
    return Program(Domain.LANE, memory=MemoryOp(addresses, size, data, dest, atomic=_ds_atomic(name)))


# Vector memory ---------------------------------------------------------------------------------------------------------------


def _vector_atomic(name: str) -> str:
    """buffer_atomic_smax_x2 is max_i64, global_atomic_pk_add_f16 pk_add_f16."""
    operation = name.split("_atomic_", 1)[1]
    bits = "64" if operation.endswith("_x2") else "32"
    stem = operation.removesuffix("_x2")
    return _ATOMICS[stem] + bits if stem in _ATOMICS else stem


def _lds_destination() -> Expr:
    base = b.and_(b.special("m0"), b.const(32, 0xFFFF))
    return b.add(base, b.imm("offset", 32))


def _vector(form: Form, address: Expr, dest: str, **buffer: str | Expr | None) -> Program | None:
    definition = form.definition
    access, size = definition.access, definition.memory_bytes
    resource, index, soffset = (buffer.get(key) for key in ("resource", "index", "soffset"))
    if access in (Access.LOAD, Access.STORE):
        return Program(Domain.LANE, memory=_transfer(form, (address,), size, dest, **buffer))
    lds = None
    data: tuple[str, ...] = ()
    atomic = None
    extend = Extend.NONE
    if access is Access.LDS_DMA:
        lds = _lds_destination()
        extend = _load_extend(form, size)
        target = None
    elif access in (Access.ATOMIC, Access.ATOMIC_RETURN):
        atomic = _vector_atomic(form.name)
        data = ("vdata",)
        target = dest if access is Access.ATOMIC_RETURN else None
    else:
        return None
    return Program(
        Domain.LANE,
        memory=MemoryOp(
            (address,),
            size,
            data,
            target,
            extend,
            resource if isinstance(resource, str) else None,
            index if isinstance(index, Expr) else None,
            soffset if isinstance(soffset, Expr) else None,
            atomic,
            lds,
        ),
    )


def _buffer(form: Form) -> Program | None:
    if "_format_" in form.name or "_lds_" in form.name:
        return None
    offset: Expr = b.imm("offset", 32)
    index: Expr | None = None
    offen, idxen = form.modifier("offen"), form.modifier("idxen")
    if offen and idxen:
        pair = b.src("vaddr", 64)
        index = b.extract(pair, 0, 32)
        offset = b.add(b.extract(pair, 32, 32), offset)
    elif offen:
        offset = b.add(b.src("vaddr", 32), offset)
    elif idxen:
        index = b.src("vaddr", 32)
    return _vector(form, offset, "vdata", resource="srsrc", index=index, soffset=b.src("soffset", 32))


def _addressed(form: Form) -> Program | None:
    family = form.definition.family
    offset = b.imm("offset", 64)
    if family is Family.FLAT:
        return _vector(form, b.add(b.src("vaddr", 64), offset), "vdst")
    based = form.has("saddr") and form.kind("saddr").kind == "s"
    if family is Family.GLOBAL:
        if based:
            base = b.add(b.src("saddr", 64), b.zext(b.src("vaddr", 32), 64))
        else:
            base = b.src("vaddr", 64)
        return _vector(form, b.add(base, offset), "vdst")
    address = b.imm("offset", 32)
    for name in ("vaddr", "saddr"):
        if form.kind(name).kind in ("v", "s"):
            address = b.add(b.src(name, 32), address)
    return _vector(form, b.zext(address, 64), "vdst")


# Scalar memory ---------------------------------------------------------------------------------------------------------------


def _scalar(form: Form) -> Program | None:
    name = form.name
    access, size = form.definition.access, form.definition.memory_bytes
    if access is None or not form.has("sbase") or name.startswith("s_scratch_") or access is Access.FENCE:
        return None
    buffer = name.startswith(("s_buffer_",))
    bits = 32 if buffer else 64
    offset = b.imm("offset", bits)
    if form.kind("soffset").kind != "none":
        value = b.src("soffset", 32)
        signed = form.kind("soffset").kind == "imm"
        if signed:
            value = b.and_(value, b.const(32, -4))  # the two low bits of each part of the address count as 0
        offset = b.add(b.extend(value, bits, signed=signed), offset)
    address = offset if buffer else b.add(b.src("sbase", 64), offset)
    resource = "sbase" if buffer else None
    if access in (Access.LOAD, Access.STORE):
        return Program(Domain.SCALAR, memory=_transfer(form, (address,), size, "sdata", resource=resource))
    dest = "sdata" if access is Access.ATOMIC_RETURN else None
    return Program(
        Domain.SCALAR, memory=MemoryOp((address,), size, ("sdata",), dest, resource=resource, atomic=_vector_atomic(name))
    )


def program(form: Form) -> Program | None:
    """The program of a memory instruction; None when it has no semantics here."""
    family = form.definition.family
    if family is Family.DS:
        return _ds(form)
    if family is Family.MUBUF:
        return _buffer(form)
    if family in (Family.FLAT, Family.GLOBAL, Family.SCRATCH):
        return _addressed(form)
    return _scalar(form) if family is Family.SMEM else None
