"""The verdict on a changed kernel: static re-checks, proof of the edited windows, strict emulation, put together.

Cheapest first, and the first refusal ends it. Each judge stands alone; this module only orders them and combines what they say.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asmevo.backend.launch import Dispatch
from asmevo.diagnostics import Severity
from asmevo.ir.finding import Finding
from asmevo.ir.isa.model import IssueClass
from asmevo.ir.kernel import Kernel
from asmevo.ir.vector_file import shared_vectors
from asmevo.verify.differential import Runner, compare
from asmevo.verify.equivalence.kernel import prove_kernel
from asmevo.verify.equivalence.proof_cache import ProofCache
from asmevo.verify.static.barriers import check_removed_barriers, removed_barriers, without_barriers
from asmevo.verify.static.declared import check_declared, declares_less, is_only_lowered, is_only_raised
from asmevo.verify.static.definedness import check_definedness
from asmevo.verify.static.hazards import new_hazard_findings
from asmevo.verify.static.registers import BEYOND_ALLOCATION, check_registers
from asmevo.verify.static.resources import check_lds
from asmevo.verify.static.waits import new_wait_findings
from asmevo.verify.unrolled import with_unrolled_loops
from asmevo.verify.verdict import Basis, Counterexample, Outcome, Verdict


class Level(enum.Enum):
    """How far a judgement goes; each level includes the ones before it."""

    STATIC = "static"
    SMT = "smt"
    EMULATE = "emulate"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges candidates against K0 at one level.

    `timeout_s` is the z3 budget of one window; `seeds` are the wave orders of strict emulation; `dispatches` the launches.
    `rule` is how their results are compared, see `differential.compare`. `cache` has proofs of earlier runs, `jobs` is how many
    processes prove windows. `device` runs both kernels on a GPU, for the level of that name. `runner` runs launches, by default
    strictly on the emulator. With `needs_proof` nothing is run, and nothing succeeds, that is not proved before.
    """

    level: Level
    dispatches: Sequence[Dispatch] = ()
    timeout_s: float = 5.0
    seeds: tuple[int, ...] = (0, 1)
    rule: str = "exact"
    cache: ProofCache | None = None
    jobs: int = 1
    device: Callable[[Kernel, Kernel], Verdict] | None = None
    runner: Runner | None = None
    needs_proof: bool = False

    def __call__(self, before: Kernel, after: Kernel) -> Verdict:
        """The verdict on `after` as a replacement of `before`. Proved needs proof of both values and timing obligations."""
        static = static_verdict(before, after)
        if not static.outcome.is_success:
            return static
        if self.level is Level.STATIC:
            return Verdict(
                Outcome.UNKNOWN, static.basis, reason="values were not compared: only waits and wait states were checked"
            )
        reference, barriers = without_removed_barriers(before, after)
        reference, unrolled = with_unrolled_loops(reference, after, timeout_s=self.timeout_s)
        if is_only_lowered(before, after) or is_only_raised(before, after):
            # The static checks have shown that the code has enough: what is left to compare are the instructions.
            reference = replace(reference, descriptor=after.descriptor, metadata=after.metadata)
        proof = prove_kernel(reference, after, timeout_s=self.timeout_s, cache=self.cache, jobs=self.jobs)
        basis = (*static.basis, *barriers, *unrolled, *proof.basis)
        must_hold = self.level is Level.SMT or self.needs_proof
        if proof.outcome is Outcome.REFUTED or (must_hold and not proof.outcome.is_success):
            return Verdict(proof.outcome, basis, proof.counterexample, proof.reason)
        proved = Outcome.PROVED if barriers or unrolled or declares_less(before, after) else proof.outcome
        if self.level is Level.SMT:
            return Verdict(proved, basis)
        test = compare(before, after, self.dispatches, seeds=self.seeds, rule=self.rule, runner=self.runner)
        basis = (*basis, *test.basis)
        if not test.outcome.is_success:
            return Verdict(test.outcome, basis, test.counterexample, test.reason)
        if self.level is Level.DEVICE:
            assert self.device is not None, "the device level needs a device"
            ran = self.device(before, after)
            basis = (*basis, *ran.basis)
            if not ran.outcome.is_success:
                return Verdict(ran.outcome, basis, ran.counterexample, ran.reason)
        if proof.outcome.is_success:
            return Verdict(proved, basis)
        if _barriers(before) != _barriers(after):
            reason = "a barrier was added or removed: these launches showed no race, but that none is possible is not proved"
            return Verdict(Outcome.UNKNOWN, basis, reason=reason)
        return Verdict(test.outcome, basis)


