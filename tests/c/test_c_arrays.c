/* Arrays of every layout and type: strides of any sign, planes of structs apart, complex numbers, offsets, shared
 * memory, and numbers that no memory has. */
#include "check.h"
#include "json.h"

#define PROGRAM_OF(format) "parameter M, N; vector#2 " format " a[M,N]; "

static DLManagedTensorVersioned* run(const tsr_program* p, const DLTensor* in, const tsr_options* options) {
  DLManagedTensorVersioned* made = NULL;
  const DLTensor* from[] = {in};
  OK(tsr_run(p, from, 1, &made, 1, options));
  return made;
}

static float at(const DLManagedTensorVersioned* t, int k) {
  return t == NULL ? -1e9f : ((const float*)t->dl_tensor.data)[k];
}

/* Every order of dimensions and every sign of strides, in and out, gives what C order gives. */
static void strides_of_all_kinds(void) {
  enum { rows = 7, columns = 11, room = 3 * rows * columns };
  static float memory[room], result[room];
  float plain[rows * columns];
  int64_t shape[2] = {rows, columns};
  tsr_program* p = compiled(
      "stencil f(vector#2 float X) { return X@[-1,0] + 3 * X@[0,1] - X; } " PROGRAM_OF("float") "return f(a:mirror);",
      NULL);
  for (int k = 0; k < rows * columns; ++k) plain[k] = (float)(k * k % 19);
  DLTensor dense = tensor(plain, f32, 2, shape, NULL);
  DLManagedTensorVersioned* expected = run(p, &dense, NULL);
  const int64_t kinds[][2] = {{columns, 1},   {1, rows},          {-columns, 1},    {columns, -1},
                              {-columns, -1}, {-1, -rows},        {1, -rows},       {3 * columns, 2},
                              {2, 2 * rows},  {-3 * columns, -3}, {columns + 5, 1}, {2 * columns, 1},
                              {-1, rows},     {3 * columns, -2}};
  for (size_t from = 0; from < sizeof kinds / sizeof *kinds; ++from)
    for (size_t to = 0; to < sizeof kinds / sizeof *kinds; ++to) {
      int64_t in_strides[2], out_strides[2], in_first = 0, out_first = 0;
      for (int d = 0; d < 2; ++d) {
        in_strides[d] = kinds[from][d], out_strides[d] = kinds[to][d];
        if (in_strides[d] < 0) in_first -= in_strides[d] * (shape[d] - 1);
        if (out_strides[d] < 0) out_first -= out_strides[d] * (shape[d] - 1);
      }
      for (int k = 0; k < room; ++k) memory[k] = 1e6f, result[k] = -7;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x)
          memory[in_first + y * in_strides[0] + x * in_strides[1]] = plain[y * columns + x];
      DLTensor a = tensor(memory + in_first, f32, 2, shape, in_strides);
      DLTensor b = tensor(result, f32, 2, shape, out_strides);
      b.byte_offset = (uint64_t)out_first * sizeof(float);
      const DLTensor *ins[] = {&a}, *outs[] = {&b};
      OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
      int written = 0, wrong = 0;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) {
          const float got = result[out_first + y * out_strides[0] + x * out_strides[1]];
          wrong += fabsf(got - at(expected, y * columns + x)) > 1e-4f;
        }
      for (int k = 0; k < room; ++k) written += result[k] != -7;
      CHECK(wrong == 0 && written <= rows * columns);
    }
  /* One row for all, as broadcasting makes them: to read, not to write. */
  int64_t none[2] = {0, 1};
  DLTensor same = tensor(plain, f32, 2, shape, none), out = tensor(result, f32, 2, shape, none);
  DLManagedTensorVersioned* made = run(p, &same, NULL);
  CHECK(fabsf(at(made, columns) - 3 * plain[1]) < 1e-4f);
  const DLTensor *ins[] = {&dense}, *outs[] = {&out};
  FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_ARGUMENT_ERROR, "a stride of 0");
  free_tensor(made);
  free_tensor(expected);
  tsr_program_free(p);
}

