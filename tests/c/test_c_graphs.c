/* Programs that are made again of the text of their graph: the same program, and what is no such text. */
#include "check.h"
#include "json.h"

enum { rows = 9, columns = 11 };

static const char* const text_of_program =
    "struct pair { float low; float high; } table float w[3] = {1, -2, 0.5}; "
    "stencil f(vector#2 float X) { return sum(i=-1..1) (w[i + 1] * X@[0,i]); } "
    "stencil g(vector#2 float X, float gain) { return struct pair(gain * X@[-1,0], X@[1,2]); } "
    "parameter M, N; vector#2 float a[M,N]; float gain; return soft = f(a:mirror), two = g(f(a:wrap), gain);";

static char* graph_of(const tsr_program* p) {
  char* text = NULL;
  OK(tsr_program_graph(p, &text));
  if (text == NULL) exit(1);
  return text;
}

static void makes_the_same_program(void) {
  float image[rows][columns], gain = 3, soft[2][rows][columns], two[2][rows][columns][2];
  int64_t shape[3] = {rows, columns, 2};
  for (int k = 0; k < rows * columns; ++k) (&image[0][0])[k] = (float)(k * 31 % 17);
  DLTensor a = tensor(image, f32, 2, shape, NULL), number = tensor(&gain, f32, 0, NULL, NULL);
  const DLTensor* from[] = {&a, &number};
  tsr_program *p = compiled(text_of_program, NULL), *again = NULL;
  char* graph = graph_of(p);
  OK(tsr_compile_graph(graph, NULL, &again));
  if (again == NULL) exit(1);
  CHECK(strcmp(tsr_program_json(p), tsr_program_json(again)) == 0);
  char* same = graph_of(again);
  CHECK(strcmp(graph, same) == 0);
  const tsr_program* const both[] = {p, again};
  for (int k = 0; k < 2; ++k) {
    DLTensor first = tensor(soft[k], f32, 2, shape, NULL), second = tensor(two[k], f32, 3, shape, NULL);
    const DLTensor* to[] = {&first, &second};
    OK(tsr_run_into(both[k], from, 2, to, 2, NULL));
  }
  CHECK(memcmp(soft[0], soft[1], sizeof soft[0]) == 0 && memcmp(two[0], two[1], sizeof two[0]) == 0);
  tsr_string_free(same);
  tsr_string_free(graph);
  tsr_program_free(again);
  tsr_program_free(p);
}

/* Every text that is cut off, and words that another version might have. */
static void refuses_what_is_no_graph(void) {
  tsr_program *p = compiled(text_of_program, NULL), *made = NULL;
  char *graph = graph_of(p), *broken = malloc(strlen(graph) + 20);
  if (broken == NULL) exit(1);
  const size_t length = strlen(graph);
  size_t refused = 0;
  for (size_t n = 0; n < length; n += 7) {
    memcpy(broken, graph, n);
    broken[n] = '\0';
    const tsr_status status = tsr_compile_graph(broken, NULL, &made);
    if (status == TSR_OK) /* the last output may be missing */
      tsr_program_free(made);
    else
      CHECK(status == TSR_COMPILE_ERROR && tsr_last_error()[0] != '\0' && json_valid(tsr_last_error_json()));
    refused += status != TSR_OK;
    made = NULL;
  }
  CHECK(refused > length / 7 * 3 / 4);
  static const char* const others[] = {"add ", "s0 = input", "a0 = array", "output", "convert:", "[M, N]"};
  for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
    const char* const at = strstr(graph, others[k]);
    if (at == NULL) continue;
    memcpy(broken, graph, (size_t)(at - graph));
    sprintf(broken + (at - graph), "novel ");
    strcat(broken, at + strlen(others[k]));
    FAILS(tsr_compile_graph(broken, NULL, &made), TSR_COMPILE_ERROR, "stage graph");
    CHECK(made == NULL);
  }
  FAILS(tsr_compile_graph("", NULL, &made), TSR_COMPILE_ERROR, "no output");
  FAILS(tsr_compile_graph(text_of_program, NULL, &made), TSR_COMPILE_ERROR, "stage graph");
  /* What reads well and is none: an output without its stages, a place that is not there. */
  const char* const last = strstr(graph, "output \"soft\" float : s");
  CHECK(last != NULL);
  if (last != NULL) {
    memcpy(broken, graph, (size_t)(last - graph));
    strcpy(broken + (last - graph), "output \"soft\" float : \n");
    FAILS(tsr_compile_graph(broken, NULL, &made), TSR_COMPILE_ERROR, "output 'soft': 0 stages for 1 fields");
  }
  free(broken);
  FAILS(tsr_compile_graph(NULL, NULL, &made), TSR_ARGUMENT_ERROR, "null pointer");
  FAILS(tsr_compile_graph(graph, NULL, NULL), TSR_ARGUMENT_ERROR, "null pointer");
  CHECK(made == NULL);
  tsr_string_free(graph);
  tsr_program_free(p);
}

static void takes_options_that_it_knows(void) {
  tsr_program *p = compiled(text_of_program, NULL), *made = NULL;
  char* graph = graph_of(p);
  tsr_options* o = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "compile_limit", "30"));
  OK(tsr_compile_graph(graph, o, &made));
  tsr_program_free(made);
  made = NULL;
  static const char* const unknown[] = {"numbers", "parameter.M", "table.w", "colour"};
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; ++k) {
    OK(tsr_options_set(o, unknown[k], "1"));
    char expected[80];
    snprintf(expected, sizeof expected, "compilation of a graph has no option '%s'", unknown[k]);
    FAILS(tsr_compile_graph(graph, o, &made), TSR_ARGUMENT_ERROR, expected);
    CHECK(made == NULL && strstr(tsr_last_error(), "compile_limit") != NULL);
    OK(tsr_options_set(o, unknown[k], NULL));
  }
  OK(tsr_options_set(o, "compile_limit", "soon"));
  FAILS(tsr_compile_graph(graph, o, &made), TSR_ARGUMENT_ERROR, "option compile_limit is 'soon'");
  OK(tsr_options_set(o, "compile_limit", NULL));
  tsr_cancel* cancel = NULL;
  OK(tsr_cancel_new(&cancel));
  OK(tsr_options_set_cancel(o, cancel));
  tsr_cancel_now(cancel);
  FAILS(tsr_compile_graph(graph, o, &made), TSR_CANCELLED, "");
  CHECK(made == NULL);
  tsr_options_free(o);
  tsr_cancel_free(cancel);
  tsr_string_free(graph);
  tsr_program_free(p);
}

int main(void) {
  makes_the_same_program();
  refuses_what_is_no_graph();
  takes_options_that_it_knows();
  return failures == 0 ? 0 : 1;
}
