// OpenCL C, built by clang-19 with the flags of examples/build.py.
// Each group of 256 work-items reverses its part, and waves hand it to each other through global memory. What orders
// them is the barrier.

#define GROUP 256u

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
__kernel void exchange(__global const uint *restrict data, __global uint *work, __global uint *result, uint factor)
{
    uint item = __builtin_amdgcn_workitem_id_x();
    uint first = __builtin_amdgcn_workgroup_id_x() * GROUP;

    work[first + item] = data[first + item] * factor;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    uint other = work[first + GROUP - 1u - item];
    result[first + item] = other + item;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    work[first + item] = other;
}
