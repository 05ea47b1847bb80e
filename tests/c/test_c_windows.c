/* Windows of results through the C interface: what is read, parts of inputs, what is refused. */
#include "check.h"

static const char* const program_text =
    "stencil f(vector#2 float X) { return X@[-1,0] + 2 * X + X@[0,2] + coord(1); } parameter M, N; "
    "vector#2 float a[M,N]; return f(a:mirror);";

enum { rows = 40, columns = 60 };
static float image[rows][columns], whole[rows][columns];

static void gives_parts_of_the_whole(void) {
  int64_t shape[2] = {rows, columns};
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) image[y][x] = (float)((y * 37 + x * 11) % 23);
  DLTensor a = tensor(image, f32, 2, shape, NULL), b = tensor(whole, f32, 2, shape, NULL);
  const DLTensor *from[] = {&a}, *to[] = {&b};
  tsr_program* p = compiled(program_text, NULL);
  OK(tsr_run_into(p, from, 1, to, 1, NULL));
  const int64_t windows[][4] = {{0, 40, 0, 60}, {0, 1, 0, 1}, {39, 40, 59, 60}, {7, 20, 11, 59}, {20, 21, 30, 31}};
  for (size_t k = 0; k < sizeof windows / sizeof *windows; ++k) {
    const int64_t begin[2] = {windows[k][0], windows[k][2]}, end[2] = {windows[k][1], windows[k][3]};
    int64_t at[TSR_MOST_DIMENSIONS], behind[TSR_MOST_DIMENSIONS];
    const int64_t* shapes[] = {shape};
    OK(tsr_reads(p, 0, begin, end, shapes, 1, at, behind, NULL));
    CHECK(at[0] >= 0 && at[0] <= (begin[0] > 0 ? begin[0] - 1 : 0) && behind[1] <= columns && behind[1] >= end[1]);
    /* No more of the input than that. */
    int64_t part_shape[2] = {behind[0] - at[0], behind[1] - at[1]};
    float* part = malloc((size_t)(part_shape[0] * part_shape[1]) * sizeof *part);
    for (int64_t y = 0; y < part_shape[0]; ++y)
      memcpy(part + y * part_shape[1], &image[at[0] + y][at[1]], (size_t)part_shape[1] * sizeof *part);
    DLTensor t = tensor(part, f32, 2, part_shape, NULL);
    const DLTensor* inputs[] = {&t};
    const int64_t *places[] = {at}, *wholes[] = {shape}, *begins[] = {begin}, *ends[] = {end};
    DLManagedTensorVersioned* made = NULL;
    OK(tsr_run_region(p, inputs, places, wholes, 1, begins, ends, &made, 1, NULL));
    CHECK(made != NULL && made->dl_tensor.shape[0] == end[0] - begin[0] &&
          made->dl_tensor.shape[1] == end[1] - begin[1]);
    for (int64_t y = begin[0]; made != NULL && y < end[0]; ++y)
      for (int64_t x = begin[1]; x < end[1]; ++x) {
        const float got = ((const float*)made->dl_tensor.data)[(y - begin[0]) * (end[1] - begin[1]) + x - begin[1]];
        CHECK(fabsf(got - whole[y][x]) < 1e-4f);
      }
    free_tensor(made);
    free(part);
  }
  char* json = NULL;
  OK(tsr_locality(p, &json));
  CHECK(json != NULL && strstr(json, "\"before\":1") != NULL && strstr(json, "\"after\":2") != NULL);
  tsr_string_free(json);
  tsr_program_free(p);
}

