// HIP: gelu in its tanh form, float32, 16 elements an item; the group that holds the end takes them one by one.
#include "device.hpp"

DEVICE float gelu_of(float x)
{
    float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
    return x * sigmoid(2.0f * inner);
}

KERNEL(256) gelu(const float *__restrict__ source, float *__restrict__ target, uint length)
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
                value[k][e] = gelu_of(value[k][e]);
        for (uint k = 0; k < 4; ++k)
            to[k * 256 + item] = value[k];
    } else {
        for (uint i = first + item; i < length; i += 256)
            target[i] = gelu_of(source[i]);
    }
}
