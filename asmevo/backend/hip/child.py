"""The process that owns the GPU: reads a request, runs and times it, writes the reply. It may hang or die at any time.

Run as `python -m asmevo.backend.hip.child FOLDER`. Each line on stdout says what it is about to do, as JSON, for the watchdog.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asmevo.atomic import write_atomically
from asmevo.backend.hip.guarded import GuardedBuffers
from asmevo.backend.hip.messages import REPLY, REQUEST, Object, Reply, Request, Run, Timed, decoded_request, encoded
from asmevo.backend.hip.runtime import HipError, Runtime, open_device
from asmevo.backend.hip.state import device_state


def _about_to(step: str, role: str = "", dispatch: int = -1) -> None:
    print(json.dumps({"step": step, "role": role, "dispatch": dispatch}), flush=True)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An object's kernel, ready to be launched."""

    object: Object
    function: object

    def launch(self, runtime: Runtime, buffers: GuardedBuffers) -> None:
        dispatch = buffers.dispatch
        runtime.launch(self.function, dispatch.grid, dispatch.workgroup, dispatch.dynamic_lds_bytes, buffers.kernarg())


def _load(runtime: Runtime, stack: ExitStack, request: Request) -> list[_Loaded]:
    loaded: list[_Loaded] = []
    for item in request.objects:
        _about_to("load", item.role)
        module = runtime.call("hipModuleLoadData", item.data)
        stack.callback(runtime.call, "hipModuleUnload", module)
        loaded.append(_Loaded(item, runtime.call("hipModuleGetFunction", module, item.kernel.encode())))
    return loaded


def _runs(runtime: Runtime, loaded: list[_Loaded], number: int, buffers: GuardedBuffers, poisons: tuple[int, ...]) -> list[Run]:
    runs: list[Run] = []
    for poison in poisons:
        for kernel in loaded:
            role = kernel.object.role
            _about_to("fill", role, number)
            buffers.fill(poison)
            _about_to("run", role, number)
            kernel.launch(runtime, buffers)
            runtime.synchronise()
            _about_to("read", role, number)
            runs.append(Run(role, number, poison, *buffers.read(poison)))
    return runs


def _times(runtime: Runtime, loaded: list[_Loaded], number: int, buffers: GuardedBuffers, request: Request) -> list[Timed]:
    """Interleaved, and each round begins with another object, so that drifts and habits of the order hit all alike."""
    taken: dict[str, list[float]] = {kernel.object.role: [] for kernel in loaded}
    poison = request.poisons[0]
    buffers.fill(poison)
    with ExitStack() as stack:
        start, stop = runtime.call("hipEventCreate"), runtime.call("hipEventCreate")
        stack.callback(runtime.call, "hipEventDestroy", start)
        stack.callback(runtime.call, "hipEventDestroy", stop)
        for turn in range(request.warmup + request.samples):
            first = turn % len(loaded)
            for kernel in loaded[first:] + loaded[:first]:
                _about_to("time", kernel.object.role, number)
                buffers.fill(poison, only_changed=True)
                runtime.synchronise()
                runtime.call("hipEventRecord", start, None)
                kernel.launch(runtime, buffers)
                runtime.call("hipEventRecord", stop, None)
                runtime.call("hipEventSynchronize", stop)
                if turn >= request.warmup:
                    taken[kernel.object.role].append(1000 * runtime.call("hipEventElapsedTime", start, stop))
    return [Timed(role, number, tuple(values)) for role, values in taken.items()]


def _device(runtime: Runtime) -> dict[str, Any]:
    properties = runtime.properties()
    return {**properties, **device_state(properties["pci"])}


def answer(request: Request) -> Reply:
    """Do what was asked. A call that the driver refuses ends it, and is told."""
    device: dict[str, Any] = {}
    runs: list[Run] = []
    times: list[Timed] = []
    try:
        _about_to("open")
        runtime = open_device(request.device)
        device = _device(runtime)
        with ExitStack() as stack:
            loaded = _load(runtime, stack, request)
            for number, dispatch in enumerate(request.dispatches):
                _about_to("allocate", dispatch=number)
                with GuardedBuffers(runtime, dispatch) as buffers:
                    runs += _runs(runtime, loaded, number, buffers, request.poisons)
                    if request.samples:
                        times += _times(runtime, loaded, number, buffers, request)
                        # Once more: a kernel must not do something else after it was launched many times.
                        runs += _runs(runtime, loaded, number, buffers, request.poisons[:1])
        device = {**device, **{f"{key}_after": value for key, value in device_state(device["pci"]).items()}}
    except (HipError, ImportError, RuntimeError) as error:
        return Reply(device, tuple(runs), tuple(times), str(error))
    return Reply(device, tuple(runs), tuple(times))


def main() -> None:
    """Answer the request in the folder that is the only argument."""
    folder = Path(sys.argv[1])
    reply = answer(decoded_request((folder / REQUEST).read_bytes()))
    write_atomically(folder / REPLY, encoded(reply))


if __name__ == "__main__":
    main()
