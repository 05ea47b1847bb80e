/* Tensors of a CUDA device: in and out, results that stay there, streams of the library and of somebody else, planes
 * apart. Run with $TESSERA_CUDA_DRIVER naming a driver, such as that of tests/cuda_on_cpu; ends with 77 where there is
 * none. */
#include <dlfcn.h>

#include "check.h"

typedef int (*allocate_fn)(uint64_t*, size_t);
typedef int (*release_fn)(uint64_t);
typedef int (*to_device_fn)(uint64_t, const void*, size_t, void*);
typedef int (*to_host_fn)(void*, uint64_t, size_t, void*);
typedef int (*wait_fn)(void);
typedef int (*begin_fn)(unsigned);
typedef int (*retain_fn)(void**, int);
typedef int (*current_fn)(void*);

static allocate_fn allocate;
static release_fn release;
static to_device_fn to_device;
static to_host_fn to_host;
static wait_fn wait_for_device;

enum { rows = 6, columns = 8, points = rows * columns };

static float expected_at(const float* in, int k) { /* X@[0,1] + 2 X, wrapped */
  return in[k / columns * columns + (k % columns + 1) % columns] + 2 * in[k];
}

static DLTensor on_device(uint64_t address, int rank, int64_t* shape, int64_t* strides) {
  DLTensor t = tensor((void*)(uintptr_t)address, f32, rank, shape, strides);
  t.device.device_type = kDLCUDA;
  return t;
}

static uint64_t copied_to_device(const float* from, size_t count) {
  uint64_t address = 0;
  CHECK(allocate(&address, count * sizeof(float)) == 0);
  CHECK(to_device(address, from, count * sizeof(float), NULL) == 0 && wait_for_device() == 0);
  return address;
}

static const char* const text =
    "stencil f(vector#2 float X) { return X@[0,1] + 2 * X; } parameter M, N; vector#2 float a[M,N]; return f(a:wrap);";

