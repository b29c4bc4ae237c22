// HIP: 3x3 maximum with stride 2 and a border of one, float32. One item a result, planes in z.
#include "device.hpp"

KERNEL(256)
max_pool2d(const float *__restrict__ source, float *__restrict__ target, int height, int width, int out_height, int out_width)
{
    int column = group_x() * 64 + (item_x() & 63), row = group_y() * 4 + (item_x() >> 6);
    const float *plane = source + group_z() * height * width;
    if (row >= out_height || column >= out_width)
        return;
    float best = -__builtin_inff();
    for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) {
            int from_row = row * 2 + y - 1, from_column = column * 2 + x - 1;
            bool inside = from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
            float value = plane[inside ? from_row * width + from_column : 0];
            best = most(best, inside ? value : -__builtin_inff());
        }
    target[(group_z() * out_height + row) * out_width + column] = best;
}
