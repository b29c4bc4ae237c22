"""The library as a person at a Python prompt uses it: load an object, look at a kernel, change it, judge it, save it.

Owns convenience only: every method is a few lines over the module that does the work, with the rules of the commands: the same
defaults, and nothing is written that was not verified unless that is asked for. docs/api.md has runnable examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from asmevo.diagnostics import fail
from asmevo.ir.analysis.manager import Analysis, AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.report import notebook
from asmevo.verify.diff.kernels import KernelDiff
from asmevo.verify.verdict import Basis, Outcome, Verdict

if TYPE_CHECKING:
    from asmevo.backend.launch import Dispatch, RunResult
    from asmevo.frontend.codeobject import CodeObject
    from asmevo.ir.finding import Finding
    from asmevo.passes.base import KernelPass
    from asmevo.search.records import Optimisation

T = TypeVar("T", bound=Analysis)


def load(source: Path | str | bytes, *, target: str | None = None) -> LoadedObject:
    """Return the code object of a file, of a container's member (`FILE!MEMBER`) or of bytes.

    `target` chooses among several members. Raises DiagnosticError E01xx for what is no code object or cannot be read.
    """
    from asmevo.backend.inputs import load_input

    return LoadedObject(load_input(source, target=target))


class ShownVerdict(Verdict):
    """A verdict that notebooks show as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return notebook.verdict_html(self)


