"""A small search for tests, and what must be the same of two of them."""

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.recover import recover
from asmevo.search.optimise import Budget, optimise
from asmevo.verify.judge import Judge, Level
from asmevo.verify.launch.dispatches import load_launches
from support import EXAMPLES


def with_executor(executor, attempts=30, seed=5, **options):
    """A search of softmax on its first launch."""
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    kernel = recover(code_object)
    dispatches = load_launches(EXAMPLES / "launches" / "softmax.toml", kernel)[:1]
    judge = Judge(Level.EMULATE, dispatches, seeds=(0,))
    budget = Budget(3000.0, attempts)
    return optimise(kernel, dispatches, judge, budget=budget, seed=seed, executor=executor, code_object=code_object, **options)


def told(result):
    """Every attempt, and every step with its kernel's text."""
    return result.attempts, [(step.attempt, step.verdict, step.parent, step.cell, step.kernel) for step in result.accepted]