/* A colour image whose planes lie apart, in and out; only what belongs to it is written. */
static void planes_apart(void) {
  enum { rows = 5, columns = 6, points = rows * columns };
  float apart[3 * points], together[3 * points], out[3 * points + 2];
  int64_t shape[3] = {rows, columns, 3}, by_plane[3] = {columns, 1, points}, backwards[3] = {columns, 1, -points};
  tsr_program* p = compiled(
      "struct rgb { float r; float g; float b; } stencil f(vector#2 rgb X) { "
      "return struct rgb(X.r + X@[0,-1].g, X.g, X.b - X@[0,-1].r); } " PROGRAM_OF("rgb") "return f(a:wrap);",
      NULL);
  for (int k = 0; k < points; ++k)
    for (int c = 0; c < 3; ++c) apart[c * points + k] = together[3 * k + c] = (float)((k * 7 + c * 5) % 23);
  DLTensor packed = tensor(together, f32, 3, shape, NULL), planes = tensor(apart, f32, 3, shape, by_plane);
  DLManagedTensorVersioned *expected = run(p, &packed, NULL), *made = run(p, &planes, NULL);
  if (expected != NULL && made != NULL) {
    CHECK(made->dl_tensor.ndim == 3 && made->dl_tensor.shape[2] == 3 && made->dl_tensor.dtype.bits == 32);
    CHECK(memcmp(made->dl_tensor.data, expected->dl_tensor.data, sizeof together) == 0);
  }
  const DLTensor* ins[] = {&planes};
  for (int turned = 0; turned < 2; ++turned) {
    for (int k = 0; k < 3 * points + 2; ++k) out[k] = -7;
    DLTensor to = tensor(out + 1 + turned * 2 * points, f32, 3, shape, turned ? backwards : by_plane);
    const DLTensor* outs[] = {&to};
    OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
    int wrong = 0;
    for (int k = 0; k < points; ++k)
      for (int c = 0; c < 3; ++c) wrong += out[1 + (turned ? 2 - c : c) * points + k] != at(expected, 3 * k + c);
    CHECK(wrong == 0 && out[0] == -7 && out[3 * points + 1] == -7);
  }
  int64_t shapes[TSR_MOST_DIMENSIONS];
  int32_t rank = 0;
  OK(tsr_output_shapes(p, ins, 1, shapes, &rank, 1));
  CHECK(rank == 3 && shapes[0] == rows && shapes[1] == columns && shapes[2] == 3);
  int64_t one_place[3] = {columns, 1, 0};
  DLTensor narrow = tensor(out, f32, 3, shape, one_place);
  const DLTensor* outs[] = {&narrow};
  FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_ARGUMENT_ERROR, "a stride of 0");
  free_tensor(expected);
  free_tensor(made);
  tsr_program_free(p);
}

/* Fields of several types are bytes. */
static void mixed_fields(void) {
  struct pixel {
    float x;
    unsigned char n;
  } in[6], out[6];
  int64_t bytes[3] = {2, 3, sizeof in[0]}, shapes[TSR_MOST_DIMENSIONS];
  int32_t rank = 0;
  tsr_program* p = compiled(
      "struct two { float x; uint8 n; } stencil f(vector#2 two X) { return struct two(2 * X.x, cast<uint8>(X.n + 1)); "
      "} " PROGRAM_OF("two") "return f(a);",
      NULL);
  CHECK(strstr(tsr_program_json(p), "\"types\":[\"float\",\"uint8\"]") != NULL);
  memset(in, 0, sizeof in);
  for (int k = 0; k < 6; ++k) in[k].x = (float)k, in[k].n = (unsigned char)(10 * k);
  DLTensor a = tensor(in, u8, 3, bytes, NULL), b = tensor(out, u8, 3, bytes, NULL);
  const DLTensor *ins[] = {&a}, *outs[] = {&b};
  OK(tsr_output_shapes(p, ins, 1, shapes, &rank, 1));
  CHECK(rank == 3 && shapes[2] == (int64_t)sizeof out[0]);
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  CHECK(out[5].x == 10 && out[5].n == 51);
  tsr_program_free(p);
}

