"""The backend for AMD GPUs beside a stand-in for the driver's library: each way a candidate can end has its status."""

import importlib.util
import json
import shutil
import struct
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from asmevo.backend.hip import device
from asmevo.backend.hip.device import Ended, Limits
from asmevo.backend.hip.messages import Object, Request, decoded_request, encoded
from asmevo.backend.launch import Dispatch
from asmevo.backend.writer import rebuild
from asmevo.cli.main import app
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.parser import parse_line
from asmevo.ir.printer import print_instruction
from asmevo.search.acceptance import Decision, Samples, decide
from asmevo.verify.device import CANDIDATE, K0, DeviceTest, compare_on_device
from asmevo.verify.judge import Judge, Level
from asmevo.verify.verdict import Outcome
from standin.server import StandIn, build_library
from support import EXAMPLES

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="the stand-in library needs a C compiler"),
    pytest.mark.skipif(importlib.util.find_spec("hip") is None, reason="hip-python is not installed"),
]

S_BRANCH_TO_ITSELF = 0xBF82FFFF
S_ENDPGM = 0xBF810000


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build_library(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def standin(library, tmp_path):
    with StandIn(tmp_path, library, "gfx942") as found:
        yield found


@pytest.fixture
def vector_add(shipped):
    _, code_object, kernel, dispatches = shipped["vector_add"]
    return code_object, kernel, dispatches[:2]


def edited(code_object, kernel, old, new):
    """(kernel, object) with every instruction whose text is `old` replaced by `new`."""
    blocks, hits = [], 0
    for block in kernel.blocks:
        body = []
        for instruction in block.instructions:
            if print_instruction(instruction) == old:
                body.append(replace(parse_line(new), uid=instruction.uid, offset=instruction.offset))
                hits += 1
            else:
                body.append(instruction)
        blocks.append(replace(block, instructions=tuple(body)))
    assert hits, f"no instruction is {old!r}"
    changed = replace(kernel, blocks=tuple(blocks))
    return changed, rebuild(code_object, changed)


def patched(code_object, kernel, word):
    """The object whose first instruction after the preload is another word."""
    first = next(i for b in kernel.blocks for i in b.instructions if i.mnemonic == "v_readfirstlane_b32")
    data = bytearray(code_object.data)
    start = bytes(data).index(struct.pack("<I", int.from_bytes(first.encoding, "little")))
    data[start : start + 4] = struct.pack("<I", word)
    return bytes(data)


def judged(standin, vector_add, changed, data, **options):
    code_object, kernel, dispatches = vector_add
    test = DeviceTest(limits=Limits(step_s=2.0), environment=standin.environment, **options)
    return compare_on_device((kernel, code_object.data), (changed, data), dispatches, test)


def test_the_same_kernel_is_tested(standin, vector_add):
    code_object, kernel, _ = vector_add
    found = judged(standin, vector_add, kernel, code_object.data, samples=5)
    assert found.verdict.outcome is Outcome.TESTED
    assert found.verdict.basis[0].method == "device"
    assert "stand-in (gfx942)" in found.verdict.basis[0].detail
    assert [(t.role, t.dispatch, len(t.microseconds)) for t in found.report.reply.times] == [
        (K0, 0, 5),
        (CANDIDATE, 0, 5),
        (K0, 1, 5),
        (CANDIDATE, 1, 5),
    ]


def test_an_equivalent_edit_is_tested(standin, vector_add):
    code_object, kernel, _ = vector_add
    changed, data = edited(code_object, kernel, "s_lshl_b32 s1, s14, 10", "s_mul_i32 s1, s14, 0x400")
    assert data != code_object.data
    assert judged(standin, vector_add, changed, data).verdict.outcome is Outcome.TESTED


def test_a_wrong_result_is_refuted_with_its_place(standin, vector_add):
    code_object, kernel, _ = vector_add
    found = judged(standin, vector_add, *edited(code_object, kernel, "s_lshl_b32 s1, s14, 10", "s_lshl_b32 s1, s14, 9")).verdict
    assert found.outcome is Outcome.REFUTED
    assert found.counterexample.where.startswith("out+0x")


def test_an_output_left_unwritten_is_refuted(standin, vector_add):
    code_object, kernel, _ = vector_add
    found = judged(standin, vector_add, kernel, patched(code_object, kernel, S_ENDPGM)).verdict
    assert found.outcome is Outcome.REFUTED
    assert found.counterexample.where == "out+0x0"


def test_a_store_beside_a_buffer_is_refuted_by_its_guard(standin, vector_add):
    code_object, kernel, dispatches = vector_add
    texts = [print_instruction(i) for block in kernel.blocks for i in block.instructions]
    (text,) = [text for text in texts if text.startswith("global_store_dword") and text.endswith("offset:12")]
    changed, data = edited(code_object, kernel, text, text.replace("offset:12", "offset:16"))
    found = judged(standin, (code_object, kernel, dispatches[:1]), changed, data).verdict
    assert found.outcome is Outcome.REFUTED
    assert "beside buffer out" in found.reason


def test_a_kernel_that_does_not_end_is_killed(standin, vector_add):
    code_object, kernel, _ = vector_add
    found = judged(standin, vector_add, kernel, patched(code_object, kernel, S_BRANCH_TO_ITSELF))
    assert found.report.ended is Ended.HUNG
    assert found.verdict.outcome is Outcome.REFUTED
    assert "candidate did not end at step 'run'" in found.verdict.reason


def test_a_memory_fault_ends_the_child_only(standin, vector_add):
    code_object, kernel, _ = vector_add
    old = "v_lshl_add_u64 v[0:1], v[0:1], 2, s[6:7]"
    found = judged(standin, vector_add, *edited(code_object, kernel, old, old.replace(" 2,", " 4,").replace("s[6:7]", "0")))
    assert found.report.ended is Ended.DIED
    assert found.verdict.outcome is Outcome.REFUTED
    assert "Memory access fault by GPU" in found.verdict.reason


def test_an_original_that_faults_is_an_error_not_a_refutation(standin, vector_add):
    code_object, kernel, dispatches = vector_add
    broken = (kernel, patched(code_object, kernel, S_BRANCH_TO_ITSELF))
    test = DeviceTest(limits=Limits(step_s=1.0), environment=standin.environment)
    found = compare_on_device(broken, (kernel, code_object.data), dispatches, test).verdict
    assert found.outcome is Outcome.ERROR
    assert found.reason.startswith("the k0 did not end")


@pytest.mark.parametrize(("call", "ended"), [("hipMalloc", Ended.REFUSED), ("hipModuleGetFunction", Ended.REFUSED)])
def test_a_call_that_the_driver_refuses_is_named(standin, vector_add, call, ended):
    code_object, kernel, _ = vector_add
    standin.extra["STANDIN_BROKEN"] = call
    found = judged(standin, vector_add, kernel, code_object.data)
    assert found.report.ended is ended
    assert found.verdict.outcome is Outcome.ERROR
    assert call in found.verdict.reason


def test_no_device_is_a_message(standin, vector_add):
    code_object, kernel, _ = vector_add
    standin.extra["STANDIN_BROKEN"] = "hipGetDeviceCount"
    with pytest.raises(DiagnosticError, match="E0701"):
        judged(standin, vector_add, kernel, code_object.data)


def test_no_library_is_a_message(vector_add, tmp_path):
    code_object, kernel, dispatches = vector_add
    request = Request((Object(K0, kernel.name, code_object.data),), tuple(dispatches))
    with pytest.raises(DiagnosticError, match="E0701"):
        device.run(request, environment={"LD_LIBRARY_PATH": str(tmp_path), "ROCM_PATH": str(tmp_path)})


def test_no_launch_is_undecided(standin, vector_add):
    code_object, kernel, _ = vector_add
    found = judged(standin, (code_object, kernel, []), kernel, code_object.data)
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert standin.launches == 0


def slower(data, instructions, noise):
    return instructions / 1e4 * (1 + noise.gauss(0, 0.002)) * (0.9 if data.endswith(b"\0fast") else 1.0)


def noisy(data, instructions, noise):
    return instructions / 1e4 * (1 + abs(noise.gauss(0, 0.3)))


@pytest.mark.parametrize(("clock", "decision"), [(slower, Decision.FASTER), (noisy, Decision.NOISY)])
def test_times_decide_only_beyond_their_noise(standin, vector_add, clock, decision):
    code_object, kernel, dispatches = vector_add
    standin.clock = clock
    data = code_object.data
    objects = (Object("k0", kernel.name, data), Object("parent", kernel.name, data))
    # The stand-in's clock knows the faster object by bytes behind its sections, which nothing loads.
    fast = Object("candidate", kernel.name, _with_mark(data))
    request = Request((*objects, fast), tuple(dispatches[:1]), samples=15)
    report = device.run(request, Limits(step_s=5.0), environment=standin.environment)
    times = {timed.role: Samples(timed.microseconds) for timed in report.reply.times}
    found = decide(times["k0"], times["parent"], times["candidate"])
    assert found.decision is decision
    if decision is Decision.FASTER:
        assert found.speedup == pytest.approx(1 / 0.9, rel=0.01)
        assert decide(times["k0"], times["candidate"], times["parent"]).decision is Decision.NOT_FASTER


def _with_mark(data):
    """The object with five bytes in a section name's place of its own: the section table moves behind them."""
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    rows = data[table : table + size * count]
    mark = b"\0fast"
    padded = data + bytes(-len(data) % 8)
    # The stand-in reads an image up to the end of its section table; a last row of zeros ends with the mark.
    last = bytes(size - len(mark)) + mark
    moved = bytearray(padded + rows + last)
    struct.pack_into("<Q", moved, 40, len(padded))
    struct.pack_into("<H", moved, 60, count + 1)
    return bytes(moved)


def test_the_judge_asks_the_device_last(standin, vector_add):
    code_object, kernel, dispatches = vector_add
    asked = []

    def on_device(before, after):
        asked.append(after)
        return judged(standin, vector_add, after, rebuild(code_object, after)).verdict

    judge = Judge(Level.DEVICE, dispatches, device=on_device)
    good, _ = edited(code_object, kernel, "s_lshl_b32 s1, s14, 10", "s_mul_i32 s1, s14, 0x400")
    verdict = judge(kernel, good)
    assert verdict.outcome.is_success
    assert [basis.method for basis in verdict.basis][-1] == "device"
    bad, _ = edited(code_object, kernel, "s_lshl_b32 s1, s14, 10", "s_lshl_b32 s1, s14, 9")
    assert judge(kernel, bad).outcome is Outcome.REFUTED
    assert asked == [good]


def test_bench_measures_and_verify_asks_the_device(standin, shipped, monkeypatch):
    for key, value in standin.environment.items():
        monkeypatch.setenv(key, value)
    path = str(shipped["vector_add"][0])
    launch = ["--launch", str(EXAMPLES / "launches" / "vector_add.toml")]
    result = CliRunner().invoke(app, ["bench", path, path, *launch, "--case", "ragged", "--repeats", "5", "--format", "json"])
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["modelled"] is False
    assert report["device"]["name"] == "stand-in"
    assert [len(item["samples_us"]) for item in report["launches"][0]["objects"]] == [5, 5]
    said = CliRunner().invoke(app, ["bench", path, *launch, "--case", "ragged", "--repeats", "5"])
    assert "measured by events on: name stand-in" in said.stdout
    assert "ragged" in said.stdout


def test_a_dispatch_survives_the_way_to_the_child(vector_add):
    _, _, dispatches = vector_add
    request = Request((Object(K0, "k", b"\0\xff"),), tuple(dispatches), (3,), 7, 1, 2)
    back = decoded_request(encoded(request))
    assert (back.objects, back.poisons, back.samples, back.warmup, back.device) == (request.objects, (3,), 7, 1, 2)
    for before, after in zip(dispatches, back.dispatches, strict=True):
        assert isinstance(after, Dispatch)
        assert replace(after, buffers=()) == replace(before, buffers=())
        for old, new in zip(before.buffers, after.buffers, strict=True):
            assert new.data.tobytes() == old.data.tobytes()
            assert (new.name, new.writable, new.defined, new.dtype) == (old.name, old.writable, old.defined, old.dtype)
