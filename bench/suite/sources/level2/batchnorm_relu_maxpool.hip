// HIP: batch normalisation with given statistics, relu, 2x2 maximum, float32. One item a result, channels in z.
#include "device.hpp"

KERNEL(256)
batchnorm_relu_maxpool(const float *__restrict__ source, const float *__restrict__ mean, const float *__restrict__ variance,
                       const float *__restrict__ gain, const float *__restrict__ shift, float *__restrict__ target, int height,
                       int width, float epsilon)
{
    int channel = group_z(), out_height = height / 2, out_width = width / 2;
    int column = group_x() * 64 + (item_x() & 63), row = group_y() * 4 + (item_x() >> 6);
    if (row >= out_height || column >= out_width)
        return;
    float scale = gain[channel] * reciprocal_root(variance[channel] + epsilon);
    float offset = shift[channel] - mean[channel] * scale;
    const float *corner = source + (channel * height + row * 2) * width + column * 2;
    float best = 0.0f;
    for (int v = 0; v < 2; ++v)
        for (int u = 0; u < 2; ++u)
            best = most(best, corner[v * width + u] * scale + offset);
    target[(channel * out_height + row) * out_width + column] = best;
}
