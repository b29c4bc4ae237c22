"""What a pass is: frozen options, a `run`, and the context through which it reads and changes a kernel.

A pass gets valid IR and leaves valid IR. It must not change a kernel but through `ctx.rewriter`, keep state between runs, or
read anything that is not in the kernel, its options or the context.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

from asmevo.diagnostics import Span
from asmevo.ir.analysis.manager import Analysis, AnalysisManager
from asmevo.ir.kernel import Kernel
from asmevo.ir.rewriter import Rewriter

T = TypeVar("T", bound=Analysis)


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """What `asmevo explain` shows of an option and what pipeline text is checked against."""

    name: str
    kind: type
    default: int | float | bool | str
    help: str
    unit: str = ""
    ge: float | None = None
    le: float | None = None


def option(default: Any, *, help: str, unit: str = "", ge: float | None = None, le: float | None = None) -> Any:
    """A dataclass field that is a pass option; `ge` and `le` bound it inclusively."""
    return field(default=default, metadata={"help": help, "unit": unit, "ge": ge, "le": le})


def options_of(pass_type: type[Any]) -> tuple[OptionInfo, ...]:
    """The options of a pass class in declaration order, named as in pipeline text (kebab case)."""
    return tuple(
        OptionInfo(
            name=f.name.replace("_", "-"),
            kind=cast("type", type(f.default)),
            default=cast("Any", f.default),
            help=f.metadata["help"],
            unit=f.metadata["unit"],
            ge=f.metadata["ge"],
            le=f.metadata["le"],
        )
        for f in dataclasses.fields(pass_type)
        if "help" in f.metadata
    )


@dataclass(frozen=True, slots=True)
class Remark:
    """Something a pass tells: what it did, or why it left a chance alone."""

    pass_name: str
    message: str
    span: Span | None = None
    missed: bool = False


@dataclass(frozen=True, slots=True)
class PassResult:
    """`changed` False promises that the printed kernel is the same; `kernel` is the kernel after the pass."""

    changed: bool
    kernel: Kernel


@dataclass(slots=True)
class PassContext:
    """A pass's window on the world for one run: analyses of the kernel, the rewriter, statistics and remarks.

    `executions` maps an instruction's uid to how often a launch executed it; empty without a profile. A pass that makes blocks
    run more or less often replaces it: the passes behind it get the new one.
    """

    pass_name: str
    kernel: Kernel
    executions: Mapping[int, int] = field(default_factory=dict[int, int])
    waves_per_simd: int = 1
    rewriter: Rewriter = field(init=False)
    statistics: dict[str, int] = field(default_factory=dict[str, int])
    remarks: list[Remark] = field(default_factory=list[Remark])
    analyses: AnalysisManager = field(init=False)

    def __post_init__(self) -> None:
        self.rewriter = Rewriter(self.kernel)
        self.analyses = AnalysisManager(self.kernel)

    def analysis(self, kind: type[T]) -> T:
        """The analysis of the kernel as the pass received it."""
        return self.analyses.get(kind)

    def stat(self, name: str, amount: int = 1) -> None:
        """Adds to a statistic shown by `--stats`."""
        self.statistics[name] = self.statistics.get(name, 0) + amount

    def remark(self, message: str, span: Span | None = None, *, missed: bool = False) -> None:
        """Tells what was done, or with `missed` why something was not."""
        self.remarks.append(Remark(self.pass_name, message, span, missed))

    def finish(self) -> PassResult:
        """The result of a pass that changed the kernel only through the rewriter."""
        kernel = self.rewriter.kernel
        return PassResult(changed=kernel is not self.kernel, kernel=kernel)


@runtime_checkable
class KernelPass(Protocol):
    """The protocol of a pass; implementations are frozen dataclasses whose `option` fields are the pass's options."""

    name: ClassVar[str]

    def run(self, kernel: Kernel, ctx: PassContext) -> PassResult:
        """Transforms `kernel` through `ctx.rewriter` and returns what became of it."""
        ...