static void arrays_and_streams(void) {
  float in[points], got[points];
  int64_t shape[2] = {rows, columns};
  for (int k = 0; k < points; ++k) in[k] = (float)(k * 7 % 31), got[k] = 0;
  const uint64_t from = copied_to_device(in, points), to = copied_to_device(got, points);
  tsr_program* p = compiled(text, NULL);
  DLTensor a = on_device(from, 2, shape, NULL), b = on_device(to, 2, shape, NULL),
           on_host = tensor(got, f32, 2, shape, NULL);
  const DLTensor *ins[] = {&a}, *outs[] = {&b}, *host_outs[] = {&on_host};
  /* Of the device, to the device: results stay there. */
  DLManagedTensorVersioned* made = NULL;
  OK(tsr_run(p, ins, 1, &made, 1, NULL));
  if (made != NULL) {
    const DLTensor* const t = &made->dl_tensor;
    CHECK(t->device.device_type == kDLCUDA && t->device.device_id == 0 && t->ndim == 2 && t->shape[1] == columns);
    const int64_t row = t->strides == NULL ? columns : t->strides[0];
    for (int y = 0; y < rows; ++y)
      CHECK(to_host(got + y * columns, (uint64_t)(uintptr_t)t->data + t->byte_offset + (uint64_t)(y * row) * 4,
                    columns * 4, NULL) == 0);
    CHECK(wait_for_device() == 0);
    for (int k = 0; k < points; ++k) CHECK(got[k] == expected_at(in, k));
  }
  free_tensor(made);
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  memset(got, 0, sizeof got);
  CHECK(to_host(got, to, sizeof got, NULL) == 0 && wait_for_device() == 0);
  for (int k = 0; k < points; ++k) CHECK(got[k] == expected_at(in, k));
  /* To the host. */
  memset(got, 0, sizeof got);
  OK(tsr_run_into(p, ins, 1, host_outs, 1, NULL));
  for (int k = 0; k < points; ++k) CHECK(got[k] == expected_at(in, k));
  /* From the host through the device, told. */
  tsr_options* o = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "target", "cuda"));
  DLTensor host_in = tensor(in, f32, 2, shape, NULL);
  const DLTensor* host_ins[] = {&host_in};
  memset(got, 0, sizeof got);
  OK(tsr_run_into(p, host_ins, 1, host_outs, 1, o));
  for (int k = 0; k < points; ++k) CHECK(got[k] == expected_at(in, k));
  /* In the middle of memory, byte_offset and strides. */
  int64_t inner[2] = {rows, columns / 2}, strides[2] = {columns, 2};
  a = on_device(from, 2, inner, strides), b = on_device(to, 2, inner, NULL);
  a.byte_offset = sizeof(float);
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  CHECK(to_host(got, to, sizeof got / 2, NULL) == 0 && wait_for_device() == 0);
  CHECK(got[0] == in[3] + 2 * in[1] && got[3] == in[1] + 2 * in[7]);
  /* What overlaps, and the interpreter, which copies. */
  b = a;
  FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_ARGUMENT_ERROR, "shares memory");
  OK(tsr_interpret(p, ins, 1, &made, 1));
  CHECK(made != NULL && made->dl_tensor.device.device_type == kDLCPU &&
        ((const float*)made->dl_tensor.data)[0] == got[0]);
  free_tensor(made);
  a.device.device_id = 5;
  FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_DEVICE_ERROR, "");
  tsr_options_free(o);
  /* Streams: one of the library, the default one as somebody else's. */
  for (int k = 0; k < 2; ++k) {
    tsr_stream *s = NULL, *none = NULL;
    OK(tsr_options_new(&o));
    OK(k == 0 ? tsr_stream_new("cuda", 0, &s) : tsr_stream_borrow(0, NULL, &s));
    FAILS(tsr_stream_new("cuda", 9, &none), TSR_DEVICE_ERROR, "");
    CHECK(none == NULL);
    OK(tsr_options_set_stream(o, s));
    a = on_device(from, 2, shape, NULL), b = on_device(to, 2, shape, NULL);
    OK(tsr_run_into(p, ins, 1, outs, 1, o));
    OK(tsr_stream_wait(s));
    memset(got, 0, sizeof got);
    CHECK(to_host(got, to, sizeof got, NULL) == 0 && wait_for_device() == 0);
    for (int i = 0; i < points; ++i) CHECK(got[i] == expected_at(in, i));
    OK(tsr_options_set(o, "target", "cpu"));
    FAILS(tsr_run_into(p, ins, 1, outs, 1, o), TSR_ARGUMENT_ERROR, "");
    tsr_options_free(o);
    tsr_stream_free(s);
  }
  tsr_program_free(p);
  release(from);
  release(to);
}

/* Planes that lie apart, on the device, with and without a stream. */
static void planes_apart(void) {
  float in[3 * points], got[3 * points];
  int64_t shape[3] = {rows, columns, 3}, by_plane[3] = {columns, 1, points};
  for (int k = 0; k < 3 * points; ++k) in[k] = (float)(k * 5 % 29);
  const uint64_t from = copied_to_device(in, 3 * points), to = copied_to_device(in, 3 * points);
  tsr_program* p = compiled(
      "struct rgb { float r; float g; float b; } stencil f(vector#2 rgb X) { return struct rgb(X.b, X.r, 2 * X.g); } "
      "parameter M, N; vector#2 rgb a[M,N]; return f(a);",
      NULL);
  DLTensor a = on_device(from, 3, shape, by_plane), b = on_device(to, 3, shape, by_plane);
  const DLTensor *ins[] = {&a}, *outs[] = {&b};
  for (int k = 0; k < 2; ++k) {
    tsr_options* o = NULL;
    tsr_stream* s = NULL;
    OK(tsr_options_new(&o));
    if (k == 1) {
      OK(tsr_stream_new("cuda", 0, &s));
      OK(tsr_options_set_stream(o, s));
    }
    OK(tsr_run_into(p, ins, 1, outs, 1, o));
    if (k == 1) OK(tsr_stream_wait(s));
    memset(got, 0, sizeof got);
    CHECK(to_host(got, to, sizeof got, NULL) == 0 && wait_for_device() == 0);
    for (int i = 0; i < points; ++i)
      CHECK(got[i] == in[2 * points + i] && got[points + i] == in[i] && got[2 * points + i] == 2 * in[points + i]);
    tsr_options_free(o);
    tsr_stream_free(s);
  }
  tsr_program_free(p);
  release(from);
  release(to);
}

