"""Triton: group normalisation of (batch, channel, place), float32; a group is neighbouring channels."""

import triton
import triton.language as tl


@triton.jit
def group_norm(source, weight, bias, target, plane, epsilon, groups, CHANNELS: tl.constexpr, WIDTH: tl.constexpr):
    """One program a group of one image: CHANNELS rows of up to WIDTH places, which stay in registers."""
    group = tl.program_id(0)
    channel = tl.arange(0, CHANNELS)
    place = tl.arange(0, WIDTH)
    inside = (place < plane)[None, :]
    at = (group * CHANNELS + channel)[:, None] * plane + place[None, :]
    value = tl.load(source + at, mask=inside, other=0.0)
    count = CHANNELS * plane
    mean = tl.sum(tl.sum(value, axis=1), axis=0) / count
    apart = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(tl.sum(apart * apart, axis=1), axis=0) / count + epsilon)
    first = (group % groups) * CHANNELS
    gain = tl.load(weight + first + channel)[:, None]
    shift = tl.load(bias + first + channel)[:, None]
    tl.store(target + at, apart * scale * gain + shift, mask=inside)


KERNEL = group_norm
SIGNATURE = {
    "source": "*fp32",
    "weight": "*fp32",
    "bias": "*fp32",
    "target": "*fp32",
    "plane": "i32",
    "epsilon": "fp32",
    "groups": "i32",
}
CONSTANTS = {"CHANNELS": 8, "WIDTH": 256}
ALIGNED = ("source", "weight", "bias", "target")
OPTIONS = {"num_warps": 4}
