"""What the parent asks of the child that owns the GPU, and what comes back, as plain data and as bytes.

Owns the form alone. Both sides are of the same version: there is no other.
"""

# msgpack has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import msgpack
import numpy as np

from asmevo.backend.launch import Buffer, BufferLink, Dispatch, PointerSlot

REQUEST = "request"
REPLY = "reply"
"""Files in the folder that parent and child share."""


@dataclass(frozen=True, slots=True)
class Object:
    """A code object, the symbol of its kernel, and what it is called in results: "k0", "candidate"."""

    role: str
    kernel: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """Every object runs on every dispatch once for each poison; then each is timed `samples` times, in turn.

    A poison seeds the bytes that stand in outputs and guards before a run.
    """

    objects: tuple[Object, ...]
    dispatches: tuple[Dispatch, ...]
    poisons: tuple[int, ...] = (0, 1)
    samples: int = 0
    warmup: int = 2
    device: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """What one launch left: the bytes of each buffer, and the buffers around which something was overwritten."""

    role: str
    dispatch: int
    poison: int
    buffers: tuple[bytes, ...]
    overrun: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timed:
    """Times of one object on one dispatch, in microseconds by the device's events, in the order they were taken."""

    role: str
    dispatch: int
    microseconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """All that was asked for, with the device as it was: name, target, versions, clocks in MHz and error counts."""

    device: Mapping[str, Any]
    runs: tuple[Run, ...]
    times: tuple[Timed, ...]
    error: str = ""
    """What the driver refused, with the call's name; the rest is then incomplete."""


def encoded(message: Request | Reply) -> bytes:
    """The message as bytes; NumPy arrays of buffers become bytes."""
    return cast("bytes", msgpack.packb(asdict(message), default=_plain))


def _plain(value: object) -> bytes:
    assert isinstance(value, np.ndarray), "messages hold numbers, text, bytes and the data of buffers"
    return value.astype(np.uint8).tobytes()


def decoded_request(data: bytes) -> Request:
    """The request that `encoded` wrote."""
    tree = _unpacked(data)
    return Request(
        objects=tuple(Object(**item) for item in tree["objects"]),
        dispatches=tuple(_dispatch(item) for item in tree["dispatches"]),
        poisons=tuple(tree["poisons"]),
        samples=tree["samples"],
        warmup=tree["warmup"],
        device=tree["device"],
    )


def decoded_reply(data: bytes) -> Reply:
    """The reply that `encoded` wrote."""
    tree = _unpacked(data)
    return Reply(
        device=tree["device"],
        runs=tuple(
            Run(run["role"], run["dispatch"], run["poison"], tuple(run["buffers"]), tuple(run["overrun"]))
            for run in tree["runs"]
        ),
        times=tuple(Timed(t["role"], t["dispatch"], tuple(t["microseconds"])) for t in tree["times"]),
        error=tree["error"],
    )


def _unpacked(data: bytes) -> dict[str, Any]:
    limit = len(data)
    return cast("dict[str, Any]", msgpack.unpackb(data, max_bin_len=limit, max_array_len=limit, max_str_len=limit))


def _dispatch(tree: dict[str, Any]) -> Dispatch:
    # A tolerance is the comparison's affair, not the device's.
    buffers = tuple(
        Buffer(item["name"], np.frombuffer(item["data"], np.uint8), item["writable"], item["defined"], item["dtype"])
        for item in tree["buffers"]
    )
    x, y, z = tree["grid"]
    wx, wy, wz = tree["workgroup"]
    return Dispatch(
        name=tree["name"],
        kernel=tree["kernel"],
        grid=(x, y, z),
        workgroup=(wx, wy, wz),
        kernarg=tree["kernarg"],
        pointers=tuple(PointerSlot(**slot) for slot in tree["pointers"]),
        buffers=buffers,
        dynamic_lds_bytes=tree["dynamic_lds_bytes"],
        links=tuple(BufferLink(**link) for link in tree["links"]),
    )
