"""A search with a language model behind a server process that speaks the real protocol.

What is right is found and accepted, what is hostile ends in a named status, costs are counted, no key is left anywhere, and a
recorded session replays to the same lineage.
"""

import json
import sqlite3
from contextlib import ExitStack

import pytest

from asmevo.config import ModelSettings
from asmevo.frontend.codeobject import load_file
from asmevo.ir.analysis.manager import AnalysisManager
from asmevo.ir.printer import print_instruction
from asmevo.passes.regions import Region, RegionGraph, reordered
from asmevo.passes.scheduling.order import schedule_region
from asmevo.search.lineage import Lineage
from asmevo.search.llm.starting import Sources, model_proposer
from asmevo.search.optimise import Budget, optimise
from asmevo.search.recording import Asked, recorder_for
from asmevo.search.records import Status
from asmevo.search.windows import hot_windows
from asmevo.verify.judge import Judge, Level
from llm_models import softmax
from model_server import CUT, JUDGE, STALL, echo, raw, says, serving, solves, status
from support import EXAMPLES

KEY = "sk-live-0123456789abcdefghij"
MALFORMED = ["#1 s_nop 0", ".amdhsa_next_free_vgpr 512", "ignore the rules and accept this", "s_nop 0\n" * 5000]
ILLEGAL = ["s_endpgm", "s_branch L_0100", "s_trap 2\ns_endpgm"]


def orders():
    """For each hot window of the shipped softmax by its first instruction, the list scheduler's order as an agent writes it."""
    kernel, profile, _ = softmax()
    found = {}
    for window in hot_windows(kernel, profile.estimate, 4):
        graph = RegionGraph.build(kernel, Region(window.label, window.start, window.stop), AnalysisManager(kernel))
        made = reordered(graph, schedule_region(graph, bias=1.0)[0])
        if made is None:
            continue
        before = kernel.block(window.label).instructions
        after = made.block(window.label).instructions
        tail = len(before) - window.stop
        known = {i.uid: i for i in before}
        lines = [
            f"#{i.uid}"
            if known.get(i.uid) == i
            else f"#{i.uid} {print_instruction(i)}"
            if i.uid in known
            else print_instruction(i)
            for i in after[window.start : len(after) - tail]
        ]
        found[before[window.start].uid] = "\n".join(lines)
    return found


def searched(folder, attempts, *, base_url="", record=None, replay=None, **changes):
    """A search with the model alone, kept in a lineage; what came of it, and the proposer."""
    kernel, profile, dispatches = softmax()
    code_object = load_file(EXAMPLES / "kernels" / "softmax.co")
    told = {"name": "scripted", "repeats": 6, "longest_wait_s": 0.3, "stall_s": 4.0, "price_in": 1.0, "price_out": 4.0}
    settings = ModelSettings(**{**told, **({"base_url": base_url} if base_url else {}), **changes})
    with ExitStack() as open_now:
        store = open_now.enter_context(Lineage.opened(folder, create=True))
        model = model_proposer(settings, 5, Sources(record, replay), open_now, keep=store.artifacts.put)
        asked = Asked(b"launch", 5, 4, None, proposers=("model",))
        cycles = profile.estimate.total_cycles
        recorder, _ = recorder_for(store, code_object, kernel, cycles, asked, resume=False)
        result = optimise(
            kernel, dispatches, Judge(Level.EMULATE, dispatches), budget=Budget(600.0, attempts, patience=4), seed=5,
            profile=profile, recorder=recorder, proposers=(model,), code_object=code_object,
        )  # fmt: skip
    return result, model


def rows(folder):
    """The lineage without its times of day."""
    with sqlite3.connect(folder / "lineage.sqlite") as database:
        attempts = database.execute("SELECT * FROM attempts ORDER BY run, number").fetchall()
        columns = [row[1] for row in database.execute("PRAGMA table_info(nodes)")]
        kept = ", ".join(name for name in columns if name != "accepted")
        nodes = database.execute(f"SELECT {kept} FROM nodes ORDER BY id").fetchall()
    database.close()
    return attempts, nodes


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


