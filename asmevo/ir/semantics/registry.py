"""Finds the program of an instruction. Owns the order of the families, the cache by form, and what is left out and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from asmevo.ir.instruction import Instruction
from asmevo.ir.isa.model import Family
from asmevo.ir.memo import by_text
from asmevo.ir.semantics import (
    compare,
    control,
    convert,
    crosslane,
    matrix,
    memory,
    packed,
    scalar,
    vector_float,
    vector_int,
)
from asmevo.ir.semantics.expr import Program
from asmevo.ir.semantics.form import Form, UnsupportedFormError, form_of

_SCALAR = frozenset({Family.SOP1, Family.SOP2, Family.SOPK, Family.SOPC})
_MEMORY = frozenset({Family.DS, Family.FLAT, Family.GLOBAL, Family.SCRATCH, Family.MUBUF, Family.SMEM})
_VECTOR: tuple[Callable[[Form], Program | None], ...] = (
    crosslane.program,
    vector_int.program,
    convert.program,
    vector_float.program,
    packed.program,
    matrix.program,
)

UNSUPPORTED: dict[str, str] = {
    "s_movrels_b32": "move by an index: which register it touches is not printed",
    "s_movrels_b64": "move by an index: which register it touches is not printed",
    "s_movreld_b32": "move by an index: which register it touches is not printed",
    "s_movreld_b64": "move by an index: which register it touches is not printed",
    "s_cbranch_g_fork": "fork and join of wave parts",
    "s_cbranch_i_fork": "fork and join of wave parts",
    "s_cbranch_join": "fork and join of wave parts",
    "s_rfe_b64": "return from a trap handler",
    "s_rfe_restore_b64": "return from a trap handler",
    "s_endpgm_ordered_ps_done": "graphics only",
    "v_screen_partition_4se_b32": "graphics only",
    "v_cubeid_f32": "graphics only",
    "v_cubema_f32": "graphics only",
    "v_cubesc_f32": "graphics only",
    "v_cubetc_f32": "graphics only",
    "ds_condxchg32_rtn_b64": "exchange by a flag bit, no user known",
    "v_cvt_pkaccum_u8_f32": "graphics only",
}
_TYPED = "typed buffer access: formats of graphics, compute compilers emit none"
_UNSUPPORTED_PREFIXES: dict[str, str] = {
    "v_mfma_ld_scale_": "scales of the next matrix operation, gfx950: nothing emits it",
    "tbuffer_": _TYPED,
    "buffer_store_lds_": "stores from LDS, gfx90a only",
    "ds_gws_": "global wave sync: needs set-up by the driver",
    "s_scratch_": "scalar scratch access: compilers emit none",
    "s_atc_probe": "address translation probes",
}


def unsupported_reason(mnemonic: str) -> str:
    """Why an instruction has no semantics; a general sentence when no special reason is listed."""
    if mnemonic in UNSUPPORTED:
        return UNSUPPORTED[mnemonic]
    for prefix, reason in _UNSUPPORTED_PREFIXES.items():
        if mnemonic.startswith(prefix):
            return reason
    return _TYPED if "_format_" in mnemonic else "this form has no semantics"


def _build(form: Form) -> Program | None:
    found = control.program(form)
    if found is not None or form.name in UNSUPPORTED:
        return found
    family = form.definition.family
    if family in _SCALAR:
        return scalar.program(form)
    if family is Family.VOPC:
        return compare.program(form)
    if form.name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle")):
        return crosslane.program(form)
    if family in _MEMORY:
        return memory.program(form)
    for candidate in _VECTOR:
        found = candidate(form)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=16384)
def program_of_form(form: Form) -> Program | None:
    """The program of a form; None when it has no semantics."""
    try:
        return _build(form)
    except UnsupportedFormError:
        # A modifier without semantics on an opcode that has them: the whole form is opaque.
        return None


def program_of(i: Instruction, target: str = "gfx942") -> Program | None:
    """The meaning of an instruction with all its modifiers on a target; None when it has none here: treat it as opaque.

    A pure function of mnemonic, modifiers and operand kinds: instructions that differ only in register numbers, constants and
    offsets give equal programs.
    """
    return _program(i, target)


@by_text
def _program(i: Instruction, target: str) -> Program | None:
    form = form_of(i, target)
    return None if form is None else program_of_form(form)
