// HIP: the first place of each row's largest value, float32. One group of 256 items a row, a tree of pairs in LDS.
#include "device.hpp"

KERNEL(256) argmax(const float *__restrict__ source, uint *__restrict__ place, uint columns)
{
    SHARED static float best_value[256];
    SHARED static uint best_place[256];
    const float *row = source + group_x() * columns;
    uint item = item_x();
    float best = -__builtin_inff();
    uint at = 0xffffffffu;
    for (uint i = item; i < columns; i += 256) {
        float value = row[i];
        bool better = value > best || at == 0xffffffffu;
        best = better ? value : best;
        at = better ? i : at;
    }
    best_value[item] = best;
    best_place[item] = at;
    barrier();
    for (uint half_size = 128; half_size > 0; half_size >>= 1) {
        if (item < half_size) {
            float value = best_value[item + half_size];
            uint where = best_place[item + half_size];
            if (value > best_value[item] || (value == best_value[item] && where < best_place[item])) {
                best_value[item] = value;
                best_place[item] = where;
            }
        }
        barrier();
    }
    if (item == 0)
        place[group_x()] = best_place[0];
}
