/* Programs that reduce whole images through the C interface: their passes, totals by parts, what is refused. */
#include "check.h"

static const char* const program_text =
    "stencil f(vector#2 float X, float m) { return X@[0,1] / m; } parameter M, N; vector#2 float a[M,N]; "
    "m = max(a); return f(a:mirror, m);";

enum { most_of_part = 3 + 2 * 4096 + 100 };

static void tells_the_passes(void) {
  tsr_program* p = compiled(program_text, NULL);
  char* json = NULL;
  OK(tsr_passes(p, &json));
  CHECK(json != NULL && strstr(json, "\"why\":\"\"") != NULL && strstr(json, "\"operation\":\"max\"") != NULL);
  CHECK(json != NULL && strstr(json, "\"body\":[0]") != NULL && strstr(json, "\"last\":[1]") != NULL);
  tsr_string_free(json);
  tsr_program_free(p);
  p = compiled(
      "stencil f(vector#2 float X) { return X@[0,1]; } parameter M, N; vector#2 float a[M,N]; return f(a:wrap);", NULL);
  OK(tsr_passes(p, &json));
  CHECK(json != NULL && strstr(json, "\"body\":[]") != NULL && strstr(json, "\"last\":[0]") != NULL);
  tsr_string_free(json);
  tsr_program_free(p);
}

/* Any cuts give the number of a run. */
static void adds_parts_up(void) {
  enum { count = 20000 };
  static double numbers[count];
  for (int k = 0; k < count; ++k) numbers[k] = sin(k) * exp(k % 13);
  const char* const operations[] = {"sum", "mean", "min", "max"};
  const int64_t edges[] = {0, 1, 4095, 4097, 12288, 19999, count};
  int64_t all = count;
  DLTensor whole = tensor(numbers, f64, 1, &all, NULL);
  for (size_t o = 0; o < 4; ++o) {
    static double parts[6][most_of_part], one[most_of_part];
    const double* list[6];
    size_t counts[6], n = 0;
    for (size_t k = 0; k < 6; ++k) {
      int64_t length = edges[k + 1] - edges[k];
      DLTensor part = tensor(numbers + edges[k], f64, 1, &length, NULL);
      OK(tsr_total_part(operations[o], &part, edges[k], parts[k], most_of_part, &counts[k]));
      list[k] = parts[k];
    }
    double found = 0, wanted = 0;
    OK(tsr_total(operations[o], f64, f64, list, counts, 6, &found));
    OK(tsr_total_part(operations[o], &whole, 0, one, most_of_part, &n));
    const double* only[] = {one};
    OK(tsr_total(operations[o], f64, f64, only, &n, 1, &wanted));
    CHECK(memcmp(&found, &wanted, sizeof found) == 0);
    /* It is what a program computes. */
    char text[120];
    snprintf(text, sizeof text, "parameter N; vector#1 double a[N]; return m = %s(a);", operations[o]);
    tsr_program* p = compiled(text, NULL);
    double run = 0;
    int64_t single = 1;
    DLTensor to = tensor(&run, f64, 1, &single, NULL);
    const DLTensor *inputs[] = {&whole}, *outputs[] = {&to};
    OK(tsr_run_into(p, inputs, 1, outputs, 1, NULL));
    CHECK(memcmp(&run, &wanted, sizeof run) == 0);
    tsr_program_free(p);
  }
}

/* The number has the type that is asked for. */
static void converts(void) {
  uint8_t bytes[3] = {7, 200, 255};
  int64_t shape = 3;
  DLTensor t = tensor(bytes, u8, 1, &shape, NULL);
  double part[most_of_part], value = 0;
  size_t n = 0;
  OK(tsr_total_part("mean", &t, 0, part, most_of_part, &n));
  const double* parts[] = {part};
  OK(tsr_total("mean", u8, f32, parts, &n, 1, &value));
  CHECK(value == (double)(float)154);
  OK(tsr_total("mean", u8, i32, parts, &n, 1, &value));
  CHECK(value == 154);
}

static void refuses(void) {
  float numbers[4] = {1, 2, 3, 4};
  int64_t shape = 4;
  DLTensor t = tensor(numbers, f32, 1, &shape, NULL);
  double part[most_of_part], value = 5;
  size_t n = 0;
  const double* parts[] = {part};
  FAILS(tsr_total_part("median", &t, 0, part, most_of_part, &n), TSR_ARGUMENT_ERROR, "'median' reduces no image");
  FAILS(tsr_total_part("sum", &t, -1, part, most_of_part, &n), TSR_ARGUMENT_ERROR, "the first element is -1");
  FAILS(tsr_total_part("sum", &t, 0, part, 2, &n), TSR_ARGUMENT_ERROR, "there is room for 2");
  const double bad[][3] = {{-1, 0, 0}, {9, 0, 0}, {0.5, 0, 0}, {NAN, 0, 0}, {1e300, 0, 0}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
    memcpy(part, bad[k], sizeof *bad);
    n = 3;
    FAILS(tsr_total("sum", f32, f64, parts, &n, 1, &value), TSR_ARGUMENT_ERROR, "part 1 is none");
  }
  part[0] = part[1] = part[2] = 0;
  n = 4;
  FAILS(tsr_total("sum", f32, f64, parts, &n, 1, &value), TSR_ARGUMENT_ERROR, "part 1 has 4 numbers, expected 3");
  CHECK(value == 5);
}

int main(void) {
  tells_the_passes();
  adds_parts_up();
  converts();
  refuses();
  return failures == 0 ? 0 : 1;
}
