/* The C interface as a C program uses it: programs, arrays of every layout, options, errors. */
#include "check.h"

static const char* const blur =
    "stencil f(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; } parameter M, N; vector#2 float a[M,N]; "
    "return f(a:clamped);";

static void runs_programs(void) {
  float in[4][5], out[4][5];
  int64_t shape[2] = {4, 5}, shapes[TSR_MOST_DIMENSIONS];
  int32_t rank = 0;
  for (int k = 0; k < 20; ++k) (&in[0][0])[k] = (float)(k * k % 7);
  DLTensor a = tensor(in, f32, 2, shape, NULL), b = tensor(out, f32, 2, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  tsr_program* p = compiled(blur, NULL);
  CHECK(tsr_program_input_count(p) == 1 && tsr_program_output_count(p) == 1);
  CHECK(strstr(tsr_program_json(p), "\"extents\":\"M x N\"") != NULL);
  OK(tsr_output_shapes(p, from, 1, shapes, &rank, 1));
  CHECK(rank == 2 && shapes[0] == 4 && shapes[1] == 5);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x) {
      const float left = in[y][x > 0 ? x - 1 : 0], right = in[y][x < 4 ? x + 1 : 4];
      CHECK(fabsf(out[y][x] - (left + in[y][x] + right) / 3) < 1e-5f);
    }
  DLManagedTensorVersioned *made = NULL, *said = NULL;
  tsr_options* exact = NULL;
  OK(tsr_options_new(&exact));
  OK(tsr_options_set(exact, "numbers", "exact"));
  OK(tsr_run(p, from, 1, &made, 1, exact));
  OK(tsr_interpret(p, from, 1, &said, 1));
  if (made != NULL && said != NULL) {
    CHECK(made->version.major == 1 && made->dl_tensor.ndim == 2 && made->dl_tensor.shape[1] == 5);
    CHECK(memcmp(made->dl_tensor.data, said->dl_tensor.data, sizeof in) == 0);
  }
  free_tensor(made);
  free_tensor(said);
  tsr_options_free(exact);
  tsr_program_free(p);
}

/* Transposed, backwards, in the middle of memory: what is read and written lies where strides say. */
static void takes_strides(void) {
  float memory[6 * 9], out[6 * 9];
  int64_t shape[2] = {5, 4}, transposed[2] = {1, 9}, backwards[2] = {-9, -1}, dense[2] = {4, 1};
  for (int k = 0; k < 54; ++k) {
    memory[k] = (float)k;
    out[k] = -1;
  }
  tsr_program* p = compiled(
      "stencil f(vector#2 float X) { return 2 * X; } parameter M, N; vector#2 float a[M,N]; return f(a);", NULL);
  DLTensor a = tensor(memory, f32, 2, shape, transposed), b = tensor(out, f32, 2, shape, dense);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  a.byte_offset = 2 * sizeof(float);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  CHECK(out[0] == 4 && out[1] == 2 * 11 && out[4] == 6 && out[19] == 2 * (2 + 4 + 27) && out[20] == -1);
  b = tensor(out + 53, f32, 2, shape, backwards);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  CHECK(out[53] == 4 && out[52] == 2 * 11 && out[53 - 9] == 6);
  tsr_program_free(p);
}

/* Structs are tensors with a dimension of fields, together or apart. */
static void takes_structs(void) {
  unsigned char pixels[2 * 3 * 3], planes[3 * 2 * 3], out[2 * 3 * 3], back[3 * 2 * 3];
  int64_t shape[3] = {2, 3, 3}, first[3] = {3, 1, 6};
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 3; ++x)
      for (int c = 0; c < 3; ++c)
        planes[c * 6 + y * 3 + x] = pixels[(y * 3 + x) * 3 + c] = (unsigned char)(y * 50 + x * 10 + c);
  tsr_program* p = compiled(
      "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 rgb X) { return struct rgb(X.b, X.g, X.r); } "
      "parameter M, N; vector#2 rgb a[M,N]; return f(a);",
      NULL);
  DLTensor a = tensor(pixels, u8, 3, shape, NULL), b = tensor(out, u8, 3, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  CHECK(strstr(tsr_program_json(p), "\"fields\":[\"r\",\"g\",\"b\"]") != NULL);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  CHECK(out[0] == 2 && out[1] == 1 && out[2] == 0 && out[17] == 70);
  a = tensor(planes, u8, 3, shape, first);
  b = tensor(back, u8, 3, shape, first);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  CHECK(back[0] == 2 && back[6] == 1 && back[12] == 0 && back[17] == 70);
  shape[2] = 4;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "input 'a'");
  tsr_program_free(p);
}