class ShownDiff(KernelDiff):
    """A kernel's differences, shown by notebooks as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return notebook.diff_html(self)


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """A code object. `object` is its plain data."""

    object: CodeObject

    @property
    def target(self) -> str:
        """The chip: gfx90a, gfx942 or gfx950."""
        return self.object.target

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels' names, in the object's order."""
        return tuple(entry.name for entry in self.object.kernels)

    def kernel(self, name: str | None = None) -> LoadedKernel:
        """Return a kernel as IR: the only one unless named. Raises E0109 for an unknown name or when one is needed."""
        from asmevo.frontend.recover import recover

        kernel = recover(self.object, name)
        return LoadedKernel(kernel, self.object, kernel)

    def listing(self) -> str:
        """Return the object as assembly that `asmevo asm` makes the same bytes of."""
        from asmevo.backend.listing import Options, print_object

        return print_object(self.object, Options())


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel of an object, as it stands there (`original`) and as it is now (`ir`); immutable, methods return new ones."""

    ir: Kernel
    object: CodeObject
    original: Kernel
    _analyses: list[AnalysisManager] = field(default_factory=list[AnalysisManager], compare=False, repr=False)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.ir.name

    @property
    def is_changed(self) -> bool:
        """Whether the kernel is no longer the one that the object holds."""
        return self.ir is not self.original

    def analysis(self, kind: type[T]) -> T:
        """Return an analysis of `asmevo.ir.analysis`, computed once for each kernel."""
        if not self._analyses:
            self._analyses.append(AnalysisManager(self.ir))
        return self._analyses[0].get(kind)

    def findings(self) -> list[Finding]:
        """Return what the static checks find: waits, wait states, registers, LDS; errors and notes."""
        from asmevo.verify.static.checks import check_all

        return check_all(self.ir)

    def passes(self, pipeline: str | Sequence[KernelPass]) -> LoadedKernel:
        """Return the kernel after passes: `"waitcnt-relax,nop-trim"`, or passes as objects, own ones too. Nothing is verified.

        Raises E0202 to E0206 for a pipeline that is not understood.
        """
        from asmevo.passes.manager import PassManager
        from asmevo.passes.pipeline import parse_pipeline

        wanted = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        return self.with_ir(PassManager(wanted).run(self.ir).kernel)

    def with_ir(self, kernel: Kernel) -> LoadedKernel:
        """Return this kernel with other code, made with `asmevo.ir.rewriter` for example; it must pass `verify_kernel`."""
        return self if kernel is self.ir else LoadedKernel(kernel, self.object, self.original)

    def verify(
        self,
        other: LoadedKernel,
        launch: Path | str | Sequence[Dispatch] | None = None,
        *,
        level: str | None = None,
        timeout_s: float = 5.0,
        seeds: int = 2,
    ) -> ShownVerdict:
        """Return the verdict on `other` as a replacement of this kernel.

        `level` is static, smt or emulate; by default emulate with a launch, else smt. `timeout_s` is z3's budget for one
        window, `seeds` how many wave orders are emulated. Raises E0208 for a level that is unknown or needs a launch, E0505
        for objects that differ in more than the kernel's instructions.
        """
        from asmevo.verify.diff.align import aligned
        from asmevo.verify.diff.objects import kernels_only_differ
        from asmevo.verify.judge import Judge, Level

        wanted = level or ("smt" if launch is None else "emulate")
        if wanted not in {item.value for item in Level}:
            fail("E0208", f"unknown level '{wanted}'", help="use static, smt or emulate")
        if wanted == "emulate" and launch is None:
            fail("E0208", "level 'emulate' needs a launch", help="give a launch file or dispatches")
        after = other.ir
        if other.object.data != self.object.data:
            kernels_only_differ(self.object, self.ir, other.object, after)
            after = aligned(self.ir, after)
        if self.ir == after:
            basis = Basis("bytes", Outcome.IDENTICAL, "the kernels' instructions are the same")
            return ShownVerdict(Outcome.IDENTICAL, (basis,))
        dispatches: Sequence[Dispatch] = () if launch is None else self._dispatches(launch)
        verdict = Judge(Level(wanted), dispatches, timeout_s, tuple(range(seeds)))(self.ir, after)
        return ShownVerdict(**{part.name: getattr(verdict, part.name) for part in fields(verdict)})

    def diff(self, other: LoadedKernel) -> ShownDiff:
        """Return what differs in `other`: instructions added, removed and moved, resources, arguments.

        Offsets are those of `to_bytes`. Raises E06xx for a kernel that cannot be laid out or encoded.
        """
        from asmevo.verify.diff.kernels import diff_kernels

        found = diff_kernels(self._laid_out(), other._laid_out())
        return ShownDiff(**{part.name: getattr(found, part.name) for part in fields(found)})

    def emulate(self, launch: Path | str | Sequence[Dispatch], *, mode: str = "strict", seed: int = 0) -> dict[str, RunResult]:
        """Run every case of a launch on the CPU; results by the case's name, buffers as arrays of bytes in the launch's order.

        `mode` strict reports missing waits, races and the like as faults, fast does not; `seed` chooses the wave order.
        """
        from asmevo.backend.emulator import run

        return {dispatch.name: run(self.ir, dispatch, mode=mode, seed=seed) for dispatch in self._dispatches(launch)}

    def launch_text(self, *, budget_s: float = 30.0) -> str:
        """Return a launch file proposed from a probing run (docs/launches.md); its comments say what is a guess.

        Raises E0227 when none can be written.
        """
        from asmevo.verify.infer.proposal import Hints, propose
        from asmevo.verify.infer.text import as_toml

        return as_toml(propose(self.ir, Hints(), budget_s))

    def optimise(
        self,
        launch: Path | str | Sequence[Dispatch],
        *,
        budget_s: float = 60.0,
        attempts: int = 200,
        seed: int = 0,
    ) -> OptimisedKernel:
        """Search for a verified kernel with fewer modelled cycles; the launch profiles and tests it. Ends after `budget_s`.

        Raises E0504 when this kernel itself faults in the launch.
        """
        from asmevo.search.optimise import Budget, optimise
        from asmevo.verify.judge import Judge, Level

        dispatches = self._dispatches(launch)
        judge = Judge(Level.EMULATE, dispatches)
        result = optimise(self.ir, dispatches, judge, budget=Budget(budget_s, attempts), seed=seed, code_object=self.object)
        return OptimisedKernel(self.with_ir(result.kernel), result, seed)

    def assembly(self) -> str:
        """Return the kernel as labelled assembly."""
        from asmevo.ir.printer import print_kernel

        return print_kernel(self.ir)

    def mlir(self) -> str:
        """Return the dataflow in SSA form as MLIR's generic assembly (docs/ir_export.md)."""
        from asmevo.report.mlir import print_mlir

        return print_mlir([self.ir])

    def llvm_ir(self, block: str | None = None) -> str:
        """Return what one lane does as LLVM IR, in the kernel or one block (docs/ir_export.md). E0623 for an unknown block."""
        from asmevo.report.lift import print_block_as_llvm_ir, print_llvm_ir

        return print_llvm_ir([self.ir]) if block is None else print_block_as_llvm_ir(self.ir, block)

    def to_bytes(self) -> bytes:
        """Return the object with this kernel in its place, not judged. Raises E06xx for what cannot be laid out or encoded."""
        from asmevo.backend.writer import rebuild

        return rebuild(self.object, self.ir) if self.is_changed else self.object.data

    def save(
        self,
        path: Path | str,
        launch: Path | str | Sequence[Dispatch] | None = None,
        *,
        level: str | None = None,
    ) -> ShownVerdict:
        """Write the object with this kernel, once the kernel is judged to be a replacement of the original; the verdict.

        `level` none writes without a judgement. Nothing is written and E0521 raised when the verdict is not a success.
        """
        from asmevo.atomic import check_writable, write_atomically

        path = Path(path)
        check_writable(path)
        data = self.to_bytes()
        if level == "none" and self.is_changed:
            verdict = ShownVerdict(Outcome.UNKNOWN, reason="not verified, as asked with level none")
        else:
            before = replace(self, ir=self.original, _analyses=[])
            verdict = before.verify(self, launch, level=level)
            if not verdict.outcome.is_success:
                told = f"the kernel is not written: {verdict.outcome.value}" + (verdict.reason and f" ({verdict.reason})")
                fail("E0521", told, help="give a launch, or level='none' to write it unverified")
        write_atomically(path, data)
        return verdict

    def _laid_out(self) -> Kernel:
        """The kernel as its object has it; an edited instruction still has the offset that it came from, an added one none."""
        from asmevo.frontend.codeobject import load as load_object
        from asmevo.frontend.recover import recover

        return recover(load_object(self.to_bytes(), "<changed>"), self.ir.name) if self.is_changed else self.ir

    def _dispatches(self, launch: Path | str | Sequence[Dispatch]) -> Sequence[Dispatch]:
        from asmevo.verify.launch.dispatches import load_launches

        return load_launches(launch, self.ir) if isinstance(launch, (str, Path)) else launch

    def _repr_html_(self) -> str:
        return notebook.kernel_html(self.ir)