static void complex_numbers(void) {
  float in[16], out[16], parts[16];
  double wide[16];
  int64_t shape[1] = {8}, pairs[2] = {8, 2}, backwards[1] = {-1}, apart[2] = {1, 8};
  for (int k = 0; k < 16; ++k) in[k] = (float)(k % 5), wide[k] = in[k], parts[k % 2 * 8 + k / 2] = in[k];
  tsr_program* p =
      compiled("struct complex { float re; float im; } parameter N; vector#1 complex a[N]; return fft(a);", NULL);
  const DLDataType c64 = {kDLComplex, 64, 1};
  DLTensor a = tensor(in, c64, 1, shape, NULL), b = tensor(out, c64, 1, shape, NULL);
  const DLTensor *ins[] = {&a}, *outs[] = {&b};
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  float re = 0, im = 0;
  for (int k = 0; k < 8; ++k) re += in[2 * k], im += in[2 * k + 1];
  CHECK(fabsf(out[0] - re) < 1e-4f && fabsf(out[1] - im) < 1e-4f);
  /* The same as pairs, and as real and imaginary parts apart. */
  DLTensor others[] = {tensor(in, f32, 2, pairs, NULL), tensor(parts, f32, 2, pairs, apart)};
  for (int n = 0; n < 2; ++n) {
    DLManagedTensorVersioned* made = run(p, &others[n], NULL);
    for (int k = 0; k < 16; ++k) CHECK(fabsf(at(made, k) - out[k]) < 1e-4f);
    free_tensor(made);
  }
  DLTensor turned = tensor(in + 14, c64, 1, shape, backwards);
  DLManagedTensorVersioned* made = run(p, &turned, NULL);
  CHECK(fabsf(at(made, 0) - re) < 1e-4f && fabsf(at(made, 1) - im) < 1e-4f);
  free_tensor(made);
  char* text = NULL;
  OK(tsr_explain(p, ins, 1, "json", NULL, &text));
  CHECK(json_valid(text));
  tsr_string_free(text);
  const uint8_t bits[] = {128, 32, 16, 8, 0, 7, 255};
  for (size_t k = 0; k < sizeof bits; ++k) {
    a = tensor(wide, c64, 1, shape, backwards);
    a.dtype.bits = bits[k];
    a.byte_offset = sizeof wide / 2;
    FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_ARGUMENT_ERROR, "input 'a'");
  }
  tsr_program_free(p);
}

/* A tensor that lies about its rank is not looked at beyond its shape. */
static void broken_structs(void) {
  unsigned char in[18];
  int64_t shape[3] = {2, 3, 3};
  float f[18];
  tsr_program* p =
      compiled("struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 rgb X) { return X.r; } " PROGRAM_OF(
                   "rgb") "return f(a);",
               NULL);
  DLManagedTensorVersioned* out = NULL;
  char* text = NULL;
  DLTensor a = tensor(in, u8, 3, shape, NULL);
  const DLTensor* ins[] = {&a};
  const int32_t ranks[] = {0, -1, 1, 6, 1000000, INT32_MAX, INT32_MIN};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
    a.ndim = ranks[k];
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "input 'a'");
    FAILS(tsr_explain(p, ins, 1, "text", NULL, &text), TSR_ARGUMENT_ERROR, "input 'a'");
  }
  a.ndim = 3;
  shape[2] = 4;
  FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "a last dimension of 3");
  shape[2] = 3;
  a = tensor(f, f32, 3, shape, NULL);
  FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "expected uint8");
  a.shape = NULL;
  FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "input 'a'");
  CHECK(out == NULL && text == NULL);
  tsr_program_free(p);
}

