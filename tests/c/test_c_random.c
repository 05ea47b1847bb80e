/* Pipelines by chance: calls with numbers, names, shapes and handles that fit and that do not. Each gives a status;
 * what compiles has the interpreter's bits. test_c_random [SEED [CALLS]] */
#include "check.h"

static uint64_t state = 1;

static uint32_t chance(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return below == 0 ? 0 : (uint32_t)(state >> 33) % below;
}

static int64_t number(void) {
  static const int64_t wild[] = {0,  1,     -1, 2, 3, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, INT64_C(1) << 40,
                                 -7, 100000};
  return chance(8) > 0 ? (int64_t)chance(5) - 1 : wild[chance(sizeof wild / sizeof *wild)];
}

static DLDataType type(void) {
  static const DLDataType all[] = {{kDLFloat, 32, 1}, {kDLFloat, 32, 1}, {kDLFloat, 32, 1}, {kDLUInt, 8, 1},
                                   {kDLInt, 32, 1},   {kDLFloat, 64, 1}, {kDLBool, 8, 1},   {kDLFloat, 16, 1},
                                   {kDLInt, 16, 1},   {kDLUInt, 32, 1},  {kDLInt, 64, 1},   {200, 3, 9}};
  return all[chance(chance(10) == 0 ? 12 : 10)];
}

static const char* name(void) {
  static char made[20];
  static int next;
  static const char* const bad[] = {"", "1x", "a b", "float", "x;y", "\xff", NULL, "a"};
  if (chance(40) == 0) return bad[chance(8)];
  snprintf(made, sizeof made, "n%d", next++);
  return made;
}

static tsr_pipeline* p;
static uint32_t values, images, extents, tables, variables;

static uint32_t one_of(uint32_t count) {
  return chance(60) == 0  ? chance(2) ? UINT32_MAX : count
         : chance(8) == 0 ? chance(count)
                          : count - 1 - chance(count < 4 ? count : 4);
}

static int compiled_count, answered;

static void compile_and_run(void) {
  const char* const fields[] = {"x", "y"};
  tsr_image some[2] = {one_of(images), one_of(images)};
  const size_t count = 1 + chance(2);
  const tsr_output output = {chance(2) ? "" : "out", some, count, count == 2 || chance(20) == 0 ? fields : NULL};
  tsr_program* program = NULL;
  tsr_options* exact = NULL;
  if (tsr_pipeline_compile(p, &output, 1, NULL, &program) != TSR_OK) return;
  char* graph = NULL;
  OK(tsr_program_graph(program, &graph));
  CHECK(graph != NULL && graph[0] != '\0');
  const int has_transforms = graph != NULL && strstr(graph, "fourier") != NULL; /* whose bits are their own */
  tsr_string_free(graph);
  ++compiled_count;
  /* Arrays of what the description asks for, all of one extent. */
  const size_t inputs = tsr_program_input_count(program);
  const char* description = tsr_program_json(program);
  static double data[8][8 * 8 * 2 * 8 * 2];
  static DLTensor tensors[8];
  static int64_t shapes[8][TSR_MOST_DIMENSIONS];
  const DLTensor* list[8];
  if (inputs > 8) {
    tsr_program_free(program);
    return;
  }
  for (size_t k = 0; k < inputs; ++k) {
    const char* const at = strstr(description, "\"array\":");
    const int is_array = at != NULL && at[8] == 't';
    const char *rank = strstr(at, "\"rank\":"), *word = strstr(at, "\"type\":\"");
    const char* const part = strstr(at, "\"fields\":[");
    if (rank == NULL || word == NULL || part == NULL) break;
    DLDataType t = {kDLFloat, 32, 1};
    if (strncmp(word + 8, "uint", 4) == 0)
      t.code = kDLUInt, t.bits = (uint8_t)atoi(word + 12);
    else if (strncmp(word + 8, "int", 3) == 0)
      t.code = kDLInt, t.bits = (uint8_t)(word[11] == '"' ? 32 : atoi(word + 11));
    else if (strncmp(word + 8, "double", 6) == 0)
      t.bits = 64;
    else if (strncmp(word + 8, "half", 4) == 0)
      t.bits = 16;
    else if (strncmp(word + 8, "bool", 4) == 0)
      t.code = kDLBool, t.bits = 8;
    int dimensions = is_array ? atoi(rank + 7) : 0;
    for (int d = 0; d < dimensions; ++d) shapes[k][d] = dimensions > 2 ? 4 : 8;
    if (is_array && part[10] == '"') shapes[k][dimensions++] = 2;
    memset(data[k], 0, sizeof data[k]);
    for (int b = 0; b < 512; ++b) ((unsigned char*)data[k])[b * (t.bits / 8)] = (unsigned char)(b % 2);
    tensors[k] = tensor(data[k], t, dimensions, shapes[k], NULL);
    list[k] = &tensors[k];
    description = part;
  }
  DLManagedTensorVersioned *made = NULL, *said = NULL;
  OK(tsr_options_new(&exact));
  OK(tsr_options_set(exact, "numbers", "exact"));
  const tsr_status ran = tsr_run(program, list, inputs, &made, 1, exact),
                   told = tsr_interpret(program, list, inputs, &said, 1);
  CHECK(ran == told && ran != TSR_INTERNAL_ERROR);
  if (made != NULL && said != NULL) {
    size_t size = made->dl_tensor.dtype.bits / 8;
    for (int d = 0; d < made->dl_tensor.ndim; ++d) size *= (size_t)made->dl_tensor.shape[d];
    CHECK(has_transforms || memcmp(made->dl_tensor.data, said->dl_tensor.data, size) == 0);
    ++answered;
  }
  free_tensor(made);
  free_tensor(said);
  tsr_options_free(exact);
  tsr_program_free(program);
}

