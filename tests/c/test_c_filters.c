/* Every named filter with the options that it has by itself: over types, extents, masks and colours with alpha. What a
 * filter does not take, it says; nothing is left half done. */
#include "check.h"
#include "json.h"

enum { rows = 20, columns = 22, room = 4 * 40 * 40 };

static int ran, refused, parts, windows, near;

/* The box [begin, end) of a dense tensor, of which all fields of a point are taken: what it has, one point after the
 * other. */
static DLTensor box_of(const DLTensor* from, const int64_t* begin, const int64_t* end, int rank, char* to,
                       int64_t* shape) {
  int64_t steps[TSR_MOST_DIMENSIONS], size = from->dtype.bits / 8, points = 1, index[4] = {0};
  for (int d = from->ndim; d-- > 0;) steps[d] = size, size *= from->shape[d];
  memcpy(shape, from->shape, (size_t)from->ndim * sizeof *shape);
  for (int d = 0; d < rank; ++d) shape[d] = end[d] - begin[d], points *= shape[d];
  const size_t bytes = (size_t)steps[rank - 1];
  for (int64_t k = 0; k < points; ++k) {
    const char* at = from->data;
    for (int d = 0; d < rank; ++d) at += (begin[d] + index[d]) * steps[d];
    memcpy(to + (size_t)k * bytes, at, bytes);
    for (int d = rank - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
  }
  return tensor(to, from->dtype, from->ndim, shape, NULL);
}

#define REFUSED(call, text) FAILS(call, TSR_ARGUMENT_ERROR, text)

/* The same of no more of the image and its mask than is read; windows that are none, or have too little, are told. */
static void use_window(const tsr_filter* f, const DLTensor* image, const DLTensor* mask, const DLTensor* wanted,
                       const int64_t* begin, const int64_t* end, int rank) {
  static double memory[room], mask_memory[room], result_memory[room];
  int64_t at[4], behind[4], shape[TSR_MOST_DIMENSIONS], mask_shape[TSR_MOST_DIMENSIONS], other[4];
  OK(tsr_filter_reads(f, image->shape, begin, end, at, behind, NULL));
  for (int d = 0; d < rank; ++d) {
    CHECK(0 <= at[d] && at[d] < behind[d] && behind[d] <= image->shape[d]);
    if (at[d] < 0 || behind[d] > image->shape[d]) return;
  }
  DLTensor window = box_of(image, at, behind, rank, (char*)memory, shape), certain, part = *wanted;
  if (mask != NULL) certain = box_of(mask, at, behind, rank, (char*)mask_memory, mask_shape);
  const DLTensor* const known = mask != NULL ? &certain : NULL;
  part.data = result_memory;
  size_t bytes = part.dtype.bits / 8;
  for (int d = 0; d < part.ndim; ++d) bytes *= (size_t)part.shape[d];
  memset(result_memory, 1, bytes);
  OK(tsr_filter_run_window(f, &window, known, at, image->shape, begin, end, &part, NULL));
  CHECK(memcmp(wanted->data, result_memory, bytes) == 0);
  ++windows;
  char* json = NULL;
  OK(tsr_filter_locality(f, &json));
  CHECK(json != NULL && json_valid(json) && json_text(json, "0.global")[0] == '\0');
  for (int d = 0; json != NULL && d < rank; ++d) { /* where no edge is near */
    char path[60];
    const char* const words[] = {"before", "after"};
    int64_t reach[2];
    for (int k = 0; k < 2; ++k) {
      snprintf(path, sizeof path, "0.inputs.0.dimensions.%d.%s", d, words[k]);
      reach[k] = atoll(json_text(json, path));
    }
    snprintf(path, sizeof path, "0.inputs.0.dimensions.%d.whole", d);
    if (strcmp(json_text(json, path), "true") == 0 || at[d] == 0 || behind[d] == image->shape[d]) continue;
    CHECK(at[d] <= begin[d] - reach[0] && behind[d] >= end[d] + reach[1]);
    ++near;
  }
  tsr_string_free(json);
  REFUSED(tsr_filter_locality(NULL, &json), "the filter is a null pointer");
  REFUSED(tsr_filter_locality(f, NULL), "the place of the text");
  /* Null pointers. */
  REFUSED(tsr_filter_reads(NULL, image->shape, begin, end, at, behind, NULL), "the filter is a null pointer");
  REFUSED(tsr_filter_reads(f, NULL, begin, end, at, behind, NULL), "shape of the image is a null");
  REFUSED(tsr_filter_reads(f, image->shape, NULL, end, at, behind, NULL), "begin");
  REFUSED(tsr_filter_reads(f, image->shape, begin, NULL, at, behind, NULL), "end");
  REFUSED(tsr_filter_reads(f, image->shape, begin, end, NULL, behind, NULL), "the place of begins");
  REFUSED(tsr_filter_reads(f, image->shape, begin, end, at, NULL, NULL), "the place of ends");
  const int64_t* const whole = image->shape;
  REFUSED(tsr_filter_run_window(NULL, &window, known, at, whole, begin, end, &part, NULL), "null pointer");
  REFUSED(tsr_filter_run_window(f, NULL, known, at, whole, begin, end, &part, NULL), "the image is a null");
  REFUSED(tsr_filter_run_window(f, &window, known, NULL, whole, begin, end, &part, NULL), "the place of the image");
  REFUSED(tsr_filter_run_window(f, &window, known, at, NULL, begin, end, &part, NULL), "the shape of the whole");
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, NULL, end, &part, NULL), "begin");
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, NULL, &part, NULL), "end");
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, end, NULL, NULL), "the result is a null");
  /* Regions that are none. */
  REFUSED(tsr_filter_reads(f, whole, end, begin, other, behind, NULL), "not within its shape");
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, end, begin, &part, NULL), "not within its shape");
  static const int64_t wild[] = {INT64_MIN, INT64_MAX, -1, INT64_C(1) << 61};
  for (size_t k = 0; k < sizeof wild / sizeof *wild; ++k) {
    memcpy(other, end, (size_t)rank * sizeof *other), other[0] = wild[k];
    REFUSED(tsr_filter_reads(f, whole, begin, other, at, behind, NULL), "not within its shape");
    REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, other, &part, NULL), "not within its shape");
    memcpy(other, whole, (size_t)rank * sizeof *other), other[rank - 1] = wild[k];
    REFUSED(tsr_filter_reads(f, other, begin, end, at, behind, NULL), "has shape");
    REFUSED(tsr_filter_run_window(f, &window, known, at, other, begin, end, &part, NULL), "has shape");
    /* Windows that lie beside the whole, or elsewhere than what is read. */
    memcpy(other, at, (size_t)rank * sizeof *other), other[0] = wild[k];
    REFUSED(tsr_filter_run_window(f, &window, known, other, whole, begin, end, &part, NULL),
            "is not within a whole of");
  }
  memcpy(other, at, (size_t)rank * sizeof *other);
  if (at[0] > 0) {
    --other[0];
    REFUSED(tsr_filter_run_window(f, &window, known, other, whole, begin, end, &part, NULL), "but the window reads");
  }
  if (shape[0] > 1) {
    --window.shape[0];
    if (mask != NULL) --certain.shape[0];
    REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, end, &part, NULL), "but the window reads");
    ++window.shape[0];
    if (mask != NULL) ++certain.shape[0];
  }
  /* Another mask, type or shape of the result. */
  REFUSED(tsr_filter_run_window(f, &window, known != NULL ? NULL : &window, at, whole, begin, end, &part, NULL),
          "mask");
  part.dtype = part.dtype.bits == 64 ? f32 : f64;
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, end, &part, NULL), "elements");
  part.dtype = wanted->dtype;
  ++part.shape[0];
  REFUSED(tsr_filter_run_window(f, &window, known, at, whole, begin, end, &part, NULL), "has shape");
  --part.shape[0];
}

