// HIP: partial sums of squared differences, float32. Each group of 256 items takes 4,096 elements and writes one sum.
#include "device.hpp"

KERNEL(256) mse_loss(const float *__restrict__ predicted, const float *__restrict__ wanted, float *__restrict__ partial, uint length)
{
    SHARED static float slot[256];
    uint first = group_x() * 4096, item = item_x();
    float sum = 0.0f;
    if (first + 4096 <= length) {
        const float4 *a = (const float4 *)(predicted + first);
        const float4 *b = (const float4 *)(wanted + first);
        for (uint k = 0; k < 4; ++k) {
            float4 apart = a[k * 256 + item] - b[k * 256 + item];
            for (uint e = 0; e < 4; ++e)
                sum += apart[e] * apart[e];
        }
    } else {
        for (uint i = first + item; i < length; i += 256) {
            float apart = predicted[i] - wanted[i];
            sum += apart * apart;
        }
    }
    sum = group_sum(sum, slot);
    if (item == 0)
        partial[group_x()] = sum;
}
