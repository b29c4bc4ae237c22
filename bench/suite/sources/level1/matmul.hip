// HIP: C = A B, float32, on the vector units: 64x64 tiles, 16 of depth at a time in LDS, 4x4 results an item.
#include "device.hpp"

KERNEL(256)
matmul(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, uint rows, uint columns, uint depth)
{
    SHARED static float left[16][68];
    SHARED static float right[16][64];
    uint item = item_x(), x = item & 15, y = item >> 4;
    uint first_row = group_y() * 64, first_column = group_x() * 64;
    float sum[4][4] = {};
    for (uint start = 0; start < depth; start += 16) {
        for (uint k = 0; k < 4; ++k) {
            uint row = first_row + y + 16 * k, step = start + x;
            left[x][y + 16 * k] = row < rows && step < depth ? a[row * depth + step] : 0.0f;
        }
        for (uint k = 0; k < 4; ++k) {
            uint step = start + (item >> 6) + 4 * k, column = first_column + (item & 63);
            right[(item >> 6) + 4 * k][item & 63] = step < depth && column < columns ? b[step * columns + column] : 0.0f;
        }
        barrier();
#pragma unroll 4
        for (uint k = 0; k < 16; ++k) {
            float4 p = *(float4 *)&left[k][y * 4];
            float4 q = *(float4 *)&right[k][x * 4];
            for (uint j = 0; j < 4; ++j)
                for (uint i = 0; i < 4; ++i)
                    sum[i][j] += p[i] * q[j];
        }
        barrier();
    }
    for (uint i = 0; i < 4; ++i)
        for (uint j = 0; j < 4; ++j) {
            uint row = first_row + y * 4 + i, column = first_column + x * 4 + j;
            if (row < rows && column < columns)
                c[row * columns + column] = sum[i][j];
        }
}