/* Numbers that no memory has are refused, not tried. */
static void huge_numbers(void) {
  float in[6];
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  tsr_program* p =
      compiled("stencil f(vector#2 float X) { return X@[0,1]; } " PROGRAM_OF("float") "return f(a:wrap);", NULL);
  DLManagedTensorVersioned* out = NULL;
  char* text = NULL;
  DLTensor a = tensor(in, f32, 2, shape, strides);
  const DLTensor* ins[] = {&a};
  const int64_t wild[] = {INT64_MAX,        INT64_MIN,           INT64_MAX / 4,   INT64_MIN / 4,
                          INT64_C(1) << 61, -(INT64_C(1) << 61), INT64_C(1) << 60};
  for (size_t k = 0; k < sizeof wild / sizeof *wild; ++k) {
    strides[0] = wild[k];
    if (k < 6) FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "a stride of");
    shape[0] = 5;
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "a stride of");
    shape[0] = 2, strides[0] = 3;
    shape[wild[k] < 0] = wild[k];
    a.strides = NULL;
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, wild[k] < 0 ? "an extent of" : "");
    if (wild[k] < 0) FAILS(tsr_explain(p, ins, 1, "text", NULL, &text), TSR_ARGUMENT_ERROR, "an extent of");
    a.strides = strides;
    shape[0] = 2, shape[1] = 3;
  }
  shape[0] = 0, shape[1] = INT64_MAX;
  CHECK(tsr_run(p, ins, 1, &out, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(tsr_explain(p, ins, 1, "text", NULL, &text) == TSR_ARGUMENT_ERROR);
  const int32_t ranks[] = {INT32_MAX, -1, 0, 5, 6};
  for (int k = 0; k < 5; ++k) {
    a.ndim = ranks[k];
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "");
  }
  /* An array that is not there, of a shape that could be: explained, for nothing of it is looked at. */
  shape[0] = shape[1] = INT64_C(1) << 16;
  a = tensor(NULL, f32, 2, shape, NULL);
  OK(tsr_explain(p, ins, 1, "text", NULL, &text));
  tsr_string_free(text);
  CHECK(out == NULL);
  tsr_program_free(p);
}

/* Types that are refused by name, memory that is not ours. */
static void other_types_and_devices(void) {
  double memory[8] = {0};
  int64_t shape[1] = {2};
  tsr_program* p =
      compiled("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X; } return f(a);", NULL);
  DLManagedTensorVersioned* out = NULL;
  const struct {
    DLDataType type;
    const char* name;
  } types[] = {{{kDLInt, 8, 1}, "int8"},         {{kDLInt, 64, 1}, "int64"},
               {{kDLUInt, 64, 1}, "uint64"},     {{kDLBfloat, 16, 1}, "bfloat16"},
               {{kDLFloat, 128, 1}, "float128"}, {{kDLFloat, 32, 4}, "float32x4"},
               {{kDLFloat, 32, 0}, "float32x0"}, {{kDLComplex, 64, 1}, "complex64"},
               {{200, 8, 1}, "code200_8"},       {{kDLOpaqueHandle, 64, 1}, "handle64"},
               {{kDLBool, 1, 1}, "bool1"},       {{kDLUInt, 4, 1}, "uint4"}};
  DLTensor a = tensor(memory, f32, 1, shape, NULL);
  const DLTensor* ins[] = {&a};
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k) {
    a.dtype = types[k].type;
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, types[k].name);
  }
  a.dtype = f32;
  const int others[] = {0, 4, 7, 8, 9, 10, 12, 14, 15, 16, 17, -1, 1000}, cuda[] = {kDLCUDA, kDLCUDAManaged};
  for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
    memcpy(&a.device.device_type, &others[k], sizeof others[k]);
    FAILS(tsr_run(p, ins, 1, &out, 1, NULL), TSR_ARGUMENT_ERROR, "memory of kind");
  }
  for (int k = 0; k < 2; ++k) {
    memcpy(&a.device.device_type, &cuda[k], sizeof cuda[k]);
    a.device.device_id = 77; /* where there is a driver, it has fewer */
    CHECK(tsr_run(p, ins, 1, &out, 1, NULL) == TSR_DEVICE_ERROR);
    a.device.device_id = -1;
    const tsr_status status = tsr_run(p, ins, 1, &out, 1, NULL);
    CHECK(status == TSR_DEVICE_ERROR || status == TSR_ARGUMENT_ERROR);
    a.device.device_id = 0;
  }
  a.device.device_type = kDLCUDAHost;
  OK(tsr_run(p, ins, 1, &out, 1, NULL));
  CHECK(out != NULL && out->dl_tensor.device.device_type == kDLCPU);
  free_tensor(out);
  tsr_program_free(p);
}