/* A part of a result is that part of the whole; what is none is told. */
static void use_part(const tsr_filter* f, const DLTensor* image, const DLTensor* mask, DLTensor whole, int rank) {
  static double room_of_part[room], same[room];
  int64_t begin[4], end[4], shape[TSR_MOST_DIMENSIONS];
  for (int d = 0; d < rank; ++d) begin[d] = whole.shape[d] / 3, end[d] = whole.shape[d] - whole.shape[d] / 4;
  DLTensor part = box_of(&whole, begin, end, rank, (char*)same, shape);
  part.data = room_of_part;
  const tsr_status status = tsr_filter_run_region(f, image, mask, begin, end, &part, NULL);
  if (status != TSR_OK) {
    CHECK(status == TSR_ARGUMENT_ERROR && strstr(tsr_last_error(), "has no windows") != NULL);
    char* json = NULL;
    OK(tsr_filter_locality(f, &json));
    CHECK(json != NULL && json_text(json, "0.global")[0] != '\0' &&
          strstr(tsr_last_error(), json_text(json, "0.global")) != NULL);
    tsr_string_free(json);
    return;
  }
  ++parts;
  size_t bytes = part.dtype.bits / 8;
  for (int d = 0; d < part.ndim; ++d) bytes *= (size_t)shape[d];
  CHECK(memcmp(same, room_of_part, bytes) == 0);
  use_window(f, image, mask, &part, begin, end, rank);
  FAILS(tsr_filter_run_region(f, image, mask, NULL, end, &part, NULL), TSR_ARGUMENT_ERROR, "begin");
  FAILS(tsr_filter_run_region(f, image, mask, begin, NULL, &part, NULL), TSR_ARGUMENT_ERROR, "end");
  FAILS(tsr_filter_run_region(NULL, image, mask, begin, end, &part, NULL), TSR_ARGUMENT_ERROR, "null pointer");
  FAILS(tsr_filter_run_region(f, image, mask, begin, end, &whole, NULL), TSR_ARGUMENT_ERROR, "has shape");
  FAILS(tsr_filter_run_region(f, image, mask, end, begin, &part, NULL), TSR_ARGUMENT_ERROR, "not within its shape");
  end[0] = INT64_MAX;
  FAILS(tsr_filter_run_region(f, image, mask, begin, end, &part, NULL), TSR_ARGUMENT_ERROR, "not within its shape");
  begin[0] = INT64_MIN;
  FAILS(tsr_filter_run_region(f, image, mask, begin, end, &part, NULL), TSR_ARGUMENT_ERROR, "not within its shape");
}

