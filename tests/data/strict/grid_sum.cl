// OpenCL C, built by clang-19 with the flags of examples/build.py.
// The sum of a grid in one launch. Each group of 256 work-items adds up its part in LDS and stores it; the group that
// counts itself last adds up what all have stored. What orders the groups is the counter alone.

#define GROUP 256u
#define WAIT(order) __builtin_amdgcn_fence(order, "workgroup")

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void grid_sum(__global const uint *restrict data, __global uint *partial, __global atomic_uint *counter,
                       __global uint *total, uint length, uint groups)
{
    __local uint slot[GROUP];
    __local uint place;
    uint item = __builtin_amdgcn_workitem_id_x();
    uint group = __builtin_amdgcn_workgroup_id_x();
    uint index = group * GROUP + item;

    slot[item] = index < length ? data[index] : 0u;
    for (uint half_size = GROUP / 2u; half_size > 0u; half_size >>= 1) {
        WAIT(__ATOMIC_RELEASE);
        __builtin_amdgcn_s_barrier();
        WAIT(__ATOMIC_ACQUIRE);
        if (item < half_size)
            slot[item] += slot[item + half_size];
    }
    if (item == 0u) {
        partial[group] = slot[0];
        place = __opencl_atomic_fetch_add(counter, 1u, memory_order_acq_rel, memory_scope_device);
    }
    WAIT(__ATOMIC_RELEASE);
    __builtin_amdgcn_s_barrier();
    WAIT(__ATOMIC_ACQUIRE);
    if (place != groups - 1u || item != 0u)
        return;
    uint sum = 0u;
    for (uint k = 0u; k < groups; ++k)
        sum += partial[k];
    total[0] = sum;
}
