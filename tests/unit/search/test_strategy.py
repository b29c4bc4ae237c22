"""The rules of the search: what earns a place, who is asked, what is tried next, and that the state survives JSON."""

import json
import random

from asmevo.search.bandit import Bandit
from asmevo.search.planning import PRESET, START, Chart, next_generation, settle
from asmevo.search.proposal import HotWindow
from asmevo.search.standing import MINIMUM_GAIN, SLACK, Standing
from asmevo.search.state import K0, Island, State

CYCLES = {K0: 100.0, 0: 90.0, 1: 89.0, 2: 95.0}
WINDOWS = (HotWindow("hot", 0, 9, 50.0, {"lgkmcnt": 30.0}), HotWindow("cold", 0, 9, 5.0, {}))


def chart(seed=1, left=1000, names=(START, "reorder", "stochastic")):
    return Chart(CYCLES.__getitem__, lambda step: WINDOWS, names, {START: 16}, seed, 0, 3, left)


def planned(seed=1, generations=3, **options):
    state = State([Island() for _ in range(4)])
    for _ in range(generations):
        next_generation(state, chart(seed, **options))
    return state


def test_a_place_is_earned_by_being_faster_or_another_kind():
    standing = Standing(100.0, 90.0, {(1,): 90.0})
    assert standing.earns((1,), 89.0)
    assert not standing.earns((1,), 90.0 * (1 - MINIMUM_GAIN / 2))
    assert standing.earns((2,), 90.0 * (1 + SLACK / 2))
    assert not standing.earns((2,), 90.0 * (1 + SLACK * 2))
    standing.take((2,), 91.0)
    assert not standing.earns((2,), 91.0)
    assert standing.best == 90.0


def test_nothing_that_is_not_faster_than_the_original_earns_a_place():
    standing = Standing(100.0, 100.0, {})
    assert not standing.earns((1,), 100.0)
    assert not standing.earns((1,), 100.0 * (1 - MINIMUM_GAIN / 2))
    assert standing.earns((1,), 99.0)


def test_the_bandit_comes_to_ask_who_succeeds_and_forgets_old_success():
    bandit, source = Bandit(), random.Random(1)
    asked = []
    for _ in range(300):
        name = bandit.choose(("good", "bad"), source)
        asked.append(name)
        bandit.told(name, 1.0 if name == "good" else 0.0)
    assert asked.count("good") > 270
    for _ in range(200):
        bandit.told("good", 0.0)
    assert bandit.arms["good"][0] < 1.0


def test_the_preset_is_judged_first_then_other_pipelines_and_later_generations_look_at_windows():
    (preset,) = planned(generations=1).errands
    assert (preset.parent, preset.proposer, preset.seed, preset.limit) == (K0, START, PRESET, 1)
    second = planned(generations=2)
    assert [(e.parent, e.proposer, e.island) for e in second.errands] == [(K0, START, n) for n in range(4)]
    assert len({e.seed for e in second.errands} | {PRESET}) == 5
    later = planned(generations=3)
    assert all(e.label in ("hot", "cold") for e in later.errands)


def test_every_island_starts_from_what_the_preset_made():
    state = planned(generations=1)
    settle(state.islands[0], 0, (1,), CYCLES.__getitem__)
    next_generation(state, chart())
    assert [island.best for island in state.islands] == [0] * 4
    assert all(errand.bar < CYCLES[K0] for errand in state.errands)


def test_plans_repeat_for_a_seed_and_differ_for_another():
    assert planned().errands == planned().errands
    assert planned().errands != planned(seed=2).errands


def test_the_budget_bounds_what_is_asked_for():
    assert sum(errand.limit for errand in planned(left=10).errands) <= 10
    assert planned(left=0).errands == []


def test_what_was_tried_in_vain_is_tried_less_and_harder():
    island = Island(best=0)
    state = State([island])
    for _ in range(40):
        next_generation(state, chart(names=("reorder",)))
        (errand,) = state.errands
        island.tried_in_vain(errand.key)
    efforts = {key: count for key, count in island.vain.items() if key.startswith("0 ")}
    assert any("cold" in key for key in efforts), "the hot window alone was tried"
    assert max(efforts.values()) > 5


def test_an_island_whose_best_leads_nowhere_goes_back():
    island = Island(best=1, cells={(1,): 1, (2,): 0}, stale=50)
    state = State([island])
    parents = set()
    for _ in range(60):
        next_generation(state, chart(names=("reorder",)))
        parents.add(state.errands[0].parent)
    assert parents == {K0, 0, 1}


def test_the_best_of_an_island_comes_to_the_next():
    state = State([Island(best=1, cells={(1,): 1}), Island(best=0, cells={(1,): 0}), Island()], generation=5)
    next_generation(state, chart())
    assert [island.best for island in state.islands] == [1, 1, 0]
    assert state.islands[1].cells[(1,)] == 0


def test_settling_tells_whether_it_is_the_best():
    island = Island(best=0)
    assert settle(island, 1, (1,), CYCLES.__getitem__)
    assert not settle(island, 2, (2,), CYCLES.__getitem__)
    assert (island.best, island.cells) == (1, {(1,): 1, (2,): 2})


def test_the_state_survives_json():
    state = planned()
    state.islands[0].cells[(1, 2)] = 1
    state.islands[0].bandit.told("reorder", 0.3)
    state.islands[1].tried_in_vain("0 reorder hot[0:9]")
    again = State.from_data(json.loads(json.dumps(state.to_data())))
    assert again == state
    next_generation(state, chart())
    next_generation(again, chart())
    assert again == state
