// HIP: 3x3 convolution without border, 2x2 average, sigmoid, and the sum over each output plane, float32. One group a plane.
// The average of four places is taken before their products with the taps.
#include "device.hpp"

KERNEL(256)
conv2d_avgpool_sigmoid_sum(const float *__restrict__ source, const float *__restrict__ weight, const float *__restrict__ bias,
                           float *__restrict__ sums, int channels, int height, int width)
{
    SHARED static float slot[256];
    int out = group_x(), pooled_width = (width - 2) / 2, pooled = (height - 2) / 2 * pooled_width;
    float sum = 0.0f;
    for (int place = item_x(); place < pooled; place += 256) {
        int row = place / pooled_width * 2, column = place % pooled_width * 2;
        float result = 0.0f;
        for (int channel = 0; channel < channels; ++channel) {
            const float *corner = source + (channel * height + row) * width + column;
            const float *tap = weight + (out * channels + channel) * 9;
            float near[4][4];
            for (int v = 0; v < 4; ++v)
                for (int u = 0; u < 4; ++u)
                    near[v][u] = corner[v * width + u];
            for (int v = 0; v < 3; ++v)
                for (int u = 0; u < 3; ++u)
                    result += (near[v][u] + near[v][u + 1] + near[v + 1][u] + near[v + 1][u + 1]) * tap[v * 3 + u];
        }
        sum += sigmoid(result * 0.25f + bias[out]);
    }
    sum = group_sum(sum, slot);
    if (item_x() == 0)
        sums[out] = sum;
}
