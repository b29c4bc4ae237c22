// HIP: hinge loss of each row, float32: the mean over columns of max(0, 1 - target * score). One group of 256 items a row.
#include "device.hpp"

KERNEL(256) hinge_loss(const float *__restrict__ score, const float *__restrict__ label, float *__restrict__ loss, uint columns)
{
    SHARED static float slot[256];
    const float *scores = score + group_x() * columns;
    const float *labels = label + group_x() * columns;
    float sum = 0.0f;
    for (uint i = item_x(); i < columns; i += 256)
        sum += most(0.0f, 1.0f - labels[i] * scores[i]);
    sum = group_sum(sum, slot);
    if (item_x() == 0)
        loss[group_x()] = sum / (float)columns;
}
