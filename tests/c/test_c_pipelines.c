/* Pipelines through the C interface; null pointers to every function; threads; CUDA where there is a driver. */
#include <pthread.h>

#include "check.h"

static char* graph_of(tsr_pipeline* p, tsr_image image) {
  const tsr_output output = {"", &image, 1, NULL};
  tsr_program* program = NULL;
  char* text = NULL;
  OK(tsr_pipeline_compile(p, &output, 1, NULL, &program));
  OK(tsr_program_graph(program, &text));
  tsr_program_free(program);
  return text;
}

/* The same stages as the text makes. */
static void blurs(void) {
  tsr_pipeline* p = NULL;
  tsr_image image, clamped, stage;
  tsr_value sum, v, three;
  const tsr_border edge[2] = {{TSR_CLAMP, 0}, {TSR_CLAMP, 0}};
  OK(tsr_pipeline_new(&p));
  OK(tsr_pipeline_input(p, "a", f32, 2, NULL, NULL, 0, &image));
  OK(tsr_pipeline_borders(p, image, edge, 2, &clamped));
  for (int k = -1; k <= 1; ++k) {
    const tsr_offset at[2] = {{0, 0, NULL, NULL}, {k, 0, NULL, NULL}};
    OK(tsr_pipeline_read(p, clamped, at, 2, k < 0 ? &sum : &v));
    const tsr_value both[2] = {sum, v};
    if (k >= 0) OK(tsr_pipeline_apply(p, "add", both, 2, &sum));
  }
  OK(tsr_pipeline_constant(p, i32, 3, &three));
  const tsr_value division[2] = {sum, three};
  OK(tsr_pipeline_apply(p, "div", division, 2, &v));
  OK(tsr_pipeline_stage(p, "1", v, &stage) == TSR_ARGUMENT_ERROR ? TSR_OK : TSR_INTERNAL_ERROR); /* no name */
  OK(tsr_pipeline_stage(p, "f", v, &stage));
  DLDataType type;
  int32_t rank = 0;
  OK(tsr_pipeline_value_type(p, v, &type));
  CHECK(type.code == kDLFloat && type.bits == 32);
  OK(tsr_pipeline_image_type(p, stage, &type, &rank));
  CHECK(rank == 2 && type.bits == 32);
  char* built = graph_of(p, stage);
  tsr_program* text = compiled(
      "stencil f(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; } parameter M, N; vector#2 float a[M,N]; "
      "return f(a:clamped);",
      NULL);
  char* written = NULL;
  OK(tsr_program_graph(text, &written));
  /* (Names of stages are the caller's.) */
  CHECK(built != NULL && written != NULL && strlen(built) > 40);
  tsr_string_free(built);
  tsr_string_free(written);
  tsr_program_free(text);
  tsr_pipeline_free(p);
}

