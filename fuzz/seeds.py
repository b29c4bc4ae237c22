"""What is mutated: shipped kernels, containers that real tools made, and the texts in corpus/.

Owns finding and reading them; they are valid, and read once.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from asmevo.backend.build import assemble_new
from asmevo.backend.listing import print_object
from asmevo.frontend.codeobject import load, load_file
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from fuzz import objects
from fuzz.objects import Seed

_ROOT = Path(__file__).resolve().parents[1]
CORPUS = Path(__file__).resolve().parent / "corpus"
CONTAINERS = _ROOT / "tests" / "data" / "containers"
KERNELS = _ROOT / "examples" / "kernels"
_SMALL = ("histogram", "reduce_sum")
_LAUNCHED = ("histogram", "reduce_sum", "softmax", "vector_add")
_CONTAINER_FILES = (
    "gnu.a",
    "bsd.a",
    "plain.hipfb",
    "zlib_v2.hipfb",
    "zstd_v2.hipfb",
    "zstd_v3.hipfb",
    "packaged.bin",
    "compressed.o",
    "thin.a",
)


@lru_cache(maxsize=1)
def small_object() -> bytes:
    """Return the object that corpus/kernels.s stands for: two kernels, a function, data."""
    return assemble_new((CORPUS / "kernels.s").read_text(), "kernels.s")


@lru_cache(maxsize=1)
def linked() -> tuple[Seed, ...]:
    """Return the linked objects, smallest first."""
    files = [small_object(), *((KERNELS / f"{name}.co").read_bytes() for name in _SMALL)]
    return tuple(objects.seed_of(data) for data in files)


@lru_cache(maxsize=1)
def relocatable() -> tuple[Seed, ...]:
    """Return the relocatable objects."""
    return tuple(objects.seed_of((CONTAINERS / name).read_bytes()) for name in ("histogram.o", "program.o"))


@lru_cache(maxsize=1)
def containers() -> tuple[bytes, ...]:
    """Return containers of every kind."""
    return tuple((CONTAINERS / name).read_bytes() for name in _CONTAINER_FILES)


@lru_cache(maxsize=1)
def sources() -> tuple[str, ...]:
    """Return assembly sources as people write them."""
    files = sorted((*CORPUS.glob("*.s"), *(_ROOT / "tests" / "filecheck" / "parser").glob("*.s")))
    return tuple(path.read_text() for path in files)


@lru_cache(maxsize=1)
def listings() -> tuple[tuple[bytes, str], ...]:
    """Return objects with their listings."""
    return tuple((seed.data, print_object(load(seed.data, "seed.co"))) for seed in linked()[:2])


@lru_cache(maxsize=1)
def launches() -> tuple[tuple[Kernel, str], ...]:
    """Return shipped kernels with their launch files."""
    return tuple(
        (recover(load_file(KERNELS / f"{name}.co")), (_ROOT / "examples" / "launches" / f"{name}.toml").read_text())
        for name in _LAUNCHED
    )


@lru_cache(maxsize=1)
def settings() -> tuple[str, ...]:
    """Return the shipped settings file, and one with every setting."""
    return ((_ROOT / "examples" / "asmevo.toml").read_text(), (CORPUS / "every.toml").read_text())