static void takes_scalars(void) {
  double d = 2.5;
  int64_t l = 3;
  signed char c = -4;
  _Bool t = 1;
  float in[2] = {1, 2}, out[2];
  int64_t shape[1] = {2};
  tsr_program* p = compiled(
      "stencil f(vector#1 float X, float s) { return s * X; } parameter N; vector#1 float a[N]; float s; return f(a, "
      "s);",
      NULL);
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(out, f32, 1, shape, NULL);
  struct {
    void* data;
    DLDataType type;
    float value;
  } all[] = {
      {&d, {kDLFloat, 64, 1}, 2.5f}, {&l, {kDLInt, 64, 1}, 3}, {&c, {kDLInt, 8, 1}, -4}, {&t, {kDLBool, 8, 1}, 1}};
  for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
    DLTensor s = tensor(all[k].data, all[k].type, 0, NULL, NULL);
    const DLTensor *from[] = {&a, &s}, *to[] = {&b};
    OK(tsr_run_into(p, from, 2, to, 1, NULL));
    CHECK(out[1] == 2 * all[k].value);
  }
  tsr_program_free(p);
}

static void takes_options(void) {
  double weights[3] = {1, 2, 1}, amount = 3;
  int64_t shape[1] = {3}, image[2] = {3, 4};
  float in[12], out[12];
  DLTensor k = tensor(weights, f64, 1, shape, NULL);
  tsr_options* o = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_options_set_numbers(o, "parameter.amount", &amount, 1));
  OK(tsr_options_set(o, "border.edge", "wrap"));
  OK(tsr_options_set(o, "type.real", "float32"));
  OK(tsr_options_set_tensor(o, "table.k", &k));
  weights[1] = 100; /* the elements were copied */
  tsr_program* p = compiled(
      "parameter float amount = 1; parameter border edge = mirror; parameter type real = double; table double k[3]; "
      "stencil f(vector#2 real X) { return cast<real>(amount * sum(j = -1..1) (k[j + 1] * X@[0,j])); } parameter M, N; "
      "vector#2 real a[M,N]; return f(a:edge);",
      o);
  for (int i = 0; i < 12; ++i) in[i] = (float)i;
  DLTensor a = tensor(in, f32, 2, image, NULL), b = tensor(out, f32, 2, image, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  CHECK(out[0] == 3 * (3 + 0 + 1) && out[1] == 3 * (0 + 2 + 2));
  tsr_program* q = NULL;
  OK(tsr_options_set(o, "colour", "red"));
  FAILS(tsr_compile_text(blur, NULL, o, &q), TSR_ARGUMENT_ERROR, "compilation has no option 'colour'");
  OK(tsr_options_set(o, "colour", NULL));
  OK(tsr_options_set(o, "import_only", ""));
  FAILS(tsr_compile_text("import \"other.forma\"; return f(x);", NULL, o, &q), TSR_COMPILE_ERROR, "import");
  CHECK(q == NULL);
  OK(tsr_options_set(o, "method", "auto"));
  tsr_options_free(o);
  const char* bad[][3] = {{"numbers", "quick", "expected fast, exact"}, {"threads", "-1", "a number of threads"},
                          {"threads", "many", "a number of threads"},   {"target", "tpu", "cpu, cuda, opencl"},
                          {"method", "magic", "expected automatic"},    {"compile_limit", "nan", "seconds"},
                          {"parameter.x", "1", "a run has no option"}};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; ++n) {
    OK(tsr_options_new(&o));
    OK(tsr_options_set(o, bad[n][0], bad[n][1]));
    FAILS(tsr_run_into(p, from, 1, to, 1, o), TSR_ARGUMENT_ERROR, bad[n][2]);
    tsr_options_free(o);
  }
  tsr_program_free(p);
}