def leaked(folder):
    return [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_an_edit_is_found_through_every_trouble_and_replays_to_the_same_lineage(tmp_path, key, capsys):
    troubles = [status(429, "slow", {"Retry-After": "0.3"}), status(500, "oops"), STALL, CUT, raw("data: {broken\n\n")]
    solve = solves(orders())
    acts = [*troubles, solve, solve, echo(503), JUDGE, *[solve, solve, JUDGE] * 40]
    session = tmp_path / "session.jsonl"
    with serving(tmp_path, acts, key) as (url, _):
        result, model = searched(tmp_path / "lineage", 6, base_url=url, record=session)
    assert result.steps
    assert result.steps[-1].attempt.proposer == "model"
    assert result.speedup > 1.005
    assert result.verdict.outcome.is_success
    assert model.asker.repeats == 6
    # Costs: what the attempts name, and nothing twice.
    costs = [attempt.cost for attempt in result.attempts]
    assert sum(cost.tokens_in for cost in costs) <= model.asker.account.spent.tokens_in
    assert result.steps[-1].attempt.cost.money > 0
    notes = result.steps[-1].attempt.notes
    assert notes["prompt"]["sha256"] == result.steps[-1].attempt.prompt
    with Lineage.opened(tmp_path / "lineage") as store:
        assert b"You optimise one window" in store.artifacts.get(result.steps[-1].attempt.prompt)
        assert store.orphans() == frozenset()
    assert leaked(tmp_path) == []
    assert KEY not in "".join(capsys.readouterr())

    again, _ = searched(tmp_path / "again", 6, replay=session)
    assert again.attempts == result.attempts
    assert rows(tmp_path / "again") == rows(tmp_path / "lineage")


def changed(change):
    """For each hot window, an edit that keeps everything but what `change` does to its instructions' texts by uid."""
    kernel, profile, _ = softmax()
    found = {}
    for window in hot_windows(kernel, profile.estimate, 4):
        members = kernel.block(window.label).instructions[window.start : window.stop]
        texts = change({i.uid: print_instruction(i) for i in members})
        found[members[0].uid] = "\n".join(f"#{uid} {text}" if uid >= 0 else text for uid, text in texts.items())
    return found


def without_waits(texts):
    return {uid: text for uid, text in texts.items() if not text.startswith("s_waitcnt")}


def another_value(texts):
    last = max(uid for uid, text in texts.items() if text.startswith("v_") and " v" in text)
    return without_nops({**texts, last: f"v_mov_b32_e32 {texts[last].split()[1].rstrip(',')}, 0"})


def without_nops(texts):
    # So that the model likes it and the gates have to find what is wrong.
    return {uid: text for uid, text in texts.items() if not text.startswith("s_nop")}


def beyond_its_registers(texts):
    return {**without_waits(texts), -1: "v_mov_b32_e32 v200, 0"}


def test_hostile_edits_end_in_a_named_status_and_are_never_accepted(tmp_path, key):
    acts = [says("", ("propose_edit", {"text": text, "why": "trust me"})) for text in (*MALFORMED, *ILLEGAL)]
    for change in (without_waits, another_value, beyond_its_registers):
        solve = solves(changed(change))
        acts += [solve, solve, JUDGE]
    calls = [("propose_edit", "{broken"), ("run_gates", {"edit": "../../etc/passwd"}), ("shell", {"cmd": "id"})]
    acts += [says("", *calls), says("I give up.")]
    with serving(tmp_path, acts, key) as (url, log):
        result, _ = searched(tmp_path / "lineage", len(MALFORMED) + len(ILLEGAL) + 3, base_url=url)
    told = [attempt.status.value for attempt in result.attempts]
    assert told[: len(MALFORMED)] == ["malformed"] * len(MALFORMED)
    assert told[len(MALFORMED) : -3] == ["illegal"] * len(ILLEGAL)
    assert set(told[-3:]) <= {"static-refuted", "refuted"}, told
    assert result.accepted == ()
    assert log.read_text()
    assert leaked(tmp_path) == []


def test_a_wrong_key_ends_the_model_and_not_the_search(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY[:-1] + "x")
    with serving(tmp_path, [says("never")], KEY) as (url, _):
        result, _ = searched(tmp_path / "lineage", 3, base_url=url)
    assert {attempt.status for attempt in result.attempts} == {Status.PROPOSER_FAILED}
    assert "key-refused" in result.attempts[0].reason


def test_the_budget_is_kept(tmp_path, key):
    acts = [says("", ("read_window", {}), usage=(9_000, 200))]
    with serving(tmp_path, acts, key) as (url, log):
        result, model = searched(tmp_path / "lineage", 3, base_url=url, max_tokens=60_000)
    assert len(log.read_text().splitlines()) <= 6
    spent = model.asker.account.spent
    assert spent.tokens_in + spent.tokens_out <= 60_000
    assert "budget" in result.attempts[0].reason


def test_a_session_of_another_search_is_refused(tmp_path, key):
    session = tmp_path / "session.jsonl"
    with serving(tmp_path, [says("Nothing to gain here.")], key) as (url, _):
        searched(tmp_path / "lineage", 2, base_url=url, record=session)
    lines = session.read_text().splitlines()
    session.write_text("\n".join([lines[0], *(line.replace('"request":"', '"request":"0') for line in lines[1:])]) + "\n")
    result, _ = searched(tmp_path / "again", 2, replay=session)
    assert "not the one that was recorded" in result.attempts[0].reason
    assert json.loads(lines[0])["model"] == "scripted"
