"""docs/triage.md, made from docs/triage.jsonl: which errors are left on production kernels, and why each kind is real.

Owns the page's words and the evidence of each kind; a kind without evidence stops it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from tools.triage_rows import Row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "triage.md"

_HEAD = """<!-- Made by `make triage` (tools/triage_page.py). -->
# Errors on production kernels, and why they are errors

AsmEvo's static checks were run over objects of ROCm/aiter's `hsa` folder. This page lists, by kernel family and kind, what they
call an error; [triage.jsonl](triage.jsonl) has each one by object and byte offsets of the instruction and of its producer, with
the wait that is missing (`lacks`: `vmcnt(3)`) or the wait states that pass and are needed (`4 of 7`). Slow tests scan the
objects again and fail for an error that is not listed, and ask the analyses that passes use, which share no code with the
checks, whether they agree with each. Warnings and notes are not listed: they are conflicts between the manual and LLVM, traffic
left pending on purpose, and the like.

An error here says that a guarantee of the published manual is missing, not that the kernel has been seen to fail: such code
works as long as enough time passes anyhow. No device was at hand.

To see one with its path or its count of slots: `asmevo analyze OBJECT`. To make the list again, in pieces if need be:
`ASMEVO_CORPUS=aiter/hsa python -m tools.triage --log triage.log`.

## Evidence

G3 and G4 are AMD's CDNA3 and CDNA4 instruction set guides, LLVM its GCNHazardRecognizer, rocRoller that project's observers.

"""

_EVIDENCE = {
    "wait-lds": "An LDS read is used with no `s_waitcnt lgkmcnt` between that covers it, by what was issued after it, on the "
    "path that the finding names (or straight on). LDS results come in order, so the count is exact (G3 4.4).",
    "wait-vmem": "A vector memory load is used with no `s_waitcnt vmcnt` between that covers it, on the path that the finding "
    "names (or straight on). Every load, store and load to LDS issued after it was counted (G3 4.4).",
    "wait-smem": "A scalar load's result is used, or loaded again, with no `s_waitcnt lgkmcnt(0)` between: such loads return "
    "in any order (G3 4.4).",
    "valu-dpp": "A DPP source was written less than 2 slots before by the VALU: G3 4.5 and LLVM "
    "both ask for 2, and nothing between stalls.",
    "valu-sgpr-constant": "The VALU reads an SGPR that the VALU wrote less than 2 slots before: G3 4.5, LLVM "
    "(VALUWriteSGPRVALURead) and rocRoller all ask for 2 on gfx942.",
    "valu-sgpr-vmem": "A memory instruction reads an SGPR that the VALU wrote less than 5 slots before: G3 4.5, LLVM and "
    "rocRoller all ask for 5. Interlocked SALU instructions between wait for another register only.",
    "matrix": "A matrix instruction's result is used before its passes and write-back are over: table 37 of G3, or 38 of G4, "
    "and LLVM agree on the number. Slots in which later ones wait for the matrix unit count as passed.",
    "matrix-c": "A matrix instruction accumulates on another's result too early. Results are forwarded only between "
    "instructions of equal passes (G3 table 37, G4 table 38). LLVM asks for nothing between others on the same registers; its "
    "PR 218363 calls that a fault.",
    "valu-matrix": "A matrix instruction reads a register that the VALU wrote less than 2 slots before (G3 table 37, G4 table "
    "38, LLVM). That the matrix unit may still be busy with an instruction before both is no help: the write may be late too.",
    "trans-valu": "The result of a transcendental instruction is read in the next slot (G3 4.5, LLVM, rocRoller: 1).",
    "partial-valu": "A register written in part is read in the next slot (G3 4.5, LLVM, rocRoller: 1).",
    "valu-permlane": "v_permlane reads a register that the VALU wrote less than 2 slots before (G4 4.5, LLVM, rocRoller).",
    "valu-lane-read": "A lane of a register is read in the slot after the VALU wrote it (G3 4.5, LLVM, rocRoller: 1).",
    "valu-lane-select": "A lane select was written less than 4 slots before by the VALU (G3 4.5, LLVM, rocRoller).",
    "wide-store-valu": "The data of a store wider than 64 bits is overwritten less than 2 slots after it (G3 4.5, LLVM).",
    "undefined": "Nothing on any path from the entry writes the register, the descriptor does not enable it as an input, and "
    "an access to memory, a branch or a lane mask may depend on the value (the finding names one).",
    "allocation": "The register's number is above the allocation that the descriptor asks for.",
    "lds-limit": "The size is above what a work-group can have (G3 and G4, 11.1).",
}
_MATRIX = ("xdl-", "sgemm-", "dgemm", "not_dgemm-", "matrix-")


def evidence(row: Row) -> str:
    """The key of the evidence of a row's kind. KeyError for a kind that was not looked into."""
    if row.code == "E0501":
        return "wait-lds" if row.producer.startswith("ds_") else "wait-smem" if row.producer.startswith("s_") else "wait-vmem"
    if row.code == "E0502":
        key = row.rule.replace("wide-buffer-store-valu", "wide-store-valu")
        if row.rule.startswith(_MATRIX):
            key = "matrix-c" if row.rule.endswith(("-c", "-c-same")) else "matrix"
    else:
        key = {"E0506": "allocation", "E0509": "undefined", "E0510": "lds-limit"}[row.code]
    if key not in _EVIDENCE:
        raise KeyError(f"no evidence is written for {row.code} {row.rule}")
    return key


def page(rows: Iterable[Row]) -> str:
    """The whole page."""
    errors: Counter[tuple[str, str, str, str]] = Counter()
    objects: defaultdict[tuple[str, str, str, str], set[str]] = defaultdict(set)
    used: set[str] = set()
    total = 0
    for row in rows:
        key = row.family, row.code, evidence(row), f"{row.instruction} <- {row.producer}" if row.producer else row.instruction
        errors[key] += len(row.pairs)
        objects[key].add(row.file)
        used.add(evidence(row))
        total += len(row.pairs)
    lines = [f"- **{name}**: {text}" for name, text in _EVIDENCE.items() if name in used]
    files = {file for found in objects.values() for file in found}
    lines += ["", "## Table", "", f"{total:,} errors in {len(files)} objects.", ""]
    lines += ["| family | code | evidence | instruction <- producer | errors | objects |", "|---|---|---|---|---|---|"]
    for (family, code, name, pair), count in sorted(errors.items()):
        lines.append(f"| {family} | {code} | {name} | {pair} | {count:,} | {len(objects[family, code, name, pair])} |")
    return _HEAD + "\n".join(lines) + "\n"
