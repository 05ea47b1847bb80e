/* As languages without a compiler of C use the library: opened by name, functions found by name. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tessera/tessera.h"

#define FIND(name) name##_fn name = (name##_fn)(uintptr_t)dlsym(library, #name)

typedef int (*tsr_abi_fn)(void);
typedef tsr_status (*tsr_compile_text_fn)(const char*, const char*, const tsr_options*, tsr_program**);
typedef tsr_status (*tsr_run_into_fn)(const tsr_program*, const DLTensor* const*, size_t, const DLTensor* const*, size_t,
                                      const tsr_options*);
typedef void (*tsr_program_free_fn)(tsr_program*);

int main(int count, char** arguments) {
  /* Beside the C++ library and the fmt of the system, whose symbols everybody sees. */
  static const char* const others[] = {"libstdc++.so.6", "libfmt.so.9", "libfmt.so.8", "libfmt.so.10"};
  for (size_t k = 0; k < sizeof others / sizeof *others; ++k) dlopen(others[k], RTLD_NOW | RTLD_GLOBAL);
  void* library = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL) {
    fprintf(stderr, "%s\n", count > 1 ? dlerror() : "by_name LIBRARY");
    return 1;
  }
  FIND(tsr_abi);
  FIND(tsr_compile_text);
  FIND(tsr_run_into);
  FIND(tsr_program_free);
  if (tsr_abi == NULL || tsr_compile_text == NULL || tsr_run_into == NULL || tsr_program_free == NULL) return 1;
  if (tsr_abi() < TSR_ABI) return 1;
  tsr_program* p = NULL;
  if (tsr_compile_text("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return 2 * X; } return f(a);", NULL, NULL, &p) != TSR_OK)
    return 1;
  float in[3] = {1, 2, 3}, out[3] = {0, 0, 0};
  int64_t shape[1] = {3};
  DLTensor a, b;
  memset(&a, 0, sizeof a);
  a.data = in;
  a.device.device_type = kDLCPU;
  a.ndim = 1;
  a.dtype.code = kDLFloat;
  a.dtype.bits = 32;
  a.dtype.lanes = 1;
  a.shape = shape;
  b = a;
  b.data = out;
  const DLTensor *from[] = {&a}, *to[] = {&b};
  const tsr_status status = tsr_run_into(p, from, 1, to, 1, NULL);
  tsr_program_free(p);
  return status == TSR_OK && out[2] == 6 ? 0 : 1;
}
