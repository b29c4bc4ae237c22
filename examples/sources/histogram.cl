// OpenCL C: histogram of bytes. Each group of 256 work-items counts in LDS, then adds its counts to the result.

#define BINS 256u
#define GROUP 256u

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void histogram(__global const uchar *restrict data, __global volatile uint *counts, uint length, uint per_group)
{
    __local uint bin[BINS];
    uint item = __builtin_amdgcn_workitem_id_x();
    uint first = __builtin_amdgcn_workgroup_id_x() * per_group;
    uint last = first + per_group < length ? first + per_group : length;

    bin[item] = 0;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

    for (uint i = first + item; i < last; i += GROUP)
        __opencl_atomic_fetch_add((__local atomic_uint *)&bin[data[i]], 1u, memory_order_relaxed, memory_scope_work_group);

    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");

    if (bin[item])
        __opencl_atomic_fetch_add((__global atomic_uint *)&counts[item], bin[item], memory_order_relaxed, memory_scope_device);
}
