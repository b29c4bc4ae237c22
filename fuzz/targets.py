"""The readers under test, each with what makes its inputs and what must hold when it accepts one."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from pathlib import Path
from random import Random

from asmevo import config
from asmevo.backend.build import assemble_like, assemble_new, text_roundtrip
from asmevo.backend.inputs import load_input, load_member
from asmevo.backend.listing import Options, print_object
from asmevo.backend.writer import rebuild
from asmevo.diagnostics import DiagnosticError
from asmevo.frontend.assembly.lines import Line, split_lines
from asmevo.frontend.assembly.metadata_text import parse_metadata
from asmevo.frontend.assembly.module import parse_module
from asmevo.frontend.codeobject import CodeObject, load
from asmevo.frontend.containers import open_inputs, replace_member
from asmevo.frontend.containers.triton import parse_metadata as parse_triton
from asmevo.frontend.recover import recover
from asmevo.ir.printer import print_kernel
from asmevo.ir.verifier import verify_kernel
from asmevo.passes.pipeline import parse_pipeline, pipeline_text
from asmevo.report.object_info import kernel_info
from asmevo.verify.launch.dispatches import load_launches
from fuzz import containers, measured, objects, seeds, texts
from fuzz.engine import Target
from fuzz.oracle import Wrong

_MOST_KERNELS = 4


def targets() -> tuple[Target, ...]:
    """Return every target, and ready what their workers share."""
    warm_up()
    return (
        Target("object", "object", _object, check_object, 5.0),
        Target("code", "object", _code, check_code, 2.0),
        Target("relocatable", "object", _relocatable, check_object, 1.5),
        Target("container", "object", containers.mutated, check_container, 1.5),
        Target("assembly", "text", texts.assembly, check_assembly, 2.0),
        Target("build", "text", texts.buildable, check_build, 1.0),
        Target("listing", "text", texts.listing, check_listing, 1.5),
        Target("metadata", "text", texts.metadata, check_metadata, 0.5),
        Target("launch", "text", texts.launch, check_launch, 1.0),
        Target("settings", "text", texts.settings, check_settings, 0.5),
        Target("pipeline", "text", texts.pipeline, check_pipeline, 0.3),
        Target("triton", "text", texts.triton, check_triton, 0.2),
        Target("profile", "text", measured.profile, check_profile, 0.5),
        Target("capture", "text", measured.capture, check_capture, 0.5),
    )


def warm_up() -> None:
    """Load the library, the grammars and the seeds, so that no worker pays for them."""
    seeds.launches()
    parse_pipeline("nop-trim")
    for seed in (*seeds.linked(), *seeds.relocatable()):
        obj = load_input(seed.data, "seed")
        text_roundtrip(obj)
    seeds.listings()
    check_assembly(seeds.sources()[0].encode())


# ---- objects ----


def _object(rng: Random) -> bytes:
    return objects.mutated(rng, rng.choice(seeds.linked()))


def _code(rng: Random) -> bytes:
    # The larger ones take a hundred times as long.
    return objects.mutated_code(rng, seeds.linked()[0] if rng.random() < 0.9 else rng.choice(seeds.linked()))


def _relocatable(rng: Random) -> bytes:
    return objects.mutated(rng, rng.choice(seeds.relocatable()))


def check_object(data: bytes) -> bool:
    """Whatever opens as an object has its parts where it says; every kernel it names can be asked for."""
    obj = load_input(data, "mutated.co")
    for entry in obj.kernels:
        if len(obj.code(entry)) != entry.stop - entry.start:
            raise Wrong("a kernel's code is shorter than it says")
    return True


def check_code(data: bytes) -> bool:
    """An object that opens comes back the same through IR and through text, or is refused; the report can be made."""
    obj = load_input(data, "mutated.co")
    refused: DiagnosticError | None = None
    for entry in obj.kernels[:_MOST_KERNELS]:
        try:
            kernel = recover(obj, entry.name)
            kernel_info(obj, entry)
        except DiagnosticError as error:
            refused = error
            continue
        if rebuild(obj, kernel) != obj.data:
            raise Wrong("through IR the object is another one")
    print_object(obj, Options(offsets=True, encoding=True))
    if text_roundtrip(obj) != obj.data:
        raise Wrong("through text the object is another one")
    if refused is not None:
        raise refused
    return True


def check_container(data: bytes) -> bool:
    """Every usable member loads or is refused, and put back unchanged it gives the same container."""
    members = open_inputs(data, "mutated")
    usable = [member for member in members if member.is_usable]
    for member in usable[:_MOST_KERNELS]:
        try:
            load_member(member)
        except DiagnosticError:
            continue
        if len(members) > 1:
            try:
                replace_member(data, "mutated", member, member.data)
            except DiagnosticError:
                # Compressed again it may be longer than the room there is.
                continue
    return bool(usable)


# ---- texts ----


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def check_assembly(data: bytes) -> bool:
    """A source that is accepted prints, and what is printed is accepted."""
    module = parse_module(_text(data), "mutated.s", _empty_folder())
    for kernel in (*module.kernels, *module.functions):
        verify_kernel(kernel)
        print_kernel(kernel)
    return True


def check_build(data: bytes) -> bool:
    """A source that is built gives an object that opens and comes back through text."""
    made = assemble_new(_text(data), "mutated.s")
    return check_code(made)


def check_listing(data: bytes) -> bool:
    """An edited listing that is accepted gives an object that opens, and whose own listing gives it again."""
    original = seeds.listings()[data[0]][0]
    made = assemble_like(load(original, "seed.co"), _text(data[1:]), "mutated.s")
    _comes_back(load(made, "made.co"))
    return True


def _comes_back(obj: CodeObject) -> None:
    if text_roundtrip(obj) != obj.data:
        raise Wrong("an object made of an edited listing does not come back through its own")


def check_metadata(data: bytes) -> bool:
    """YAML of a metadata block becomes plain values."""
    lines = split_lines(_text(data), "mutated.s")
    parse_metadata(lines, lines[0] if lines else Line("", "", "mutated.s", 1))
    return True


def check_launch(data: bytes) -> bool:
    """A launch file becomes dispatches of a kernel, bounded in size."""
    load_launches(_written(data[1:], "launch.toml"), seeds.launches()[data[0]][0])
    return True


def check_settings(data: bytes) -> bool:
    """A settings file is read, strictly."""
    resolved = config.resolve(_written(data, "asmevo.toml"))
    parse_pipeline(resolved.settings.passes, resolved.locate("passes"))
    return True


def check_pipeline(data: bytes) -> bool:
    """Pipeline text is read, and printed it is read to the same."""
    passes = parse_pipeline(_text(data))
    if parse_pipeline(pipeline_text(passes)) != passes:
        raise Wrong("a pipeline's text does not give it again")
    return True


def check_triton(data: bytes) -> bool:
    """Triton's metadata is read."""
    parse_triton(data, "mutated.json")
    return True


def check_profile(data: bytes) -> bool:
    """See `measured.check_profile`."""
    return measured.check_profile(data, _folder())


def check_capture(data: bytes) -> bool:
    """See `measured.check_capture`."""
    return measured.check_capture(data, _folder())


@lru_cache(maxsize=1)
def _folder() -> Path:
    # In memory where that exists: a file is written for each input.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="asmevo-fuzz-", dir=base))


@lru_cache(maxsize=1)
def _empty_folder() -> Path:
    folder = _folder() / "include"
    folder.mkdir(exist_ok=True)
    return folder


def _written(data: bytes, name: str) -> Path:
    path = _folder() / f"{os.getpid()}-{name}"
    path.write_bytes(data)
    return path
