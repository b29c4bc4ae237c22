"""The verdict on two objects: the kernels in them, and that nothing else differs."""

from __future__ import annotations

from asmevo.frontend.codeobject import CodeObject
from asmevo.ir.kernel import Kernel
from asmevo.verify.diff.align import aligned
from asmevo.verify.diff.objects import kernels_only_differ
from asmevo.verify.judge import Judge
from asmevo.verify.verdict import Basis, Outcome, Verdict


def judge_objects(old: CodeObject, before: Kernel, new: CodeObject, after: Kernel, judge: Judge) -> Verdict:
    """The judge's verdict on `after` in the object `new` as a replacement of `before` in `old`; IDENTICAL for equal bytes.

    Raises what `kernels_only_differ` does when more than the kernel differs.
    """
    if old.data == new.data:
        return Verdict(Outcome.IDENTICAL, (Basis("bytes", Outcome.IDENTICAL, "the files are byte-identical"),))
    kernels_only_differ(old, before, new, after)
    return judge(before, aligned(before, after))