/* A run on arrays of the host that two devices share, named by a word or by numbers. */
static void over_devices(void) {
  float in[points], got[points];
  int64_t shape[2] = {rows, columns};
  for (int k = 0; k < points; ++k) in[k] = (float)(k * 11 % 23);
  tsr_program* p = compiled(text, NULL);
  DLTensor a = tensor(in, f32, 2, shape, NULL), b = tensor(got, f32, 2, shape, NULL);
  const DLTensor *ins[] = {&a}, *outs[] = {&b};
  tsr_options* o = NULL;
  OK(tsr_options_new(&o));
  const double both[2] = {0, 1};
  for (int how = 0; how < 3; ++how) {
    if (how == 0) OK(tsr_options_set(o, "devices", "all"));
    if (how == 1) OK(tsr_options_set(o, "devices", "0,1"));
    if (how == 2) OK(tsr_options_set_numbers(o, "devices", both, 2));
    memset(got, 0, sizeof got);
    OK(tsr_run_into(p, ins, 1, outs, 1, o));
    for (int k = 0; k < points; ++k) CHECK(got[k] == expected_at(in, k));
  }
  OK(tsr_options_set(o, "devices", "0,9"));
  FAILS(tsr_run_into(p, ins, 1, outs, 1, o), TSR_DEVICE_ERROR, "there is no CUDA device 9, expected 0 to 1");
  OK(tsr_options_set(o, "devices", "both"));
  FAILS(tsr_run_into(p, ins, 1, outs, 1, o), TSR_ARGUMENT_ERROR, "expected all, or the numbers of devices from 0 on");
  tsr_options_free(o);
  tsr_program_free(p);
}

int main(void) {
  const char* const path = getenv("TESSERA_CUDA_DRIVER");
  void* const driver = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) {
    fprintf(stderr, "$TESSERA_CUDA_DRIVER names no driver\n");
    return 77;
  }
  allocate = (allocate_fn)(uintptr_t)dlsym(driver, "cuMemAlloc_v2");
  release = (release_fn)(uintptr_t)dlsym(driver, "cuMemFree_v2");
  to_device = (to_device_fn)(uintptr_t)dlsym(driver, "cuMemcpyHtoDAsync_v2");
  to_host = (to_host_fn)(uintptr_t)dlsym(driver, "cuMemcpyDtoHAsync_v2");
  wait_for_device = (wait_fn)(uintptr_t)dlsym(driver, "cuCtxSynchronize");
  if (allocate == NULL || release == NULL || to_device == NULL || to_host == NULL || wait_for_device == NULL) return 77;
  /* The device's own context, which libraries share. */
  void* context = NULL;
  const begin_fn begin = (begin_fn)(uintptr_t)dlsym(driver, "cuInit");
  const retain_fn retain = (retain_fn)(uintptr_t)dlsym(driver, "cuDevicePrimaryCtxRetain");
  const current_fn make_current = (current_fn)(uintptr_t)dlsym(driver, "cuCtxSetCurrent");
  if (begin == NULL || retain == NULL || make_current == NULL) return 77;
  if (begin(0) != 0 || retain(&context, 0) != 0 || make_current(context) != 0) return 77;
  arrays_and_streams();
  planes_apart();
  over_devices();
  return failures == 0 ? 0 : 1;
}
