// OpenCL C: sums of float32. Each group of 256 work-items writes one partial sum, by a tree in LDS.

#define GROUP 256u

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void reduce_sum(__global const float *restrict data, __global float *restrict partial, uint length)
{
    __local float slot[GROUP];
    uint item = __builtin_amdgcn_workitem_id_x();
    uint group = __builtin_amdgcn_workgroup_id_x();
    uint first = group * (GROUP * 4u) + item;
    float sum = 0.0f;

    for (uint k = 0; k < 4u; ++k) {
        uint i = first + k * GROUP;
        if (i < length)
            sum += data[i];
    }
    slot[item] = sum;
    for (uint half_size = GROUP / 2u; half_size > 0u; half_size >>= 1) {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        if (item < half_size)
            slot[item] += slot[item + half_size];
    }
    if (item == 0u)
        partial[group] = slot[0];
}