@dataclass(frozen=True, slots=True)
class OptimisedKernel:
    """What a search gave: the best verified kernel (the original where none was found) and the record of the search."""

    kernel: LoadedKernel
    record: Optimisation
    seed: int

    @property
    def speedup(self) -> float:
        """Modelled cycles before over after; no device was used."""
        return self.record.speedup

    @property
    def verdict(self) -> ShownVerdict | None:
        """The verdict on the best kernel; None when nothing better was found."""
        found = self.record.verdict
        return None if found is None else ShownVerdict(**{part.name: getattr(found, part.name) for part in fields(found)})

    def save(self, path: Path | str) -> None:
        """Write the object, and its evidence beside it as PATH.evidence.json. Raises E0521 when nothing better was found."""
        import json

        from asmevo.atomic import check_writable, write_atomically
        from asmevo.search.evidence import evidence

        if not self.record.steps:
            fail("E0521", "nothing verified and faster was found: there is nothing to write")
        path = Path(path)
        report = path.with_name(path.name + ".evidence.json")
        for file in (path, report):
            check_writable(file)
        text = json.dumps(evidence(self.record, self.kernel.object, self.seed), indent=2)
        write_atomically(path, self.kernel.to_bytes())
        write_atomically(report, text.encode())

    def _repr_html_(self) -> str:
        return notebook.optimisation_html(self.record)
