// HIP: leaky relu, float32, 16 elements an item; the group that holds the end takes them one by one.
#include "device.hpp"

DEVICE float leaky(float x, float slope) { return x > 0.0f ? x : slope * x; }

KERNEL(256) leaky_relu(const float *__restrict__ source, float *__restrict__ target, uint length, float slope)
{
    uint first = group_x() * 4096, item = item_x();
    if (first + 4096 <= length) {
        const float4 *from = (const float4 *)(source + first);
        float4 *to = (float4 *)(target + first);
        float4 value[4];
        for (uint k = 0; k < 4; ++k)
            value[k] = from[k * 256 + item];
        for (uint k = 0; k < 4; ++k)
            for (uint e = 0; e < 4; ++e)
                value[k][e] = leaky(value[k][e], slope);
        for (uint k = 0; k < 4; ++k)
            to[k * 256 + item] = value[k];
    } else {
        for (uint i = first + item; i < length; i += 256)
            target[i] = leaky(source[i], slope);
    }
}
