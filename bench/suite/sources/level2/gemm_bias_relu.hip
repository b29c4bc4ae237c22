// HIP: relu(A B + bias), float32, on the vector units: 64x32 tiles, the next depth of 8 loaded while this one is multiplied.
#include "device.hpp"

KERNEL(256)
gemm_bias_relu(const float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ bias, float *__restrict__ c,
               uint rows, uint columns, uint depth)
{
    SHARED static float left[2][8][68];
    SHARED static float right[2][8][32];
    uint item = item_x(), x = item & 15, y = item >> 4;
    uint first_row = group_y() * 64, first_column = group_x() * 32;
    uint step = item & 7, row = item >> 3;
    uint upper = first_row + row < rows ? first_row + row : rows - 1;
    uint lower = first_row + row + 32 < rows ? first_row + row + 32 : rows - 1;
    uint column = first_column + (item & 31) < columns ? first_column + (item & 31) : columns - 1;
    float sum[4][2] = {};
    const float *upper_at = a + upper * depth + step, *lower_at = a + lower * depth + step;
    const float *right_at = b + (item >> 5) * columns + column;
    float p = *upper_at, q = *lower_at, r = *right_at;
    uint side = 0;
    for (uint start = 0; start < depth; start += 8) {
        left[side][step][row] = p;
        left[side][step][row + 32] = q;
        right[side][item >> 5][item & 31] = r;
        barrier();
        if (start + 8 < depth) {
            p = *(upper_at += 8);
            q = *(lower_at += 8);
            r = *(right_at += 8 * columns);
        }
        for (uint k = 0; k < 8; ++k)
            for (uint i = 0; i < 4; ++i)
                for (uint j = 0; j < 2; ++j)
                    sum[i][j] += left[side][k][y * 4 + i] * right[side][k][x * 2 + j];
        side ^= 1;
    }
    for (uint i = 0; i < 4; ++i)
        for (uint j = 0; j < 2; ++j) {
            uint to_row = first_row + y * 4 + i, to_column = first_column + x * 2 + j;
            if (to_row < rows && to_column < columns)
                c[to_row * columns + to_column] = most(sum[i][j] + bias[to_column], 0.0f);
        }
}
