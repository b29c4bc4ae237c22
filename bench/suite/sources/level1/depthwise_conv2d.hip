// HIP: depthwise 3x3 convolution with a border of zeros, float32. Groups of 64x4 items, four rows an item, one channel in z.
#include "device.hpp"

KERNEL(256)
depthwise_conv2d(const float *__restrict__ source, const float *__restrict__ weight, float *__restrict__ target, int height,
                 int width)
{
    int lane = item_x() & 63, line = item_x() >> 6;
    int column = group_x() * 64 + lane, row = group_y() * 16 + line * 4, channel = group_z();
    const float *plane = source + channel * height * width;
    const float *tap = weight + channel * 9;
    float near[6][3];
    for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 3; ++x) {
            int from_row = row + y - 1, from_column = column + x - 1;
            bool inside = from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
            float value = plane[inside ? from_row * width + from_column : 0];
            near[y][x] = inside ? value : 0.0f;
        }
    for (int out = 0; out < 4; ++out) {
        float sum = 0.0f;
        for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 3; ++x)
                sum += near[out + y][x] * tap[y * 3 + x];
        if (row + out < height && column < width)
            target[(channel * height + row + out) * width + column] = sum;
    }
}