static void shared_memory(void) {
  float memory[40] = {0};
  int64_t shape[2] = {3, 4}, columns[2] = {8, 2};
  tsr_program* p =
      compiled("stencil f(vector#2 float X) { return X@[0,1]; } " PROGRAM_OF("float") "return f(a:wrap);", NULL);
  DLTensor a = tensor(memory, f32, 2, shape, NULL), b = tensor(memory + 11, f32, 2, shape, NULL);
  const DLTensor *ins[] = {&a}, *outs[] = {&b};
  FAILS(tsr_run_into(p, ins, 1, outs, 1, NULL), TSR_ARGUMENT_ERROR, "shares memory with");
  b.data = memory + 12;
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  /* Between each other they share nothing. */
  a = tensor(memory, f32, 2, shape, columns), b = tensor(memory + 1, f32, 2, shape, columns);
  OK(tsr_run_into(p, ins, 1, outs, 1, NULL));
  tsr_program_free(p);
  p = compiled("stencil f(vector#2 float X) { return 2 * X; } " PROGRAM_OF("float") "return s = f(a), t = f(a);", NULL);
  DLTensor s = tensor(memory + 12, f32, 2, shape, NULL), t = tensor(memory + 20, f32, 2, shape, NULL);
  const DLTensor* two[] = {&s, &t};
  a = tensor(memory, f32, 2, shape, NULL);
  FAILS(tsr_run_into(p, ins, 1, two, 2, NULL), TSR_ARGUMENT_ERROR, "output 't' shares memory with output 's'");
  t.data = memory + 24;
  OK(tsr_run_into(p, ins, 1, two, 2, NULL));
  tsr_program_free(p);
}

/* Scalars of every type for scalars of every type, anywhere in memory. */
static void scalars(void) {
  const char* names[] = {"bool", "uint8", "int16", "uint16", "int32", "uint32", "half", "float", "double"};
  const int64_t whole = 1;
  const uint16_t half = 0x3c00;
  const float narrow = 1;
  const double wide = 1;
  const struct {
    const void* data;
    DLDataType type;
  } all[] = {{&whole, {kDLBool, 8, 1}},  {&whole, {kDLUInt, 8, 1}},    {&whole, {kDLInt, 8, 1}},
             {&whole, {kDLInt, 16, 1}},  {&whole, {kDLUInt, 16, 1}},   {&whole, {kDLInt, 32, 1}},
             {&whole, {kDLUInt, 32, 1}}, {&whole, {kDLInt, 64, 1}},    {&whole, {kDLUInt, 64, 1}},
             {&half, {kDLFloat, 16, 1}}, {&narrow, {kDLFloat, 32, 1}}, {&wide, {kDLFloat, 64, 1}}};
  float in[1] = {1}, out[1];
  double x[1] = {0}, y[1];
  int64_t shape[1] = {1};
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(out, f32, 1, shape, NULL), s;
  const DLTensor *ins[] = {&a, &s}, *outs[] = {&b};
  for (size_t n = 0; n < sizeof names / sizeof *names; ++n) {
    char text[300];
    snprintf(text, sizeof text,
             "stencil f(vector#1 float X, %s s) { return X + cast<float>(s); } parameter N; vector#1 float a[N]; %s s; "
             "return f(a, s);",
             names[n], names[n]);
    tsr_program* p = compiled(text, NULL);
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
      unsigned char copy[17];
      memcpy(copy + 1, all[k].data, all[k].type.bits / 8);
      s = tensor(copy, all[k].type, 0, NULL, NULL);
      s.byte_offset = 1;
      OK(tsr_run_into(p, ins, 2, outs, 1, NULL));
      CHECK(out[0] == 2);
    }
    s = tensor(NULL, f64, 0, NULL, NULL);
    FAILS(tsr_run_into(p, ins, 2, outs, 1, NULL), TSR_ARGUMENT_ERROR, "null pointer");
    s = tensor((void*)&wide, f64, 1, shape, NULL);
    FAILS(tsr_run_into(p, ins, 2, outs, 1, NULL), TSR_ARGUMENT_ERROR, "expected a scalar");
    s.ndim = 0;
    s.device.device_type = kDLCUDA;
    FAILS(tsr_run_into(p, ins, 2, outs, 1, NULL), TSR_ARGUMENT_ERROR, "a number of the host");
    s.device.device_type = kDLCPU;
    s.dtype.lanes = 2;
    FAILS(tsr_run_into(p, ins, 2, outs, 1, NULL), TSR_ARGUMENT_ERROR, "float64x2");
    tsr_program_free(p);
  }
  const int64_t large = INT64_C(4000000000);
  tsr_program* p = compiled(
      "stencil f(vector#1 double X, uint32 s) { return X + s; } parameter N; vector#1 double a[N]; uint32 s; "
      "return f(a, s);",
      NULL);
  a = tensor(x, f64, 1, shape, NULL), b = tensor(y, f64, 1, shape, NULL);
  s = tensor((void*)&large, f64, 0, NULL, NULL);
  s.dtype.code = kDLInt;
  OK(tsr_run_into(p, ins, 2, outs, 1, NULL));
  CHECK(y[0] == 4e9);
  tsr_program_free(p);
}

