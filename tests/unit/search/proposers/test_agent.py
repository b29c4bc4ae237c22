"""An outside agent over JSON lines: told the situation and the outcomes; one that misbehaves ends as a failed proposer."""

import sys

import pytest

from asmevo.diagnostics import DiagnosticError
from asmevo.search.proposers.agent import AgentProposer, Conversation
from asmevo.search.records import Gate, Status
from searches import with_executor

GOOD = """
import json, sys
situation = json.loads(sys.stdin.readline())
window = situation["windows"][0]
lines = window["text"].splitlines()
for place in range(2):
    lines[place : place + 2] = lines[place + 1], lines[place]
    print(json.dumps({"window": 0, "text": "\\n".join(lines), "description": f"swap {place}"}), flush=True)
    answer = json.loads(sys.stdin.readline())
    print(answer["status"], answer["gate"], file=sys.stderr)
print(json.dumps({"done": True}), flush=True)
"""


def agent(tmp_path, program, **options):
    path = tmp_path / "agent.py"
    path.write_text(program)
    return AgentProposer(f"{sys.executable} {path}", **options)


def test_its_proposals_go_through_the_gates(tmp_path):
    result = with_executor(None, attempts=4, proposers=(agent(tmp_path, GOOD),))
    assert {a.proposer for a in result.attempts} == {"agent"}
    assert {a.description for a in result.attempts} == {"swap 0", "swap 1"}
    assert all(a.status is not Status.PROPOSER_FAILED for a in result.attempts)


def hear(tmp_path, program, **options):
    talk = agent(tmp_path, program, **options)
    with Conversation(talk.command, talk.timeout_s) as conversation:
        conversation.tell({"windows": []})
        return conversation.hear()


@pytest.mark.parametrize(
    ("program", "options", "words"),
    [
        ("print('not json', flush=True)", {}, "no JSON"),
        ("print('[1]', flush=True)", {}, "no object"),
        ("print('[' * 100000, flush=True)", {}, "no JSON"),
        ("import time; time.sleep(600)", {"timeout_s": 0.5}, "said nothing"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", {}, "longer than"),
    ],
)
def test_what_it_may_not_do(tmp_path, program, options, words):
    with pytest.raises(DiagnosticError, match=words) as caught:
        hear(tmp_path, program, **options)
    assert caught.value.diagnostics[0].code == "E0807"


def test_one_that_does_not_read_is_ended(tmp_path):
    talk = agent(tmp_path, "import time; time.sleep(600)", timeout_s=0.5)
    with Conversation(talk.command, talk.timeout_s) as conversation, pytest.raises(DiagnosticError, match="ended"):
        conversation.tell({"windows": "x" * (4 << 20)})


def test_one_that_ends_is_done(tmp_path):
    assert hear(tmp_path, "") is None


def test_one_that_does_not_start():
    with pytest.raises(DiagnosticError, match="does not start"):
        next(AgentProposer("/nowhere/agent").propose(None))


@pytest.mark.parametrize(
    "said",
    ['{"window": 99, "text": ""}', '{"window": true, "text": ""}', '{"text": 7}', '{"text": "s_nop 0", "description": 1}'],
)
def test_a_proposal_of_no_window_ends_the_errand(tmp_path, said):
    program = f"import sys\nsys.stdin.readline()\nprint('''{said}''', flush=True)\nsys.stdin.readline()"
    result = with_executor(None, attempts=1, proposers=(agent(tmp_path, program),))
    assert [(a.status, a.gate) for a in result.attempts] == [(Status.PROPOSER_FAILED, Gate.FORM)]
