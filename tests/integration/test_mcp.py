"""`asmevo mcp` as agents meet it: a process of its own, the package's own client, standard input and output."""

import json
import sys
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from asmevo.cli.main import app
from asmevo.ir.printer import print_instruction
from asmevo.passes.manager import PassManager
from asmevo.passes.pipeline import parse_pipeline
from llm_models import softmax
from support import EXAMPLES

mcp = pytest.importorskip("mcp", reason="needs asmevo[mcp]")

OBJECT, LAUNCH = EXAMPLES / "kernels" / "softmax.co", EXAMPLES / "launches" / "softmax.toml"
READERS = {"list_windows", "choose_window", "read_window", "ask_analysis", "look_up_instruction", "list_failures"}


def asked(calls, *options, mode="auto"):
    """What a server offers, and its answers to (name, arguments) calls, as (is_error, data)."""
    from mcp import Client, StdioServerParameters

    words = ["-m", "asmevo", "mcp", str(OBJECT), "--launch", str(LAUNCH), *map(str, options)]
    server = StdioServerParameters(command=sys.executable, args=words, cwd=str(Path(__file__).parents[2]))

    async def talk():
        async with Client(server, read_timeout_seconds=300, mode=mode) as client:
            offered = (await client.list_tools()).tools
            found = []
            for name, arguments in calls:
                result = await client.call_tool(name, arguments(found) if callable(arguments) else arguments)
                text = json.loads(result.content[0].text)
                assert result.structured_content == text
                found.append((result.is_error, text))
            return offered, found

    return anyio.run(talk)


def scheduled(answers):
    """An edit that the list scheduler has found, written as an agent writes one."""
    kernel, profile, _ = softmax()
    shown = [int(line.split()[0][1:]) for line in answers[-1][1]["lines"]]
    manager = PassManager(
        parse_pipeline("list-schedule,waitcnt-relax"), executions=profile.executions, waves_per_simd=profile.waves_per_simd
    )
    label = profile.hot_blocks(1)[0]
    members = manager.run(kernel).kernel.block(label).instructions
    known = {i.uid: i for i in kernel.block(label).instructions}
    kept = set(shown)
    lines = [
        f"#{i.uid}" if known.get(i.uid) == i else f"#{i.uid} {print_instruction(i)}" if i.uid in known else print_instruction(i)
        for i in members
        if i.uid in kept or i.uid not in known
    ]
    return {"text": "\n".join(lines), "why": "long latencies are covered by independent work"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_by_default_an_agent_can_only_read(mode):
    hostile = {"text": "s_endpgm", "why": "trust me"}
    calls = [("list_windows", {}), ("read_window", {}), ("propose_edit", hostile), ("ask_analysis", {"topic": "files"})]
    offered, answers = asked(calls, mode=mode)
    assert {tool.name for tool in offered} == READERS
    assert all(tool.input_schema["additionalProperties"] is False for tool in offered)
    assert all(tool.annotations.read_only_hint for tool in offered)
    assert answers[0][1]["windows"]
    assert answers[1][1]["lines"]
    assert [(is_error, data["error"]) for is_error, data in answers[2:]] == [(True, "unknown-tool"), (True, "malformed")]


def test_with_edits_a_verified_one_is_written_and_others_are_refused(tmp_path):
    best = tmp_path / "best.co"
    calls = [
        ("list_windows", {}),
        ("propose_edit", {"text": "#1 s_nop 0", "why": "out of the window"}),
        ("read_window", {}),
        ("propose_edit", scheduled),
        ("run_gates", {"edit": "e2"}),
        ("list_windows", {}),
        ("list_failures", {}),
        ("choose_window", {"number": 999}),
    ]
    offered, answers = asked(calls, "--allow-edits", "-o", best)
    assert {tool.name for tool in offered} == READERS | {"propose_edit", "run_gates"}
    told = [data for _, data in answers]
    assert told[1]["status"] == "malformed"
    assert told[3]["is_faster"]
    assert (told[4]["status"], told[4]["last_gate"]) == ("accepted", "emulation")
    assert told[5]["kernel_cycles"] < told[0]["kernel_cycles"]
    assert told[7]["error"] == "E0951"
    verdict = run("verify", OBJECT, best, "--launch", LAUNCH, "--level", "emulate", "--format", "concise")
    assert verdict.exit_code == 0, verdict.output


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def test_an_output_without_edits_is_a_mistake(tmp_path):
    result = run("mcp", OBJECT, "--launch", LAUNCH, "-o", tmp_path / "x.co")
    assert result.exit_code == 2
    assert "E0208" in result.stderr


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    result = run("mcp", OBJECT, "--launch", LAUNCH)
    assert result.exit_code == 2
    assert "asmevo[mcp]" in result.stderr