/* Makes the filter, asks for the result's shape, runs, explains. */
static void use(const char* name, DLDataType type, int rank, const char* const (*set)[2], size_t count) {
  static double image[room], result[room];
  static unsigned char mask[room];
  int64_t shape[TSR_MOST_DIMENSIONS] = {rows, columns, 0, 0, 0}, result_shape[TSR_MOST_DIMENSIONS];
  int32_t result_rank = -1;
  int fields = 0, masked = 0;
  DLDataType result_type = {99, 0, 0};
  tsr_options* o = NULL;
  tsr_filter* f = NULL;
  OK(tsr_options_new(&o));
  for (size_t k = 0; k < count; ++k) {
    OK(tsr_options_set(o, set[k][0], set[k][1]));
    if (strcmp(set[k][0], "fields") == 0) fields = 1 + (int)strlen(set[k][1]) / 2;
    if (strcmp(set[k][0], "mask") == 0) masked = 1;
  }
  if (rank == 1) shape[0] = columns;
  if (rank >= 3) shape[0] = 4, shape[1] = 5, shape[2] = 6, shape[3] = 5;
  tsr_clear_error();
  const tsr_status status = tsr_filter_new(name, type, rank, o, &f);
  if (status != TSR_OK) {
    CHECK(status == TSR_ARGUMENT_ERROR && f == NULL && tsr_last_error()[0] != '\0' &&
          json_valid(tsr_last_error_json()));
    tsr_options_free(o);
    ++refused;
    return;
  }
  OK(tsr_filter_result(f, shape, rank, &result_type, result_shape, &result_rank));
  FAILS(tsr_filter_result(f, shape, rank + 1, &result_type, result_shape, &result_rank), TSR_ARGUMENT_ERROR,
        "dimensions");
  CHECK(result_rank >= 1 && result_rank <= TSR_MOST_DIMENSIONS && result_type.lanes == 1);
  int64_t elements = 1;
  for (int d = 0; d < result_rank; ++d) elements *= result_shape[d];
  CHECK(elements > 0 && elements <= room);
  if (fields > 0) shape[rank] = fields;
  const int dimensions = rank + (fields > 0);
  for (int k = 0; k < room; ++k) {
    const float v = (float)(k * 31 % 97);
    const double d = v;
    if (type.code == kDLFloat && type.bits == 64)
      memcpy((char*)image + 8 * k, &d, 8);
    else if (type.code == kDLFloat && type.bits == 32)
      memcpy((char*)image + 4 * k, &v, 4);
    else if (type.bits == 8)
      ((unsigned char*)image)[k] = (unsigned char)(type.code == kDLBool ? k & 1 : k * 31 % 97);
    else if (type.bits == 16)
      ((uint16_t*)image)[k] = (uint16_t)(k * 31 % 97); /* halves: small ones */
    else
      ((int32_t*)image)[k] = k * 31 % 97;
    mask[k] = k % 5 != 0;
  }
  DLTensor in = tensor(image, type, dimensions, shape, NULL),
           out = tensor(result, result_type, result_rank, result_shape, NULL);
  DLTensor certain = tensor(mask, u8, rank, shape, NULL);
  const tsr_status run = tsr_filter_run(f, &in, masked ? &certain : NULL, &out, NULL);
  if (run != TSR_OK) { /* an image that is too small for it, say */
    CHECK(run == TSR_ARGUMENT_ERROR);
    fprintf(stderr, "%s of %d bits, rank %d: %s\n", name, type.bits, rank, tsr_last_error());
  } else {
    ++ran;
    use_part(f, &in, masked ? &certain : NULL, out, rank);
  }
  char* text = NULL;
  if (ran % 16 == 0) {
    OK(tsr_filter_explain(f, &in, "json", NULL, &text));
    CHECK(json_valid(text));
    tsr_string_free(text);
  }
  /* What does not fit is told. */
  FAILS(tsr_filter_run(f, &in, masked ? NULL : &certain, &out, NULL), TSR_ARGUMENT_ERROR, "mask");
  out.shape[0] += 1;
  FAILS(tsr_filter_run(f, &in, masked ? &certain : NULL, &out, NULL), TSR_ARGUMENT_ERROR, "");
  tsr_filter_free(f);
  tsr_options_free(o);
}