/* What the compiler advises names options, no flags of the command; lines of programs stay as they are. */
static void names_options(void) {
  tsr_program* p = compiled(blur, NULL);
  const char* advice[][4] = {
      {"name", "for", "c", "as in option name=my_filter"},
      {"numbers", "fast", "verilog", "give option height, width and fixed, or option height and"},
      {"height", "9", "verilog", "option input."}};
  for (size_t n = 0; n < sizeof advice / sizeof *advice; ++n) {
    char* source = NULL;
    tsr_options* o = NULL;
    OK(tsr_options_new(&o));
    OK(tsr_options_set(o, "target", advice[n][2]));
    OK(tsr_options_set(o, advice[n][0], advice[n][1]));
    if (n == 2) OK(tsr_options_set(o, "width", "9"));
    FAILS(tsr_emit(p, o, &source, NULL, NULL), TSR_ARGUMENT_ERROR, advice[n][3]);
    CHECK(strstr(tsr_last_error(), "--") == NULL && strstr(tsr_last_error_json(), "--") == NULL);
    tsr_options_free(o);
  }
  tsr_program_free(p);
  p = NULL;
  FAILS(
      tsr_compile_text("parameter M; table float w[3]; /* --name x */ vector#1 float x[M]; return q;", NULL, NULL, &p),
      TSR_COMPILE_ERROR, "/* --name x */");
  FAILS(tsr_compile_text("parameter M; table float w[3]; vector#1 float x[M]; return x;", NULL, NULL, &p),
        TSR_COMPILE_ERROR, "add option table.w, or give it values");
}

static void tells_errors(void) {
  tsr_program* p = NULL;
  FAILS(tsr_compile_text("stencil f(vector#2 float X) { return X + Q; }", "some.forma", NULL, &p), TSR_COMPILE_ERROR,
        "some.forma:1:42: error:");
  const char* json = tsr_last_error_json();
  CHECK(strstr(json, "\"class\":\"compile\"") && strstr(json, "\"line\":1") && strstr(json, "\"column\":42") &&
        strstr(json, "\"file\":\"some.forma\""));
  FAILS(tsr_compile_file("/nowhere/x.forma", NULL, &p), TSR_IO_ERROR, "/nowhere/x.forma");
  tsr_clear_error();
  CHECK(tsr_last_error()[0] == '\0' && tsr_last_error_json()[0] == '\0');
  CHECK(p == NULL);
  p = compiled(blur, NULL);
  float in[6], out[6];
  int64_t shape[2] = {2, 3}, empty[2] = {0, 3}, negative[2] = {-1, 3}, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
  DLTensor a = tensor(in, f32, 2, shape, NULL), b = tensor(out, f32, 2, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  FAILS(tsr_run_into(p, from, 0, to, 1, NULL), TSR_ARGUMENT_ERROR, "0 inputs are given, expected 1");
  FAILS(tsr_run_into(p, from, 1, to, 2, NULL), TSR_ARGUMENT_ERROR, "2 outputs are given, expected 1");
  a.dtype.bits = 64;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "double");
  a.dtype.code = kDLInt;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "int64");
  a.dtype = f32;
  a.dtype.lanes = 4;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "float32x4");
  a.dtype = f32;
  a.device.device_type = kDLMetal;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "memory of kind 8");
  a.device.device_type = kDLCUDA;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_DEVICE_ERROR, "");
  a.device.device_type = kDLCPU;
  a.shape = empty;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "every extent must be at least 1");
  a.shape = negative;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "an extent of -1");
  a.shape = huge;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "too many elements");
  a.shape = NULL;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "null pointer");
  a.shape = shape;
  a.data = NULL;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "null pointer");
  a.data = in;
  a.ndim = 7;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "7 dimensions");
  a.ndim = 2;
  b.data = in;
  FAILS(tsr_run_into(p, from, 1, to, 1, NULL), TSR_ARGUMENT_ERROR, "shares memory");
  tsr_program_free(p);
}