/* Windows over variables, tables, offsets, a struct of two planes, an extent of its own. */
static void windows(void) {
  float weights[3] = {1, 2, 4}, in[5] = {1, 2, 3, 4, 5}, out[10];
  int64_t three[1] = {3}, shape[1] = {5}, pair[2] = {5, 2};
  tsr_pipeline* p = NULL;
  tsr_extent n, m;
  tsr_image image, wrapped, planes[2];
  tsr_table table;
  tsr_variable i;
  tsr_value index, weight, read, product, sum, twice;
  const int32_t lo = -1, hi = 1;
  const int64_t one = 1;
  DLTensor k = tensor(weights, f32, 1, three, NULL);
  OK(tsr_pipeline_new(&p));
  OK(tsr_pipeline_size(p, "N", &n));
  OK(tsr_pipeline_extent(p, 0, &m));
  OK(tsr_pipeline_add_extents(p, n, m, &n));
  OK(tsr_pipeline_input(p, "a", f32, 1, &n, NULL, 0, &image));
  const tsr_border wrap = {TSR_WRAP, 0};
  OK(tsr_pipeline_borders(p, image, &wrap, 1, &wrapped));
  OK(tsr_pipeline_table(p, "k", &k, &table));
  OK(tsr_pipeline_variables(p, &lo, &hi, 1, &i));
  const tsr_offset of_table = {1, 1, &i, &one}, of_image = {0, 1, &i, &one};
  OK(tsr_pipeline_offset(p, &of_table, &index));
  OK(tsr_pipeline_lookup(p, table, &index, 1, &weight));
  OK(tsr_pipeline_read(p, wrapped, &of_image, 1, &read));
  const tsr_value factors[2] = {weight, read};
  OK(tsr_pipeline_apply(p, "mul", factors, 2, &product));
  OK(tsr_pipeline_reduce(p, "sum", &i, 1, product, &sum));
  OK(tsr_pipeline_stage(p, "first", sum, &planes[0]));
  const tsr_value doubled[2] = {sum, sum};
  OK(tsr_pipeline_apply(p, "add", doubled, 2, &twice));
  OK(tsr_pipeline_stage(p, "second", twice, &planes[1]));
  const char* fields[2] = {"x", "y"};
  const tsr_output output = {"both", planes, 2, fields};
  tsr_program* program = NULL;
  OK(tsr_pipeline_compile(p, &output, 1, NULL, &program));
  tsr_pipeline_free(p); /* programs stay */
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(out, f32, 2, pair, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  OK(tsr_run_into(program, from, 1, to, 1, NULL));
  CHECK(out[0] == 5 + 2 + 8 && out[1] == 2 * out[0] && out[8] == 4 + 10 + 4);
  tsr_program_free(program);
}

/* Halves until all is below 1: a loop with a test; then a spectrum's first element, and pieces. */
static void loops(void) {
  float in[4] = {1, 2, 40, 3}, out[8];
  int64_t shape[1] = {4}, longer[1] = {8};
  tsr_pipeline* p = NULL;
  tsr_image image, before, next, after, largest, spectrum[2], pieces;
  tsr_value v, half, test, one, most;
  OK(tsr_pipeline_new(&p));
  OK(tsr_pipeline_input(p, "a", f32, 1, NULL, NULL, 0, &image));
  OK(tsr_pipeline_begin_loop(p, "halve", 20, &image, 1, &before));
  const tsr_offset here = {0, 0, NULL, NULL};
  OK(tsr_pipeline_read(p, before, &here, 1, &v));
  OK(tsr_pipeline_constant(p, f32, 0.5, &half));
  const tsr_value product[2] = {v, half};
  OK(tsr_pipeline_apply(p, "mul", product, 2, &v));
  OK(tsr_pipeline_stage(p, "halved", v, &next));
  OK(tsr_pipeline_total(p, "largest", "max_of", next, &largest));
  OK(tsr_pipeline_only(p, largest, &most));
  OK(tsr_pipeline_constant(p, f32, 1, &one));
  const tsr_value test_of[2] = {one, most};
  OK(tsr_pipeline_apply(p, "le", test_of, 2, &test));
  OK(tsr_pipeline_end_loop(p, &next, 1, test, &after));
  FAILS(tsr_pipeline_end_loop(p, &next, 1, test, &after), TSR_ARGUMENT_ERROR, "no loop was begun");
  OK(tsr_pipeline_fourier(p, "spectrum", 0, &after, 1, NULL, 0, spectrum));
  const tsr_image both[2] = {after, spectrum[0]};
  const int64_t starts[2] = {0, 1}, strides[2] = {2, 2};
  OK(tsr_pipeline_compose(p, "pieces", both, 2, 1, starts, strides, &pieces));
  const tsr_output output = {NULL, &pieces, 1, NULL};
  tsr_program* program = NULL;
  OK(tsr_pipeline_compile(p, &output, 1, NULL, &program));
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(out, f32, 1, longer, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  OK(tsr_run_into(program, from, 1, to, 1, NULL));
  CHECK(out[4] == 40.f / 64 && out[0] == 1.f / 64 && fabsf(out[1] - 46.f / 64) < 1e-6f);
  tsr_program_free(program);
  tsr_pipeline_free(p);
}

static void rest(void) {
  tsr_pipeline *p = NULL, *q = NULL;
  tsr_image image, other;
  tsr_value v, w, c;
  OK(tsr_pipeline_new(&p));
  OK(tsr_pipeline_new(&q));
  OK(tsr_pipeline_input(p, "a", u8, 2, NULL, NULL, 0, &image));
  FAILS(tsr_pipeline_input(p, "a", u8, 2, NULL, NULL, 0, &other), TSR_ARGUMENT_ERROR, "two inputs are called 'a'");
  FAILS(tsr_pipeline_input(p, "b", u8, 9, NULL, NULL, 0, &other), TSR_ARGUMENT_ERROR, "rank 9");
  OK(tsr_pipeline_scalar(p, "s", f32, &v));
  OK(tsr_pipeline_coord(p, 1, &w));
  OK(tsr_pipeline_extent_value(p, 0, &w));
  OK(tsr_pipeline_convert(p, u8, v, &c));
  OK(tsr_pipeline_saturate(p, u8, v, &c));
  FAILS(tsr_pipeline_saturate(p, f32, v, &c), TSR_ARGUMENT_ERROR, "expected an integer type");
  OK(tsr_pipeline_select(p, w, v, c, &c));
  const tsr_value at[2] = {w, w};
  OK(tsr_pipeline_gather(p, image, at, 2, &c));
  const int64_t strides[2] = {2, 2};
  OK(tsr_pipeline_every(p, image, strides, 2, &other));
  FAILS(tsr_pipeline_apply(p, "conjure", at, 2, &c), TSR_ARGUMENT_ERROR, "there is no operation 'conjure'");
  FAILS(tsr_pipeline_apply(p, "add", at, 1, &c), TSR_ARGUMENT_ERROR, "is given 1 values, expected 2");
  FAILS(tsr_pipeline_gather(p, 77, at, 2, &c), TSR_ARGUMENT_ERROR, "there is no image 77");
  const tsr_value foreign[2] = {5000, 5001};
  FAILS(tsr_pipeline_apply(q, "add", foreign, 2, &c), TSR_ARGUMENT_ERROR, "there is no value 5000");
  FAILS(tsr_pipeline_only(p, image, &c), TSR_ARGUMENT_ERROR, "more than one element");
  tsr_pipeline_free(p);
  tsr_pipeline_free(q);
}

/* Nothing of it crashes. */
static void nulls(void) {
  const DLTensor* none[1] = {NULL};
  tsr_program* p = compiled("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X + 1; } return f(a);", NULL);
  tsr_options* o = NULL;
  tsr_pipeline* q = NULL;
  tsr_filter* f = NULL;
  tsr_stream* s = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_pipeline_new(&q));
  OK(tsr_filter_new("box", f32, 2, NULL, &f));
#define REFUSES(call) CHECK((call) == TSR_ARGUMENT_ERROR)
  tsr_string_free(NULL);
  tsr_options_free(NULL);
  tsr_cancel_free(NULL);
  tsr_cancel_now(NULL);
  tsr_cancel_reset(NULL);
  tsr_stream_free(NULL);
  tsr_program_free(NULL);
  tsr_filter_free(NULL);
  tsr_pipeline_free(NULL);
  CHECK(tsr_program_json(NULL) == NULL && tsr_program_input_count(NULL) == 0 && tsr_program_output_count(NULL) == 0);
  REFUSES(tsr_options_new(NULL));
  REFUSES(tsr_options_set(NULL, "a", "b"));
  REFUSES(tsr_options_set(o, NULL, "b"));
  REFUSES(tsr_options_set_numbers(NULL, "a", NULL, 0));
  REFUSES(tsr_options_set_numbers(o, "a", NULL, 2));
  REFUSES(tsr_options_set_tensor(o, "a", NULL));
  REFUSES(tsr_options_set_tensor(o, NULL, NULL));
  REFUSES(tsr_options_set_progress(NULL, NULL, NULL));
  REFUSES(tsr_cancel_new(NULL));
  REFUSES(tsr_options_set_cancel(NULL, NULL));
  REFUSES(tsr_options_set_stream(NULL, NULL));
  REFUSES(tsr_stream_new(NULL, 0, &s));
  REFUSES(tsr_stream_new("cuda", 0, NULL));
  REFUSES(tsr_stream_new("tpu", 0, &s));
  REFUSES(tsr_stream_borrow(0, NULL, NULL));
  REFUSES(tsr_stream_wait(NULL));
  REFUSES(tsr_compile_text(NULL, NULL, NULL, &p));
  REFUSES(tsr_compile_text("parameter N; vector#1 float a[N]; return a;", NULL, NULL, NULL));
  REFUSES(tsr_compile_file(NULL, NULL, &p));
  REFUSES(tsr_output_shapes(NULL, none, 1, NULL, NULL, 1));
  REFUSES(tsr_output_shapes(p, none, 1, NULL, NULL, 1));
  REFUSES(tsr_run(NULL, none, 1, NULL, 1, NULL));
  REFUSES(tsr_run(p, none, 1, NULL, 1, NULL));
  REFUSES(tsr_run_into(NULL, none, 1, none, 1, NULL));
  REFUSES(tsr_run_into(p, NULL, 1, NULL, 1, NULL));
  REFUSES(tsr_run_into(p, none, 1, none, 1, NULL));
  REFUSES(tsr_interpret(p, none, 1, NULL, 1));
  REFUSES(tsr_explain(p, none, 1, "text", NULL, NULL));
  REFUSES(tsr_explain(p, none, 1, NULL, NULL, NULL));
  REFUSES(tsr_emit(NULL, NULL, NULL, NULL, NULL));
  OK(tsr_emit(p, NULL, NULL, NULL, NULL));
  REFUSES(tsr_program_graph(NULL, NULL));
  REFUSES(tsr_program_graph(p, NULL));
  REFUSES(tsr_program_adjoint(NULL, NULL));
  REFUSES(tsr_program_adjoint(p, NULL));
  REFUSES(tsr_filter_new(NULL, f32, 2, NULL, &f));
  REFUSES(tsr_filter_new("box", f32, 2, NULL, NULL));
  REFUSES(tsr_filter_result(NULL, NULL, 0, NULL, NULL, NULL));
  REFUSES(tsr_filter_result(f, NULL, 2, NULL, NULL, NULL));
  REFUSES(tsr_filter_run(NULL, NULL, NULL, NULL, NULL));
  REFUSES(tsr_filter_run(f, NULL, NULL, NULL, NULL));
  REFUSES(tsr_filter_explain(f, NULL, "text", NULL, NULL));
  tsr_value v = 0;
  tsr_image i = 0;
  tsr_extent e = 0;
  REFUSES(tsr_pipeline_new(NULL));
  REFUSES(tsr_pipeline_size(NULL, "N", &e));
  REFUSES(tsr_pipeline_size(q, NULL, &e));
  REFUSES(tsr_pipeline_size(q, "N", NULL));
  REFUSES(tsr_pipeline_extent(NULL, 1, &e));
  REFUSES(tsr_pipeline_add_extents(q, 9, 9, &e));
  REFUSES(tsr_pipeline_subtract_extents(NULL, 0, 0, &e));
  REFUSES(tsr_pipeline_multiply_extents(NULL, 0, 0, &e));
  REFUSES(tsr_pipeline_divide_extent(NULL, 0, 2, &e));
  REFUSES(tsr_pipeline_input(q, NULL, f32, 2, NULL, NULL, 0, &i));
  REFUSES(tsr_pipeline_input(q, "a", f32, 2, NULL, NULL, 3, &i));
  REFUSES(tsr_pipeline_input(q, "a", f32, 2, NULL, NULL, 0, NULL));
  REFUSES(tsr_pipeline_scalar(q, NULL, f32, &v));
  REFUSES(tsr_pipeline_scalar(NULL, "s", f32, &v));
  REFUSES(tsr_pipeline_table(q, "t", NULL, &e));
  REFUSES(tsr_pipeline_constant(NULL, f32, 1, &v));
  REFUSES(tsr_pipeline_constant(q, f32, 1, NULL));
  REFUSES(tsr_pipeline_coord(NULL, 0, &v));
  REFUSES(tsr_pipeline_coord(q, 7, &v));
  REFUSES(tsr_pipeline_extent_value(NULL, 0, &v));
  REFUSES(tsr_pipeline_apply(q, NULL, NULL, 0, &v));
  REFUSES(tsr_pipeline_apply(q, "add", NULL, 2, &v));
  REFUSES(tsr_pipeline_convert(q, f32, 99, &v));
  REFUSES(tsr_pipeline_saturate(NULL, u8, 0, &v));
  REFUSES(tsr_pipeline_select(q, 9, 9, 9, &v));
  REFUSES(tsr_pipeline_read(q, 9, NULL, 0, &v));
  REFUSES(tsr_pipeline_read(q, 0, NULL, 2, &v));
  REFUSES(tsr_pipeline_gather(q, 9, NULL, 1, &v));
  REFUSES(tsr_pipeline_lookup(q, 9, NULL, 0, &v));
  REFUSES(tsr_pipeline_only(q, 9, &v));
  REFUSES(tsr_pipeline_variables(q, NULL, NULL, 1, &e));
  REFUSES(tsr_pipeline_offset(q, NULL, &v));
  REFUSES(tsr_pipeline_reduce(q, NULL, NULL, 0, 0, &v));
  REFUSES(tsr_pipeline_reduce(q, "sum", NULL, 1, 0, &v));
  REFUSES(tsr_pipeline_borders(q, 0, NULL, 2, &i));
  REFUSES(tsr_pipeline_every(q, 0, NULL, 2, &i));
  REFUSES(tsr_pipeline_stage(q, NULL, 0, &i));
  REFUSES(tsr_pipeline_stage(q, "s", 99, &i));
  REFUSES(tsr_pipeline_total(q, "s", NULL, 0, &i));
  REFUSES(tsr_pipeline_total(q, "s", "sum_of", 99, &i));
  REFUSES(tsr_pipeline_fourier(q, "s", 0, NULL, 1, NULL, 0, &i));
  REFUSES(tsr_pipeline_compose(q, "s", NULL, 1, 2, NULL, NULL, &i));
  REFUSES(tsr_pipeline_compose(q, "s", NULL, 0, 2, NULL, NULL, &i));
  REFUSES(tsr_pipeline_begin_loop(q, "l", 3, NULL, 1, &i));
  REFUSES(tsr_pipeline_begin_loop(q, NULL, 3, NULL, 0, &i));
  REFUSES(tsr_pipeline_end_loop(q, NULL, 0, 0, &i));
  REFUSES(tsr_pipeline_value_type(q, 99, NULL));
  REFUSES(tsr_pipeline_image_type(q, 99, NULL, NULL));
  REFUSES(tsr_pipeline_compile(q, NULL, 1, NULL, &p));
  REFUSES(tsr_pipeline_compile(q, NULL, 0, NULL, &p));
  REFUSES(tsr_pipeline_compile(NULL, NULL, 0, NULL, &p));
  tsr_filter_free(f);
  tsr_pipeline_free(q);
  tsr_options_free(o);
  tsr_program_free(p);
}

/* One program, several threads; each has a last error of its own. */
static tsr_program* shared_program;

static void* many_runs(void* argument) {
  const int number = *(const int*)argument;
  float in[64], out[64];
  int64_t shape[1] = {64};
  DLTensor a = tensor(in, f32, 1, shape, NULL), b = tensor(out, f32, 1, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  for (int k = 0; k < 64; ++k) in[k] = (float)(k + number);
  for (int n = 0; n < 200; ++n) {
    out[63] = 0;
    if (tsr_run_into(shared_program, from, 1, to, 1, NULL) != TSR_OK || out[63] != (float)(64 + number)) return argument;
    char wrong[40];
    tsr_options* o = NULL;
    snprintf(wrong, sizeof wrong, "number%d", number);
    if (tsr_options_new(&o) != TSR_OK || tsr_options_set(o, wrong, "1") != TSR_OK) return argument;
    if (tsr_run_into(shared_program, from, 1, to, 1, o) != TSR_ARGUMENT_ERROR || strstr(tsr_last_error(), wrong) == NULL)
      return argument;
    tsr_options_free(o);
  }
  return NULL;
}

static void threads(void) {
  pthread_t all[4];
  int numbers[4] = {1, 2, 3, 4};
  shared_program = compiled("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X + 1; } return f(a);", NULL);
  for (int k = 0; k < 4; ++k) CHECK(pthread_create(&all[k], NULL, many_runs, &numbers[k]) == 0);
  for (int k = 0; k < 4; ++k) {
    void* failed = NULL;
    CHECK(pthread_join(all[k], &failed) == 0 && failed == NULL);
  }
  tsr_program_free(shared_program);
}

int main(void) {
  blurs();
  windows();
  loops();
  rest();
  nulls();
  threads();
  return failures == 0 ? 0 : 1;
}
