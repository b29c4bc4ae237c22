"""A few mutated inputs for every reader; `make fuzz-smoke` does more."""

import pytest

from asmevo.frontend.assembly.module import parse_module
from fuzz import engine, seeds, targets
from fuzz.engine import Log, Target

TARGETS = {target.name: target for target in targets.targets()}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_meets_a_fault(target: Target):
    log = Log(None)
    faults = engine.run([target], log, seed=1, seconds=2, jobs=1, report=lambda _: None)
    assert not faults, log.signatures
    assert log.count(target.name).inputs


@pytest.mark.parametrize(
    "name", ["object", "relocatable", "container", "metadata", "launch", "settings", "pipeline", "triton", "profile", "capture"]
)
def test_mutated_inputs_are_partly_accepted_and_partly_refused(name: str):
    answers = {engine.judge(TARGETS[name], engine.make_input(TARGETS[name], 2, number))[0] for number in range(60)}
    assert answers == {True, False}


def test_the_seeds_are_accepted():
    for seed in seeds.linked():
        assert targets.check_code(seed.data)
    for text in sorted(seeds.CORPUS.glob("*.s")):
        assert parse_module(text.read_text(), text.name).kernels
    for text in seeds.settings():
        assert targets.check_settings(text.encode())