static void count_up(tsr_status status, uint32_t* count, uint32_t made, uint32_t first) {
  if (status == TSR_OK) {
    CHECK(first == *count); /* numbers in order */
    *count += made;
  } else {
    if (status != TSR_ARGUMENT_ERROR && status != TSR_COMPILE_ERROR) {
      fprintf(stderr, "status %d: %s\n", (int)status, tsr_last_error());
      ++failures;
    }
    CHECK(tsr_last_error()[0] != '\0');
  }
}

/* The call comes before its result is looked at. */
#define TRY(call, count, made, first)             \
  do {                                            \
    const tsr_status status_of_call = (call);     \
    count_up(status_of_call, count, made, first); \
  } while (0)

static void call(void) {
  static const char* const operations[] = {
      "add", "sub", "mul", "add", "mul",   "div",   "rem",  "and",  "or",      "xor",  "shl",   "shr",   "lt",
      "le",  "eq",  "ne",  "neg", "not",   "min",   "max",  "abs",  "floor",   "ceil", "round", "trunc", "sqrt",
      "exp", "log", "sin", "pow", "atan2", "hypot", "fmod", "cbrt", "conjure", "",     "const", "read"};
  static const char* const reductions[] = {"sum", "prod", "rmin", "rmax", "median", "any", "all", "add"};
  static const char* const totals[] = {"min_of", "max_of", "sum_of", "mean_of", "sum"};
  uint32_t id[8] = {0}, v[4];
  int64_t n[16];
  for (int k = 0; k < 16; ++k) n[k] = number();
  for (int k = 0; k < 4; ++k) v[k] = one_of(values);
  tsr_border borders[3];
  for (int k = 0; k < 3; ++k)
    borders[k].mode = (tsr_border_mode)chance(chance(20) == 0 ? 9 : 6), borders[k].value = (double)n[k];
  tsr_offset offsets[3];
  const tsr_variable some[2] = {one_of(variables), one_of(variables)};
  const int64_t factors[2] = {1, chance(6) == 0 ? n[7] : 1};
  for (int k = 0; k < 3; ++k) {
    offsets[k].number = n[k], offsets[k].terms = variables > 0 ? chance(3) : 0;
    offsets[k].variables = some, offsets[k].factors = factors;
  }
  const size_t count = chance(12) == 0 ? chance(4) : 2;
  switch (chance(26)) {
    case 0:
      TRY(tsr_pipeline_size(p, name(), id), &extents, 1, id[0]);
      break;
    case 1:
      TRY(tsr_pipeline_extent(p, n[0], id), &extents, 1, id[0]);
      break;
    case 2: {
      tsr_status (*const all[])(tsr_pipeline*, tsr_extent, tsr_extent, tsr_extent*) = {
          tsr_pipeline_add_extents, tsr_pipeline_subtract_extents, tsr_pipeline_multiply_extents};
      TRY(all[chance(3)](p, one_of(extents), one_of(extents), id), &extents, 1, id[0]);
      break;
    }
    case 3:
      TRY(tsr_pipeline_divide_extent(p, one_of(extents), n[0], id), &extents, 1, id[0]);
      break;
    case 4: {
      const char* const fields[] = {"x", "y"};
      const size_t planes = chance(4) == 0 ? 2 : 0;
      TRY(tsr_pipeline_input(p, name(), type(), chance(10) == 0 ? (int)n[0] : 2, NULL, fields, planes, id), &images,
          planes == 2 ? 2 : 1, id[0]);
      break;
    }
    case 5:
      TRY(tsr_pipeline_scalar(p, name(), type(), id), &values, 1, id[0]);
      break;
    case 6: {
      float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
      int64_t shape[2] = {3, 3};
      DLTensor t = tensor(weights, chance(10) == 0 ? type() : f32, 1 + (int)chance(2), shape, NULL);
      if (t.dtype.bits <= 32) TRY(tsr_pipeline_table(p, name(), &t, id), &tables, 1, id[0]);
      break;
    }
    case 7:
      TRY(tsr_pipeline_constant(p, type(), chance(9) == 0 ? chance(2) ? NAN : 1e300 : (double)n[0], id), &values, 1,
          id[0]);
      break;
    case 8:
      TRY(tsr_pipeline_coord(p, chance(8) == 0 ? (int)n[0] : (int)chance(2), id), &values, 1, id[0]);
      break;
    case 9:
      TRY(tsr_pipeline_extent_value(p, (int)chance(3), id), &values, 1, id[0]);
      break;
    case 10:
    case 11: {
      const char* const word = operations[chance(sizeof operations / sizeof *operations)];
      TRY(tsr_pipeline_apply(p, word, v, chance(3) == 0 ? 1 : count, id), &values, 1, id[0]);
      break;
    }
    case 12:
      TRY(tsr_pipeline_convert(p, type(), v[0], id), &values, 1, id[0]);
      break;
    case 13:
      TRY(tsr_pipeline_saturate(p, type(), v[0], id), &values, 1, id[0]);
      break;
    case 14:
      TRY(tsr_pipeline_select(p, v[0], v[1], v[2], id), &values, 1, id[0]);
      break;
    case 15:
    case 16:
    case 17:
      TRY(tsr_pipeline_read(p, one_of(images), offsets, count, id), &values, 1, id[0]);
      break;
    case 18:
      TRY(chance(2) ? tsr_pipeline_gather(p, one_of(images), v, count, id)
                    : tsr_pipeline_lookup(p, one_of(tables), v, count, id),
          &values, 1, id[0]);
      break;
    case 19: {
      const int32_t lo[] = {-1, chance(20) == 0 ? INT32_MIN : 0}, hi[] = {1, chance(20) == 0 ? INT32_MAX : 1};
      const size_t made = 1 + chance(2);
      TRY(tsr_pipeline_variables(p, lo, hi, made, id), &variables, (uint32_t)made, id[0]);
      break;
    }
    case 20:
      TRY(tsr_pipeline_offset(p, offsets, id), &values, 1, id[0]);
      break;
    case 21:
      TRY(tsr_pipeline_reduce(p, reductions[chance(8)], some, chance(3), v[0], id), &values, 1, id[0]);
      break;
    case 22:
      TRY(chance(5) > 0 ? tsr_pipeline_borders(p, one_of(images), borders, count, id)
                        : tsr_pipeline_every(p, one_of(images), n, count, id),
          &images, 1, id[0]);
      break;
    case 23:
      TRY(tsr_pipeline_stage(p, name(), v[0], id), &images, 1, id[0]);
      break;
    case 24: {
      const tsr_image two[] = {one_of(images), one_of(images)};
      if (chance(4) == 0)
        TRY(tsr_pipeline_total(p, name(), totals[chance(5)], two[0], id), &images, 1, id[0]);
      else if (chance(3) == 0)
        TRY(tsr_pipeline_fourier(p, name(), (int)chance(2), two, chance(4), NULL, 0, id), &images, 2, id[0]);
      else if (chance(2) == 0)
        TRY(tsr_pipeline_compose(p, name(), two, 2, chance(8) == 0 ? (int)n[7] : 2, n, n + 8, id), &images, 1, id[0]);
      else if (chance(2) == 0)
        TRY(tsr_pipeline_begin_loop(p, name(), chance(4) == 0 ? n[0] : 3, two, 1, id), &images, 1, id[0]);
      else
        TRY(tsr_pipeline_only(p, two[0], id), &values, 1, id[0]);
      break;
    }
    default:
      if (chance(2))
        TRY(tsr_pipeline_end_loop(p, (const tsr_image[]){one_of(images)}, 1, v[0], id), &images, 1, id[0]);
      else if (chance(3) == 0)
        compile_and_run();
  }
}

int main(int argc, char** argv) {
  const int calls = argc > 2 ? atoi(argv[2]) : 12000;
  state = argc > 1 ? (uint64_t)atoll(argv[1]) : 1;
  for (int k = 0; k < calls; ++k) {
    if (k % 60 == 0) {
      tsr_pipeline_free(p);
      p = NULL;
      OK(tsr_pipeline_new(&p));
      values = images = extents = tables = variables = 0;
      tsr_image i;
      tsr_value x;
      const tsr_border edge[2] = {{TSR_WRAP, 0}, {TSR_MIRROR, 0}};
      const tsr_offset here[2] = {{0, 0, NULL, NULL}, {1, 0, NULL, NULL}};
      OK(tsr_pipeline_input(p, "a", f32, 2, NULL, NULL, 0, &i));
      OK(tsr_pipeline_borders(p, i, edge, 2, &i));
      OK(tsr_pipeline_read(p, i, here, 2, &x));
      images = 2, values = 1;
    }
    call();
  }
  tsr_pipeline_free(p);
  printf("%d programs, %d ran\n", compiled_count, answered);
  return failures == 0 ? 0 : 1;
}