static int count_up(int64_t done, int64_t total, void* user) {
  int* calls = user;
  CHECK(done <= total);
  return ++*calls >= 3; /* enough */
}

static void reports_and_cancels(void) {
  enum { n = 3000 };
  float *in = calloc((size_t)n * n, sizeof *in), *out = malloc((size_t)n * n * sizeof *out);
  int64_t shape[2] = {n, n};
  int calls = 0;
  tsr_program* p = compiled(blur, NULL);
  tsr_options* o = NULL;
  tsr_cancel* cancel = NULL;
  DLTensor a = tensor(in, f32, 2, shape, NULL), b = tensor(out, f32, 2, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  OK(tsr_options_new(&o));
  OK(tsr_options_set_progress(o, count_up, &calls));
  FAILS(tsr_run_into(p, from, 1, to, 1, o), TSR_CANCELLED, "");
  CHECK(calls >= 3);
  OK(tsr_options_set_progress(o, NULL, NULL));
  OK(tsr_cancel_new(&cancel));
  OK(tsr_options_set_cancel(o, cancel));
  tsr_cancel_now(cancel);
  FAILS(tsr_run_into(p, from, 1, to, 1, o), TSR_CANCELLED, "");
  DLManagedTensorVersioned* said = NULL;
  FAILS(tsr_interpret_with(p, from, 1, &said, 1, o), TSR_CANCELLED, "interrupted");
  tsr_cancel_reset(cancel);
  OK(tsr_interpret_with(p, from, 1, &said, 1, o));
  free_tensor(said);
  OK(tsr_run_into(p, from, 1, to, 1, o));
  tsr_options_free(o);
  tsr_cancel_free(cancel);
  tsr_program_free(p);
  free(in);
  free(out);
}

static void explains_and_emits(void) {
  int64_t shape[2] = {480, 640};
  DLTensor a = tensor(NULL, f32, 2, shape, NULL);
  const DLTensor* from[] = {&a};
  tsr_program* p = compiled(blur, NULL);
  const char* formats[] = {"text", "json", "svg"};
  const char* marks[] = {"group", "{", "<svg"};
  for (int k = 0; k < 3; ++k) {
    char* text = NULL;
    OK(tsr_explain(p, from, 1, formats[k], NULL, &text));
    CHECK(text != NULL && strstr(text, marks[k]) != NULL);
    tsr_string_free(text);
  }
  char *source = NULL, *header = NULL, *host = NULL;
  FAILS(tsr_explain(p, from, 1, "html", NULL, &source), TSR_ARGUMENT_ERROR, "expected text, json or svg");
  const char* targets[] = {"c", "cuda", "opencl", "hls", "verilog"};
  for (int k = 0; k < 5; ++k) {
    tsr_options* o = NULL;
    OK(tsr_options_new(&o));
    OK(tsr_options_set(o, "target", targets[k]));
    OK(tsr_options_set(o, "name", "my_blur"));
    if (k >= 3) {
      OK(tsr_options_set(o, "height", "48"));
      OK(tsr_options_set(o, "width", "64"));
      OK(tsr_options_set(o, "input.a", "uint8"));
    }
    OK(tsr_emit(p, o, &source, &header, &host));
    CHECK(source != NULL && strstr(source, "my_blur") != NULL);
    CHECK(host != NULL && (host[0] != '\0') == (k >= 2));
    tsr_string_free(source);
    tsr_string_free(header);
    tsr_string_free(host);
    source = header = host = NULL;
    tsr_options_free(o);
  }
  OK(tsr_program_graph(p, &source));
  CHECK(source != NULL && strstr(source, "clamp") != NULL);
  tsr_string_free(source);
  tsr_program_free(p);
}

static void goes_backwards(void) {
  float in[6] = {1, 2, 3, 4, 5, 6}, g[6] = {1, 1, 1, 1, 1, 1};
  int64_t shape[1] = {6};
  tsr_program *
      p = compiled(
         "stencil f(vector#1 float X) { return X * X@[1]; } parameter N; vector#1 float a[N]; return f(a:wrap);", NULL),
     *back = NULL;
  OK(tsr_program_adjoint(p, &back));
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(g, f32, 1, shape, NULL);
  const DLTensor* from[] = {&a, &b};
  DLManagedTensorVersioned* made = NULL;
  OK(tsr_run(back, from, 2, &made, 1, NULL));
  if (made != NULL) {
    const float* d = made->dl_tensor.data;
    CHECK(d[0] == 6 + 2 && d[1] == 1 + 3 && d[5] == 5 + 1);
  }
  free_tensor(made);
  tsr_program_free(p);
  tsr_program_free(back);
}

static void filters_by_name(void) {
  unsigned char in[8 * 9], out[8 * 9], mask[8 * 9];
  int64_t shape[2] = {8, 9}, result[TSR_MOST_DIMENSIONS];
  int32_t rank = 0;
  DLDataType type;
  for (int k = 0; k < 72; ++k) {
    in[k] = (unsigned char)(k * 37);
    mask[k] = 1;
  }
  CHECK(strstr(tsr_filters_json(), "\"name\":\"gaussian\"") != NULL);
  tsr_options* o = NULL;
  tsr_filter* f = NULL;
  DLTensor a = tensor(in, u8, 2, shape, NULL), b = tensor(out, u8, 2, shape, NULL),
           m = tensor(mask, u8, 2, shape, NULL);
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "radius", "1"));
  OK(tsr_options_set(o, "border", "clamped"));
  OK(tsr_filter_new("median", u8, 2, o, &f));
  OK(tsr_filter_result(f, shape, 2, &type, result, &rank));
  CHECK(rank == 2 && result[0] == 8 && result[1] == 9 && type.code == kDLUInt && type.bits == 8);
  OK(tsr_filter_run(f, &a, NULL, &b, NULL));
  FAILS(tsr_filter_run(f, &a, &m, &b, NULL), TSR_ARGUMENT_ERROR, "without a mask");
  FAILS(tsr_filter_run(f, &a, NULL, &a, NULL), TSR_ARGUMENT_ERROR, "shares memory");
  char* text = NULL;
  OK(tsr_filter_explain(f, &a, "text", NULL, &text));
  tsr_string_free(text);
  tsr_filter_free(f);
  f = NULL;
  FAILS(tsr_filter_new("medain", u8, 2, NULL, &f), TSR_ARGUMENT_ERROR, "medain");
  FAILS(tsr_filter_new("median", f32, 5, NULL, &f), TSR_ARGUMENT_ERROR, "rank");
  tsr_options_free(o);
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "mask", "uint8"));
  OK(tsr_options_set(o, "extent", "valid"));
  OK(tsr_options_set(o, "type", "float32"));
  OK(tsr_filter_new("box", u8, 2, o, &f));
  OK(tsr_filter_result(f, shape, 2, &type, result, &rank));
  CHECK(result[0] == 6 && result[1] == 7 && type.code == kDLFloat);
  float wide[42];
  DLTensor w = tensor(wide, f32, 2, result, NULL);
  OK(tsr_filter_run(f, &a, &m, &w, NULL));
  CHECK(fabsf(wide[0] - (in[0] + in[1] + in[2] + in[9] + in[10] + in[11] + in[18] + in[19] + in[20]) / 9.f) < 1e-3f);
  tsr_filter_free(f);
  tsr_options_free(o);
  /* Colours: two equal planes and alpha. */
  int64_t colour[3] = {8, 3, 3};
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "fields", "r g b"));
  OK(tsr_filter_new("gaussian", u8, 2, o, &f));
  DLTensor c = tensor(in, u8, 3, colour, NULL), d = tensor(out, u8, 3, colour, NULL);
  OK(tsr_filter_run(f, &c, NULL, &d, NULL));
  tsr_filter_free(f);
  tsr_options_free(o);
}

int main(void) {
  CHECK(tsr_abi() >= TSR_ABI);
  CHECK(strlen(tsr_version()) > 0);
  runs_programs();
  takes_strides();
  takes_structs();
  takes_scalars();
  takes_options();
  tells_errors();
  names_options();
  reports_and_cancels();
  explains_and_emits();
  goes_backwards();
  filters_by_name();
  return failures == 0 ? 0 : 1;
}
