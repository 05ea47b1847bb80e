/* What the tests of the C interface share: a check that says where it failed, tensors of C arrays. */
#ifndef TESSERA_TESTS_C_CHECK_H_
#define TESSERA_TESTS_C_CHECK_H_

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"

static int failures = 0;

#define CHECK(condition)                                                                                  \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, tsr_last_error()); \
      ++failures;                                                                                         \
    }                                                                                                     \
  } while (0)
#define OK(call) CHECK((call) == TSR_OK)
/* It fails with this status, and its message holds this text. */
#define FAILS(call, status, text)                                                                     \
  do {                                                                                                \
    const tsr_status got = (call);                                                                    \
    if (got != (status) || strstr(tsr_last_error(), (text)) == NULL) {                                \
      fprintf(stderr, "%s:%d: %s\n  status %d, expected %d; the message is '%s', expected '%s'\n", __FILE__, \
              __LINE__, #call, (int)got, (int)(status), tsr_last_error(), (text));                    \
      ++failures;                                                                                     \
    }                                                                                                 \
  } while (0)

static const DLDataType f32 = {kDLFloat, 32, 1}, f64 = {kDLFloat, 64, 1}, u8 = {kDLUInt, 8, 1}, i32 = {kDLInt, 32, 1};

static inline DLTensor tensor(void* data, DLDataType type, int rank, int64_t* shape, int64_t* strides) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = rank;
  t.dtype = type;
  t.shape = shape;
  t.strides = strides;
  return t;
}

static inline tsr_program* compiled(const char* text, const tsr_options* options) {
  tsr_program* p = NULL;
  OK(tsr_compile_text(text, NULL, options, &p));
  if (p == NULL) exit(1);
  return p;
}

static inline void free_tensor(DLManagedTensorVersioned* t) {
  if (t != NULL) t->deleter(t);
}

#endif
