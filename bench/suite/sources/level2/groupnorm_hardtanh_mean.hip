// HIP: group normalisation, hard tanh, and the mean over each group, float32. One work-group of 256 items a normalised group.
#include "device.hpp"

// A group is `channels` planes of `plane` values, which follow one another; `gain` and `shift` are by channel.
KERNEL(256)
groupnorm_hardtanh_mean(const float *__restrict__ source, const float *__restrict__ gain, const float *__restrict__ shift,
                        float *__restrict__ target, float *__restrict__ means, uint channels, uint plane, float epsilon)
{
    SHARED static float slot[256];
    uint count = channels * plane, group = group_x();
    const float *from = source + group * count;
    float sum = 0.0f, squares = 0.0f;
    for (uint i = item_x(); i < count; i += 256)
        sum += from[i];
    float mean = group_sum(sum, slot) / (float)count;
    for (uint i = item_x(); i < count; i += 256) {
        float apart = from[i] - mean;
        squares += apart * apart;
    }
    float scale = reciprocal_root(group_sum(squares, slot) / (float)count + epsilon);
    float total = 0.0f;
    for (uint i = item_x(); i < count; i += 256) {
        uint channel = group * channels + i / plane;
        float value = clamped((from[i] - mean) * scale * gain[channel] + shift[channel], -1.0f, 1.0f);
        target[group * count + i] = value;
        total += value;
    }
    total = group_sum(total, slot);
    if (item_x() == 0)
        means[group] = total / (float)count;
}