def static_verdict(before: Kernel, after: Kernel) -> Verdict:
    """Proved when every path of `after` has the waits and wait states it needs; what K0 already lacked is named, not blamed.

    Unsupported for kernels in which a VGPR and an AGPR are one register: no check here sees through that.
    """
    if shared_vectors(before) or shared_vectors(after):
        reason = "VGPRs above accum_offset are used as AGPRs too: no check sees that they are one register"
        return Verdict(Outcome.UNSUPPORTED, (Basis("static registers", Outcome.UNSUPPORTED, reason),), reason=reason)
    basis: list[Basis] = []
    checks = (*_CHECKS, _DECLARED) if declares_less(before, after) else _CHECKS
    for method, detail, compare_with in checks:
        fresh, known = compare_with(before, after)
        if fresh:
            first = fresh[0]
            basis.append(Basis(method, Outcome.REFUTED, f"{len(fresh)} missing"))
            where = f"{first.block}: {first.instruction.mnemonic} (instruction {first.instruction.uid})"
            return Verdict(
                Outcome.REFUTED, tuple(basis), Counterexample(where, "covered", "not covered", first.message), first.message
            )
        lacking = f", but for {known} that the original lacks too" if known else ""
        basis.append(Basis(method, Outcome.PROVED, detail + lacking))
    return Verdict(Outcome.PROVED, tuple(basis))


def _waits(before: Kernel, after: Kernel) -> tuple[Sequence[Finding], int]:
    found = new_wait_findings(before, after)
    return found.findings, found.known_errors


def _hazards(before: Kernel, after: Kernel) -> tuple[Sequence[Finding], int]:
    found = new_hazard_findings(before, after)
    return found.findings, found.known_errors


def _registers(before: Kernel, after: Kernel) -> tuple[Sequence[Finding], int]:
    """Registers and LDS that were not given, and values that were not; the names of AGPRs count where `before` has none."""
    old, new = _all_of_registers(before), _all_of_registers(after)
    known = {_identity(finding) for finding in old if finding.severity is Severity.ERROR}
    errors = [finding for finding in new if finding.severity is Severity.ERROR]
    fresh = [finding for finding in errors if _identity(finding) not in known]
    if not any(_names_agprs(finding) for finding in old):
        fresh += [finding for finding in new if _names_agprs(finding)]
    return fresh, sum(_identity(finding) in known for finding in errors)


def _declared(before: Kernel, after: Kernel) -> tuple[Sequence[Finding], int]:
    return check_declared(before, after), 0


def _all_of_registers(kernel: Kernel) -> list[Finding]:
    return [*check_registers(kernel), *check_definedness(kernel), *check_lds(kernel)]


def _names_agprs(finding: Finding) -> bool:
    return finding.code == BEYOND_ALLOCATION and finding.severity is not Severity.ERROR


_COVERED = "every use on every path is covered"
_CHECKS = (
    ("static waits", _COVERED, _waits),
    ("static hazards", _COVERED, _hazards),
    ("static registers", "every register is allocated", _registers),
)
"""Method, what it proves, and what gives the findings that are new and the number of errors that are not."""
_DECLARED = ("static resources", "the smaller declaration covers all that the code can reach", _declared)


def without_removed_barriers(before: Kernel, after: Kernel) -> tuple[Kernel, tuple[Basis, ...]]:
    """Return `before` without the barriers that `after` lacks, and the proof that this changes nothing.

    Without such a proof it is `before` itself, whose barriers then differ for the judges that follow.
    """
    removed = removed_barriers(before, after)
    if not removed:
        return before, ()
    basis = check_removed_barriers(before, removed)
    return (without_barriers(before, removed), (basis,)) if basis.outcome is Outcome.PROVED else (before, ())


def _barriers(kernel: Kernel) -> list[tuple[str, int]]:
    """How many barriers each block has. A race depends on timing, so a test alone does not tell that one was not needed."""
    return [
        (block.label, sum(i.definition is not None and i.definition.issue is IssueClass.BARRIER for i in block.instructions))
        for block in kernel.blocks
    ]


def _identity(finding: Finding) -> tuple[str, int, int]:
    return finding.code, finding.instruction.uid, finding.producer.uid if finding.producer else -1
