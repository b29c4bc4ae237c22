// Two kernels, device functions that are really called, constants, initialised and zeroed data, and a pointer to data.
__attribute__((visibility("default"))) global int counter = 7;
__attribute__((visibility("default"))) global int seen[64];
global int *global pointer = &counter;
constant int table[5] = {3, 1, 4, 1, 5};

__attribute__((noinline)) int square(int x) { return x * x + table[x & 3]; }

__attribute__((noinline)) int remember(int x) {
  seen[x & 63] = x;
  return square(x) - 1;
}

kernel void first(global int *out) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = square(i) + counter + *pointer;
}

kernel void second(global int *out, int n) {
  int i = __builtin_amdgcn_workitem_id_x();
  if (i < n)
    out[i] = remember(i) + seen[i & 63];
}