/* Every type of array; exact numbers have the interpreter's bits. */
static void types_and_bits(void) {
  const struct {
    const char* name;
    DLDataType type;
  } all[] = {{"bool", {kDLBool, 8, 1}},    {"uint8", {kDLUInt, 8, 1}},   {"int16", {kDLInt, 16, 1}},
             {"uint16", {kDLUInt, 16, 1}}, {"int32", {kDLInt, 32, 1}},   {"uint32", {kDLUInt, 32, 1}},
             {"half", {kDLFloat, 16, 1}},  {"float", {kDLFloat, 32, 1}}, {"double", {kDLFloat, 64, 1}}};
  const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
  double memory[35];
  int64_t shape[2] = {5, 7};
  tsr_options* exact = NULL;
  OK(tsr_options_new(&exact));
  OK(tsr_options_set(exact, "numbers", "exact"));
  for (size_t n = 0; n < sizeof all / sizeof *all; ++n) {
    char text[400];
    snprintf(text, sizeof text,
             "stencil f(vector#2 %s X) { return %s; } parameter M, N; vector#2 %s a[M,N]; return f(a:symmetric);",
             all[n].name,
             n == 0 ? "X@[0,1] == X"
                    : "exp(cast<float>(X) / 300) * X@[1,-1] + sum(i = -1..1, j = -1..1) (cast<float>(X@[i,j]))",
             all[n].name);
    tsr_program* p = compiled(text, NULL);
    const size_t size = all[n].type.bits / 8;
    memset(memory, 0, sizeof memory);
    for (int k = 0; k < 35; ++k) {
      const float v = (float)(k * 3 % 11);
      const double d = v;
      unsigned char* const to = (unsigned char*)memory + (size_t)k * size;
      if (all[n].type.code != kDLFloat)
        *to = (unsigned char)(n == 0 ? k % 3 == 0 : k * 3 % 11);
      else
        memcpy(to, size == 2 ? (const void*)&halves[k % 5] : size == 4 ? (const void*)&v : (const void*)&d, size);
    }
    DLTensor a = tensor(memory, all[n].type, 2, shape, NULL);
    const DLTensor* ins[] = {&a};
    DLManagedTensorVersioned *made = run(p, &a, exact), *said = NULL;
    OK(tsr_interpret(p, ins, 1, &said, 1));
    if (made != NULL && said != NULL) {
      const DLDataType type = made->dl_tensor.dtype;
      CHECK(type.bits == said->dl_tensor.dtype.bits && type.code == said->dl_tensor.dtype.code);
      CHECK(memcmp(made->dl_tensor.data, said->dl_tensor.data, (size_t)35 * type.bits / 8) == 0);
    }
    CHECK(json_valid(tsr_program_json(p)) && json_text(tsr_program_json(p), "inputs.0.type")[0] != '\0');
    free_tensor(made);
    free_tensor(said);
    tsr_program_free(p);
  }
  tsr_options_free(exact);
}

int main(void) {
  strides_of_all_kinds();
  planes_apart();
  mixed_fields();
  complex_numbers();
  broken_structs();
  huge_numbers();
  other_types_and_devices();
  shared_memory();
  scalars();
  types_and_bits();
  return failures == 0 ? 0 : 1;
}
