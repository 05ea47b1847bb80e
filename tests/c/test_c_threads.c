/* Cancelling and progress, from callbacks and from other threads; what a thread knows of its own errors. */
#if !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include <pthread.h>
#include <time.h>

#include "check.h"
#include "json.h"

enum { n = 3000 };
static float *in, *out;
static int64_t shape[2] = {n, n};
static tsr_program* program;
static DLTensor a, b;
static const DLTensor *const from[] = {&a}, *const to[] = {&b};

static void sleep_for(long milliseconds) {
  const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  nanosleep(&time, NULL);
}

struct calls {
  int count, most;
  int64_t last, total;
};

static int count_calls(int64_t done, int64_t total, void* user) {
  struct calls* const c = user;
  if (done < c->last || done > total) c->count += 1000000; /* they go up */
  c->last = done, c->total = total;
  return ++c->count >= c->most;
}

/* A callback ends its own run, not those of others that share the flag, and not the next one. */
static void callbacks(void) {
  tsr_options *o = NULL, *other = NULL;
  tsr_cancel* cancel = NULL;
  struct calls few = {0, 3, 0, 0}, all = {0, 1 << 20, 0, 0};
  OK(tsr_options_new(&o));
  OK(tsr_options_new(&other));
  OK(tsr_cancel_new(&cancel));
  OK(tsr_options_set_cancel(o, cancel));
  OK(tsr_options_set_cancel(other, cancel));
  for (int with_flag = 0; with_flag < 2; ++with_flag) {
    few.count = 0, few.last = 0, all.count = 0, all.last = 0;
    OK(tsr_options_set_cancel(o, with_flag ? cancel : NULL));
    OK(tsr_options_set_progress(o, count_calls, &few));
    FAILS(tsr_run_into(program, from, 1, to, 1, o), TSR_CANCELLED, "cancelled");
    CHECK(few.count == 3); /* it is not called again */
    OK(tsr_run_into(program, from, 1, to, 1, other));
    OK(tsr_options_set_progress(o, count_calls, &all));
    OK(tsr_run_into(program, from, 1, to, 1, o));
    CHECK(all.count > 0 && all.count < 1000000 && all.last == all.total);
  }
  /* On one thread, too. */
  OK(tsr_options_set(o, "threads", "1"));
  few.count = 0, few.last = 0, few.most = 1;
  OK(tsr_options_set_progress(o, count_calls, &few));
  FAILS(tsr_run_into(program, from, 1, to, 1, o), TSR_CANCELLED, "cancelled");
  CHECK(few.count == 1);
  tsr_options_free(o);
  tsr_options_free(other);
  tsr_cancel_free(cancel);
}

static void* cancel_soon(void* cancel) {
  sleep_for(30);
  tsr_cancel_now(cancel);
  return NULL;
}

/* Another thread ends runs one after the other, and a compilation. */
static void other_threads(void) {
  tsr_options* o = NULL;
  tsr_cancel* cancel = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_cancel_new(&cancel));
  OK(tsr_options_set_cancel(o, cancel));
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, cancel_soon, cancel) == 0);
  tsr_status status = TSR_OK;
  for (int k = 0; k < 10000 && status == TSR_OK; ++k) status = tsr_run_into(program, from, 1, to, 1, o);
  CHECK(status == TSR_CANCELLED && strcmp(json_text(tsr_last_error_json(), "class"), "cancelled") == 0);
  pthread_join(thread, NULL);
  tsr_program* none = NULL;
  char* source = NULL;
  FAILS(tsr_compile_text("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X; } return f(a);",
                         NULL, o, &none),
        TSR_CANCELLED, "");
  FAILS(tsr_emit(program, o, &source, NULL, NULL), TSR_CANCELLED, "");
  CHECK(none == NULL && source == NULL);
  tsr_cancel_reset(cancel);
  OK(tsr_run_into(program, from, 1, to, 1, o));
  tsr_options_free(o);
  tsr_cancel_free(cancel);
}

static void* has_its_own_errors(void* argument) {
  (void)argument;
  if (tsr_last_error()[0] != '\0' || tsr_last_error_json()[0] != '\0') return "";
  tsr_program* p = NULL;
  if (tsr_compile_file("nowhere.forma", NULL, &p) != TSR_IO_ERROR || strstr(tsr_last_error(), "nowhere.forma") == NULL)
    return "";
  return NULL;
}

static void errors_of_threads(void) {
  tsr_program* p = NULL;
  FAILS(tsr_compile_text("return x;", "mine.forma", NULL, &p), TSR_COMPILE_ERROR, "mine.forma:1:");
  pthread_t threads[4];
  for (int k = 0; k < 4; ++k) CHECK(pthread_create(&threads[k], NULL, has_its_own_errors, NULL) == 0);
  for (int k = 0; k < 4; ++k) {
    void* wrong = NULL;
    CHECK(pthread_join(threads[k], &wrong) == 0 && wrong == NULL);
  }
  CHECK(strstr(tsr_last_error(), "mine.forma") != NULL);
  /* The JSON of it: parsed, with a line and a column. A text of strange letters is no exception. */
  const char* texts[] = {"return x;",
                         "stencil f(vector#2 float X) { return \"\\\"; }",
                         "\xff\xfe\x80 return 1;",
                         "",
                         "\t\x01\n",
                         "/* \xc3\xa9 */ return \xc3\xa9;"};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
    CHECK(tsr_compile_text(texts[k], "a \"name\"\n\xff", NULL, &p) == TSR_COMPILE_ERROR);
    const char* const json = tsr_last_error_json();
    CHECK(json_valid(json));
    CHECK(strcmp(json_text(json, "class"), "compile") == 0 && json_text(json, "message")[0] != '\0');
    CHECK(strcmp(json_text(json, "diagnostics.0.severity"), "error") == 0 &&
          atoi(json_text(json, "diagnostics.0.line")) >= 0);
    CHECK(json_find(json, "diagnostics.0.notes") != NULL && json_find(json, "diagnostics.0.help") != NULL);
  }
  CHECK(p == NULL);
  OK(tsr_compile_text("parameter N; vector#1 float a[N]; stencil f(vector#1 float X) { return X; } return f(a);", NULL,
                      NULL, &p));
  CHECK(tsr_last_error()[0] != '\0'); /* a call that succeeds leaves it */
  tsr_clear_error();
  CHECK(tsr_last_error()[0] == '\0' && tsr_last_error_json()[0] == '\0');
  tsr_program_free(p);
}

int main(void) {
  in = calloc((size_t)n * n, sizeof *in), out = malloc((size_t)n * n * sizeof *out);
  if (in == NULL || out == NULL) return 1;
  a = tensor(in, f32, 2, shape, NULL), b = tensor(out, f32, 2, shape, NULL);
  program = compiled(
      "stencil f(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; } parameter M, N; vector#2 float a[M,N]; "
      "return f(a:clamped);",
      NULL);
  callbacks();
  other_threads();
  errors_of_threads();
  tsr_program_free(program);
  free(in);
  free(out);
  return failures == 0 ? 0 : 1;
}