/* An error and a sentence, and nothing is written. */
static void refuses(void) {
  int64_t shape[2] = {rows, columns}, begin[2] = {0, 0}, end[2] = {41, 60}, at[2] = {5, 0}, small[2] = {10, 60};
  DLTensor a = tensor(image, f32, 2, shape, NULL), part = tensor(image, f32, 2, small, NULL);
  const DLTensor *from[] = {&a}, *parts[] = {&part};
  const int64_t *begins[] = {begin}, *ends[] = {end}, *places[] = {at}, *wholes[] = {shape};
  DLManagedTensorVersioned* made = (DLManagedTensorVersioned*)&a;
  tsr_program* p = compiled(program_text, NULL);
  CHECK(tsr_run_region(p, from, NULL, NULL, 1, begins, ends, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(strstr(tsr_last_error(), "not within its shape") != NULL && made == (DLManagedTensorVersioned*)&a);
  end[0] = 40;
  CHECK(tsr_run_region(p, parts, places, wholes, 1, begins, ends, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(strstr(tsr_last_error(), "the window reads") != NULL);
  CHECK(tsr_run_region(p, from, NULL, NULL, 1, begins, NULL, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(tsr_run_region(p, from, NULL, NULL, 1, NULL, NULL, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(tsr_run_region(NULL, from, NULL, NULL, 1, begins, ends, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(tsr_reads(p, 1, begin, end, wholes, 1, at, small, NULL) == TSR_ARGUMENT_ERROR);
  tsr_program_free(p);
  p = compiled("parameter M, N; vector#2 float a[M,N]; return max(a);", NULL);
  const int64_t none[1] = {0}, one[1] = {1};
  const int64_t *nones[] = {none}, *ones[] = {one};
  CHECK(tsr_run_region(p, from, NULL, NULL, 1, nones, ones, &made, 1, NULL) == TSR_ARGUMENT_ERROR);
  CHECK(strstr(tsr_last_error(), "reduces a whole image") != NULL);
  tsr_program_free(p);
}

/* Places near the ends of 63 bits, outputs that share memory, lists with holes. */
static void refuses_what_is_malformed(void) {
  int64_t shape[2] = {rows, columns}, small[2] = {2, 2}, begin[2] = {0, 0}, end[2] = {2, 2}, at[2] = {0, 0};
  int64_t read_begin[2 * TSR_MOST_DIMENSIONS], read_end[2 * TSR_MOST_DIMENSIONS];
  DLTensor a = tensor(image, f32, 2, shape, NULL), inside = tensor(&image[5][5], f32, 2, small, NULL);
  float room[4];
  DLTensor own = tensor(room, f32, 2, small, NULL);
  const DLTensor *from[] = {&a}, *none[] = {NULL};
  const int64_t *begins[] = {begin, begin}, *ends[] = {end, end}, *places[] = {at}, *wholes[] = {shape};
  const DLTensor *alias[] = {&inside, &own}, *twice[] = {&own, &own}, *both[] = {&own, NULL};
  tsr_program* p = compiled(
      "stencil f(vector#2 float X) { return X@[0,1]; } parameter M, N; vector#2 float a[M,N]; "
      "return x = f(a:mirror), y = f(f(a:wrap):wrap);",
      NULL);
  int64_t strides[2] = {columns, 1};
  FAILS(tsr_run_region_into(p, from, NULL, NULL, 1, begins, ends, twice, 2, NULL), TSR_ARGUMENT_ERROR, "shares memory");
  inside.strides = strides;
  FAILS(tsr_run_region_into(p, from, NULL, NULL, 1, begins, ends, alias, 2, NULL), TSR_ARGUMENT_ERROR,
        "output 'x' shares memory with input 'a'");
  FAILS(tsr_run_region_into(p, from, NULL, NULL, 1, begins, ends, both, 2, NULL), TSR_ARGUMENT_ERROR, "no array");
  FAILS(tsr_run_region_into(p, none, NULL, NULL, 1, begins, ends, twice, 2, NULL), TSR_ARGUMENT_ERROR, "null pointer");
  FAILS(tsr_run_region_into(p, from, NULL, NULL, 2, begins, ends, twice, 2, NULL), TSR_ARGUMENT_ERROR, "2 inputs");
  FAILS(tsr_run_region_into(p, from, places, NULL, 1, begins, ends, twice, 2, NULL), TSR_ARGUMENT_ERROR, "");
  const int64_t ends_of_range[][2] = {{INT64_MIN, 0}, {INT64_MAX, 2}, {-1, 2}, {0, INT64_MAX}, {INT64_MAX, INT64_MIN}};
  ends[1] = begins[1] = NULL;
  for (size_t k = 0; k < sizeof ends_of_range / sizeof *ends_of_range; ++k) {
    begin[0] = ends_of_range[k][0], end[0] = ends_of_range[k][1];
    FAILS(tsr_run_region_into(p, from, NULL, NULL, 1, begins, ends, both, 2, NULL), TSR_ARGUMENT_ERROR, "within its shape");
    FAILS(tsr_reads(p, 0, begin, end, wholes, 1, read_begin, read_end, NULL), TSR_ARGUMENT_ERROR, "within its shape");
  }
  begin[0] = 0, end[0] = 2;
  const int64_t extents[] = {INT64_MAX, INT64_MIN, 0, -1};
  for (size_t k = 0; k < sizeof extents / sizeof *extents; ++k) {
    int64_t odd[2] = {extents[k], columns};
    const int64_t* whole_of[] = {odd};
    FAILS(tsr_reads(p, 0, begin, end, whole_of, 1, read_begin, read_end, NULL), TSR_ARGUMENT_ERROR, "has shape");
    FAILS(tsr_run_region_into(p, from, places, whole_of, 1, begins, ends, both, 2, NULL), TSR_ARGUMENT_ERROR, "has shape");
    odd[0] = rows, at[0] = extents[k] == 0 ? 1 : extents[k];
    FAILS(tsr_run_region_into(p, from, places, whole_of, 1, begins, ends, both, 2, NULL), TSR_ARGUMENT_ERROR,
          "is not within a whole");
    at[0] = 0;
  }
  OK(tsr_run_region_into(p, from, NULL, NULL, 1, begins, ends, both, 2, NULL));
  CHECK(room[0] == image[0][1] && room[3] == image[1][2]);
  tsr_program_free(p);
}

int main(void) {
  gives_parts_of_the_whole();
  refuses_what_is_malformed();
  refuses();
  return failures == 0 ? 0 : 1;
}