int main(void) {
  const char* const all = tsr_filters_json();
  CHECK(json_valid(all));
  CHECK(tsr_filters_json() == all);
  const DLDataType types[] = {u8, {kDLUInt, 16, 1}, {kDLInt, 16, 1}, i32, {kDLFloat, 16, 1}, f32, f64, {kDLBool, 8, 1}};
  const char *const valid[][2] = {{"extent", "valid"}}, *const full[][2] = {{"extent", "full"}, {"border", "mirror"}};
  const char *const masked[][2] = {{"mask", "uint8"}}, *const colour[][2] = {{"fields", "r g b"}};
  const char *const alpha[][2] = {{"fields", "r g b a"}, {"alpha", "weighted"}}, *const grey[][2] = {{"fields", "y a"}};
  const char* const kept[][2] = {{"fields", "r g b a"}, {"alpha", "kept"}};
  int filters = 0;
  for (;; ++filters) {
    char path[40], name[60];
    snprintf(path, sizeof path, "%d.name", filters);
    snprintf(name, sizeof name, "%s", json_text(all, path));
    if (name[0] == '\0') break;
    snprintf(path, sizeof path, "%d.ranks.0", filters);
    const int least = atoi(json_text(all, path)), rank = least > 2 ? least : 2;
    /* Each with one type that others have not; the rest is code that they share. */
    use(name, f32, rank, NULL, 0);
    use(name, types[filters % 8], rank, NULL, 0);
    use(name, f32, 1, NULL, 0);
    use(name, f32, rank, valid, 1);
    switch (filters % 4) {
      case 0:
        use(name, f32, rank, full, 2);
        use(name, u8, rank, alpha, 2);
        break;
      case 1:
        use(name, f32, rank, masked, 1);
        use(name, f32, rank, colour, 1);
        break;
      case 2:
        use(name, f32, 3, NULL, 0);
        use(name, f32, rank, grey, 1);
        break;
      default:
        use(name, u8, rank, kept, 2);
        use(name, u8, rank, masked, 1);
    }
  }
  printf("%d filters: %d ran, %d refused\n", filters, ran, refused);
  CHECK(filters > 10 && ran > 3 * filters && parts > 2 * filters && windows == parts && near > parts);
  /* Ranks and names that no image has. */
  tsr_filter* f = NULL;
  tsr_options* o = NULL;
  OK(tsr_options_new(&o));
  OK(tsr_options_set(o, "mask", "uint8"));
  const int ranks[] = {0, -1, 5, 1 << 30, INT32_MAX, INT32_MIN};
  for (size_t k = 0; k < sizeof ranks / sizeof *ranks; ++k) {
    FAILS(tsr_filter_new("box", f32, ranks[k], o, &f), TSR_ARGUMENT_ERROR, "rank");
    FAILS(tsr_filter_new("box", f32, ranks[k], NULL, &f), TSR_ARGUMENT_ERROR, "rank");
  }
  FAILS(tsr_filter_new("", f32, 2, NULL, &f), TSR_ARGUMENT_ERROR, "");
  const char* wrong[][2] = {{"extent", "half"},      {"fields", "r r"},  {"alpha", "some"},   {"type", "int7"},
                            {"arithmetic", "uint8"}, {"border", "wall"}, {"mask", "none"},    {"sigma", "1 2 3 4 5 6"},
                            {"sigma", "-1"},         {"sigma", "nan"},   {"ignore_nan", "2"}, {"colour", "red"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
    tsr_options* w = NULL;
    OK(tsr_options_new(&w));
    OK(tsr_options_set(w, wrong[k][0], wrong[k][1]));
    if (tsr_filter_new("gaussian", f32, 2, w, &f) != TSR_ARGUMENT_ERROR)
      fprintf(stderr, "%s = %s\n", wrong[k][0], wrong[k][1]), ++failures;
    tsr_options_free(w);
  }
  CHECK(f == NULL);
  tsr_options_free(o);
  return failures == 0 ? 0 : 1;
}
