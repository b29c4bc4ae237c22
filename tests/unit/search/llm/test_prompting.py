import random
from hashlib import sha256

import pytest

from asmevo.search.llm.prompting import VERSION, guidelines, message, system_prompt
from asmevo.search.llm.variants import FIRST, Variants, reward_of

RELEASED = {1: "24dcd1d3e400e84a82528b83f99e35632b010c79b9df38ccfb2ed9cd0b361fb4"}
"""The digest of each released version's files: a released prompt never changes, a new text is a new version."""


@pytest.mark.parametrize("version", RELEASED)
def test_released_templates_never_change(version):
    from importlib import resources

    folder = resources.files("asmevo.search.llm.prompts") / f"v{version}"
    whole = sha256()
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        whole.update(entry.name.encode() + b"\0" + entry.read_bytes())
    assert whole.hexdigest() == RELEASED[version]


def test_a_prompt_is_named_by_what_made_it():
    one, two = (system_prompt("gfx942", variant) for variant in FIRST[:2])
    assert one.sha256 != two.sha256
    record = one.record()
    assert system_prompt("gfx942", tuple(record["variant"]), record["version"]).sha256 == record["sha256"]
    assert "gfx942" in one.text
    assert "$" not in one.text


def test_every_message_says_its_values():
    values = {"begin": ("block", "instructions", "lost", "causes", "cycles", "attempts"), "accepted": ("cycles",)}
    values |= {"changed": ("cycles",), "nudge": (), "redirect": ("count", "status")}
    for name, keys in values.items():
        told = message(name, VERSION, **{key: f"<{key}>" for key in keys})
        assert all(f"<{key}>" in told for key in keys)
        assert "$" not in told


def test_first_variants_are_choices_of_guidelines():
    names = list(guidelines())
    for variant in FIRST:
        assert sorted(variant, key=names.index) == list(variant)


def learned(seed, better, rounds=60):
    variants = Variants(random.Random(seed))
    chosen = []
    for _ in range(rounds):
        variant = variants.choose()
        chosen.append(variant)
        variants.learn(variant, 0.9 if better in variant else 0.1)
    return chosen, variants


def test_advice_that_does_well_is_taken_more_often():
    chosen, variants = learned(3, "waits-split")
    late = chosen[-20:]
    assert sum("waits-split" in variant for variant in late) >= 15
    assert len(variants.population) <= 6


def test_choices_repeat_for_a_seed():
    assert learned(5, "lds-early")[0] == learned(5, "lds-early")[0]
    assert learned(5, "lds-early")[0] != learned(6, "lds-early")[0]


def test_children_come_into_the_population_and_the_worst_leave():
    _, variants = learned(1, "waits-split")
    bred = [variant for variant in variants.population if variant not in FIRST]
    assert bred
    assert all(set(variant) <= set(guidelines()) for variant in bred)


def test_rewards_grow_with_the_gain_and_lie_between_0_and_1():
    assert reward_of(0.0, 3) == 0.0
    assert 0 < reward_of(0.01, 4) < reward_of(0.02, 4) < reward_of(0.9, 1) == 1.0
