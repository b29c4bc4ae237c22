// HIP: 3x3 convolution without border, hard swish, scale, float32. Each item makes 4 output channels of one place.
#include "device.hpp"

KERNEL(256)
conv2d_hardswish_scale(const float *__restrict__ source, const float *__restrict__ weight, const float *__restrict__ bias,
                       float *__restrict__ target, int channels, int height, int width, float scale)
{
    int column = group_x() * 64 + (item_x() & 63), row = group_y() * 4 + (item_x() >> 6), out = group_z() * 4;
    int last_row = height - 3, last_column = width - 3;
    int from = (row < last_row ? row : last_row) * width + (column < last_column ? column : last_column);
    float sum[4];
    for (int o = 0; o < 4; ++o)
        sum[o] = bias[out + o];
    for (int channel = 0; channel < channels; ++channel) {
        const float *corner = source + channel * height * width + from;
        float near[9];
        for (int v = 0; v < 3; ++v)
            for (int u = 0; u < 3; ++u)
                near[v * 3 + u] = corner[v * width + u];
        for (int o = 0; o < 4; ++o)
            for (int k = 0; k < 9; ++k)
                sum[o] += near[k] * weight[((out + o) * channels + channel) * 9 + k];
    }
    if (row <= last_row && column <= last_column)
        for (int o = 0; o < 4; ++o) {
            float value = sum[o] * clamped(sum[o] + 3.0f, 0.0f, 6.0f) / 6.0f;
            target[((out + o) * (height - 2) + row) * (width - 2) + column] = value * scale;
        }
}
