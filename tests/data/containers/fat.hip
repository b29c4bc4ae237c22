// The least HIP that makes a host library with device code for several chips: no HIP headers.
#define __global__ __attribute__((global))
typedef int hipError_t;
struct dim3 {
  unsigned x, y, z;
};
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);

__global__ void KERNEL(int *out) { out[__builtin_amdgcn_workitem_id_x()] = VALUE; }
