// HIP: tanh(A B' + bias), float16 in, float32 out, on the matrix cores: each wave makes 32x32 by 32x32x8 instructions.
#include "device.hpp"

typedef float float16 __attribute__((ext_vector_type(16)));

DEVICE float tanh_of(float x) { return 1.0f - 2.0f / (1.0f + exponential(2.0f * x)); }

// Rows of A and B are `depth` long, a multiple of 32; rows and columns are multiples of 64.
KERNEL(256)
gemm_mfma_bias_tanh(const _Float16 *__restrict__ a, const _Float16 *__restrict__ b, const float *__restrict__ bias,
                    float *__restrict__ c, uint columns, uint depth)
{
    SHARED static half4 left[64][9];
    SHARED static half4 right[64][9];
    uint item = item_x(), wave = item >> 6, lane = item & 63, inner = lane & 31, upper = lane >> 5;
    uint first_row = group_y() * 64, first_column = group_x() * 64;
    uint row = (wave >> 1) * 32, column = (wave & 1) * 32;
    float16 sum = {};
    for (uint start = 0; start < depth; start += 32) {
        for (uint k = 0; k < 2; ++k) {
            uint line = (item >> 3) + 32 * k, step = item & 7;
            left[line][step] = *(const half4 *)&a[(first_row + line) * depth + start + step * 4];
            right[line][step] = *(const half4 *)&b[(first_column + line) * depth + start + step * 4];
        }
        barrier();
        for (uint k = 0; k < 4; ++k) {
            half4 p = left[row + inner][k * 2 + upper];
            half4 q = right[column + inner][k * 2 + upper];
            sum = __builtin_amdgcn_mfma_f32_32x32x8f16(p, q, sum, 0, 0, 0);
        }
        barrier();
    }
    uint to_column = first_column + column + inner;
    float shift = bias[to_column];
    for (uint e = 0; e < 16; ++e) {
        uint to_row = first_row + row + (e >> 2) * 8 + upper * 4 + (e & 3);
        c[to_row * columns + to_column] = tanh_of(sum[e] + shift);
    }
}
