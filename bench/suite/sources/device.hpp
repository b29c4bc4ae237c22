// What the HIP sources here need of HIP's device side, so that no ROCm headers are wanted: clang's builtins under short names.
#pragma once

#define KERNEL(items) extern "C" __attribute__((global, amdgpu_flat_work_group_size(items, items))) void
#define DEVICE static inline __attribute__((device, always_inline))
#define SHARED __attribute__((shared))

typedef unsigned int uint;
typedef float float4 __attribute__((ext_vector_type(4)));
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));

DEVICE uint item_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE uint item_y() { return __builtin_amdgcn_workitem_id_y(); }
DEVICE uint group_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE uint group_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE uint group_z() { return __builtin_amdgcn_workgroup_id_z(); }

DEVICE void barrier()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE float least(float a, float b) { return __builtin_fminf(a, b); }
DEVICE float most(float a, float b) { return __builtin_fmaxf(a, b); }
DEVICE float clamped(float x, float low, float high) { return least(most(x, low), high); }
DEVICE float exponential(float x) { return __builtin_amdgcn_exp2f(x * 1.44269504f); }
DEVICE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }
DEVICE float reciprocal_root(float x) { return __builtin_amdgcn_rsqf(x); }

// The sum over a work-group of 256, by a tree in LDS; every item gets it.
DEVICE float group_sum(float value, float *slot)
{
    uint item = item_x();
    slot[item] = value;
    barrier();
    for (uint half_size = 128; half_size > 0; half_size >>= 1) {
        if (item < half_size)
            slot[item] += slot[item + half_size];
        barrier();
    }
    float total = slot[0];
    barrier();
    return total;
}
