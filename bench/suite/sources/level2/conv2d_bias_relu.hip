// HIP: 3x3 convolution without border over all channels, bias, relu, float32. 16x16 results of one output channel a group.
#include "device.hpp"

KERNEL(256)
conv2d_bias_relu(const float *__restrict__ source, const float *__restrict__ weight, const float *__restrict__ bias,
                 float *__restrict__ target, int channels, int height, int width)
{
    SHARED static float patch[18][19];
    int x = item_x() & 15, y = item_x() >> 4;
    int column = group_x() * 16 + x, row = group_y() * 16 + y, out = group_z();
    float sum = bias[out];
    for (int channel = 0; channel < channels; ++channel) {
        const float *plane = source + channel * height * width;
        for (int i = item_x(); i < 18 * 18; i += 256) {
            int from_row = group_y() * 16 + i / 18, from_column = group_x() * 16 + i % 18;
            bool inside = from_row < height && from_column < width;
            patch[i / 18][i % 18] = inside ? plane[from_row * width + from_column] : 0.0f;
        }
        barrier();
        const float *tap = weight + (out * channels + channel) * 9;
        for (int v = 0; v < 3; ++v)
            for (int u = 0; u < 3; ++u)
                sum += patch[y + v][x + u] * tap[v * 3 + u];
        barrier();
    }
    if (row < height - 2 && column < width - 2)
        target[(out * (height - 2) + row) * (width - 2) + column] = most(sum, 0.0f);
}
