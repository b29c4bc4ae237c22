"""Profiles and captured dispatches, mutated: the forms of rocprofv3 and of kerncap.

Owns their seeds, made up here, and what must hold when one is read.
"""

from __future__ import annotations

import json
import struct
from functools import lru_cache
from pathlib import Path
from random import Random

from asmevo.frontend.profiles.matching import match_profile
from asmevo.frontend.profiles.reading import read_profile
from asmevo.ir.printer import print_instruction
from asmevo.verify.capture.folder import read_capture
from asmevo.verify.capture.pieces import links_inside
from asmevo.verify.capture.text import import_capture
from asmevo.verify.launch.dispatches import load_launches
from fuzz import seeds, texts, words
from fuzz.oracle import Wrong

_BASE = 0x7F0000000000
_SAMPLES = "Sample_Timestamp,Exec_Mask,Dispatch_Id,Instruction,Instruction_Comment,Correlation_Id"
_STALLS = "Wave_Issued_Instruction,Instruction_Type,Stall_Reason,Wave_Count"
_REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"
_HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
_WORDS = (*words.NUMBERS, '""', "null", "true", "[]", "{}", "18446744073709551616", "-1", "1e9", "NaN", '"s_nop 0"', "")
_FILES = ("dispatch.json", "memory_regions.json", "kernarg.bin")


@lru_cache(maxsize=1)
def _profiles() -> tuple[str, ...]:
    kernel = seeds.launches()[0][0]
    some = [i for i in kernel.instructions() if i.offset is not None][:12]
    shown = [(print_instruction(i), 4096 + (i.offset or 0)) for i in some]
    tables = [
        "\n".join([f"{_SAMPLES}", *(f'1,2,3,"{text}","",3' for text, _ in shown)]) + "\n",
        "\n".join([f"{_SAMPLES},{_STALLS}", *(f'1,2,3,"{text}","",3,0,"T","{_REASON}",4' for text, _ in shown)]) + "\n",
        "\n".join(["CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source",
                   *(f'2,{at},"{text}",1,10,4,1,""' for text, at in shown)]) + "\n",
    ]  # fmt: skip
    records = [
        {"record": {"pc": {"code_object_id": 2, "code_object_offset": at}, "wave_issued": n % 2,
                    "snapshot": {"stall_reason": _REASON}}, "inst_index": n}
        for n, (_, at) in enumerate(shown)
    ]  # fmt: skip
    tool = {
        "strings": {"pc_sample_instructions": [text for text, _ in shown]},
        "buffer_records": {"pc_sample_host_trap": [], "pc_sample_stochastic": records},
    }
    code = [[text, 0, n, "", 2, at, 1, 10, 4, 1] for n, (text, at) in enumerate(shown)]
    trees = [{"rocprofiler-sdk-tool": [tool]}, {"code": code, "version": "3.0.0", "header": _HEADER}]
    return (*tables, *(json.dumps(tree, indent=1) for tree in trees))


def profile(rng: Random) -> bytes:
    """Return a changed profile."""
    return texts.encoded(
        texts.changed(rng, rng.choice(_profiles()), lambda r, old: r.choice((*_WORDS, old * 2)), (), _profiles())
    )


def check_profile(data: bytes, folder: Path) -> bool:
    """A profile is read, and what is matched to a kernel is no more than what was read."""
    path = folder / "profile"
    path.write_bytes(data)
    read = read_profile(path)
    kernel = seeds.launches()[0][0]
    found = match_profile(read, kernel, 4096)
    seen = sum(row.counts.seen(read.method) for row in read.rows)
    if found is not None and found.total.seen(found.method) > seen * 1.000001:
        raise Wrong("more was matched to a kernel than was read")
    return True


@lru_cache(maxsize=1)
def _captures() -> tuple[bytes, ...]:
    kernel = seeds.launches()[0][0]
    dispatch = {"mangled_name": f"{kernel.name}.kd", "grid": [512, 1, 1], "block": [256, 1, 1], "group_segment_size": 64}
    regions = {"regions": [{"base": _BASE + n * 4096, "size": 64, "is_pool": True} for n in range(3)]}
    kernarg = struct.pack("<8Q", *(_BASE + n * 4096 + 8 for n in range(3)), 5, *(0,) * 4)
    return json.dumps(dispatch, indent=1).encode(), json.dumps(regions, indent=1).encode(), kernarg


def capture(rng: Random) -> bytes:
    """Return the number of a capture's file, and that file changed."""
    number = rng.randrange(len(_FILES))
    text = _captures()[number].decode("latin-1")
    new = texts.changed(rng, text, lambda r, old: r.choice((*_WORDS, old * 2)), (), words.JSON)
    return bytes([number]) + (new.encode("latin-1", "replace") if number == 2 else texts.encoded(new))


def check_capture(data: bytes, folder: Path) -> bool:
    """A capture is read, becomes a launch file, and that is read."""
    memory = folder / "capture" / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(_FILES):
        (folder / "capture" / name).write_bytes(data[1:] if number == data[0] else _captures()[number])
    for number in range(3):
        (memory / f"region_{_BASE + number * 4096:x}.bin").write_bytes(struct.pack("<8Q", _BASE, *range(7)))
    found = read_capture(folder / "capture")
    kernel = seeds.launches()[0][0]
    links_inside(found, [(region, None) for region in found.regions if region.path.exists()])
    launch = folder / "imported.toml"
    launch.write_text(import_capture(found, kernel, launch).text)
    (dispatch,) = load_launches(launch, kernel)
    if dispatch.grid != found.grid or dispatch.workgroup != found.workgroup:
        raise Wrong("an imported launch has another size")
    return True
