/* Tessera for C, and for every language that calls C: libtessera.so.
 *
 *   tsr_program* canny = NULL;
 *   if (tsr_compile_file("canny.forma", NULL, &canny) != TSR_OK) puts(tsr_last_error());
 *   const DLTensor* inputs[] = {&photo};
 *   DLManagedTensorVersioned* edges = NULL;
 *   if (tsr_run(canny, inputs, 1, &edges, 1, NULL) == TSR_OK) use(&edges->dl_tensor);
 *   edges->deleter(edges);
 *   tsr_program_free(canny);
 *
 * Calls. A function that can fail returns a tsr_status. On failure it leaves what it would have given as it was, and
 * tsr_last_error() of the same thread says why. Nothing throws, and nothing ends the process: a null handle is
 * TSR_ARGUMENT_ERROR. Handles are freed by their _free, which takes NULL; strings by tsr_string_free, but for those
 * whose description says that they belong to a handle.
 *
 * Threads. A tsr_program and a tsr_filter do not change and may be used from several threads at once. Other handles
 * are used by one thread at a time; tsr_cancel_now alone may be called from anywhere, signal handlers among them.
 *
 * Arrays are DLPack tensors of 1 to 4 dimensions, slowest first; a scalar has none. They are borrowed for the time of
 * the call, or until the end of the run where it is put into a stream. Types: kDLBool 8; kDLUInt 8, 16, 32; kDLInt 16,
 * 32; kDLFloat 16, 32, 64; one lane. Memory: kDLCPU, kDLCUDAHost, kDLCUDA, kDLCUDAManaged. Strides may be negative, or
 * 0 for reading. An array of structs whose fields have one type, such as a colour image {r, g, b}, has one dimension
 * more, the last, of its fields; kDLComplex stands for two fields.
 *
 * Symbols are versioned: what TESSERA_0.1 has stays as it is. */
#ifndef TESSERA_TESSERA_H_
#define TESSERA_TESSERA_H_

#include <stddef.h>
#include <stdint.h>

#include "tessera/dlpack.h"

#if defined(TSR_BUILD)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions and errors ---------------------------------------------------------------------------------------- */

#define TSR_ABI 1 /* of this header; grows where functions are added */

TSR_API const char* tsr_version(void); /* "0.1.0" */
TSR_API int tsr_abi(void);             /* TSR_ABI of the library: at least that of the header it is used with */

typedef enum {
  TSR_OK = 0,
  TSR_COMPILE_ERROR = 1,  /* a text that is no program */
  TSR_ARGUMENT_ERROR = 2, /* what was passed does not fit */
  TSR_DEVICE_ERROR = 3,   /* no device, no compiler, no memory of a device */
  TSR_IO_ERROR = 4,       /* a file */
  TSR_CANCELLED = 5,
  TSR_INTERNAL_ERROR = 6 /* a fault of Tessera, or no memory */
} tsr_status;

/* Of the last call of this thread that failed, "" where none did; valid until the next one fails. The text is what the
 * command prints: the sentence, then notes and help, of a program's text with the line and a caret. */
TSR_API const char* tsr_last_error(void);
/* The same as {"class": "compile", "message": "...", "notes": ["..."], "help": "...", "diagnostics": [{"severity":
 * "error", "file": "...", "line": 3, "column": 7, "length": 4, "text": "the line", "message": "...", "notes": [],
 * "help": ""}]}. Lines and columns count from 1, 0 is unknown; lengths are in characters. */
TSR_API const char* tsr_last_error_json(void);
/* Forgets it. */
TSR_API void tsr_clear_error(void);

TSR_API void tsr_string_free(char*);

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* What a call takes besides its arguments, by name. NULL stands for no options. A name that a call does not know, and a
 * value that is none of it, is an error of that call. */
typedef struct tsr_options tsr_options;

TSR_API tsr_status tsr_options_new(tsr_options**);
TSR_API void tsr_options_free(tsr_options*);
/* A name that was set before gets the new value; a value of NULL takes the name out. */
TSR_API tsr_status tsr_options_set(tsr_options*, const char* name, const char* value);
TSR_API tsr_status tsr_options_set_numbers(tsr_options*, const char* name, const double* values, size_t count);
/* The elements are copied. */
TSR_API tsr_status tsr_options_set_tensor(tsr_options*, const char* name, const DLTensor*);

/* of compilation (tsr_compile_text, _file; tsr_compile_graph and tsr_pipeline_compile take compile_limit alone)
 *   parameter.NAME  a number      a compile-time parameter
 *   border.NAME     words         `parameter border NAME`: "mirror", "constant(3)", or one per dimension: "clamped
 * wrap" type.NAME       a word        `parameter type NAME`: "float", "uint8" table.NAME      a tensor      `table
 * float NAME[..]` import_paths    paths         folders that are searched, with ':' between them import_only     paths
 * no file is imported from elsewhere; "" leaves the standard filters alone compile_limit   seconds       (60) 0: none
 * of a run (tsr_run, _run_into, _run_region, tsr_reads, tsr_filter_run, _run_region, _run_window, _reads, tsr_explain)
 *   numbers         fast, exact
 *   schedule        automatic, untiled, tiled, stream
 *   method          automatic, direct, separable, low_rank, transform, whole, matrix
 *   threads         a number      (0) all
 *   target          cpu, cuda, opencl; where it is not set, a run goes where its arrays are
 *   device          a number      of several devices
 *   devices         all, or numbers  that share the work on arrays of the host; in the place of device
 *   device_memory   bytes         that a run may take there; 0: what there is
 *   compiler        built-in, system, or a command
 *   compile_limit   seconds       (60)
 *   tile_rows, tile_columns       (0) chosen by the plan
 * of emission (tsr_emit)
 *   target          c, cuda, opencl, hls, verilog
 *   name            of the entry point
 *   numbers, schedule, method, tile_rows, tile_columns, compile_limit
 *   vector_bits     128, 256, 512; 0: all in one file
 *   kernels_file    the path from which OpenCL's host file reads its kernels
 *   height, width, lanes, error, frequency, chip, additions, fixed (0, 1)     of hardware
 *   shape.NAME      extents of an input that the file is made for, slowest first ("1080 1920"): of "c", "cuda" and
 *                   "opencl", for all arrays or for none; the file takes any others as well
 *   input.NAME      "uint8" or "uint8/4": the integers that come in for floats, and their bits of fraction
 * of a named filter (tsr_filter_new): those of tsr_filters_json, and
 *   border          words         as above
 *   extent          same, valid, full
 *   type            a type        of the result
 *   arithmetic      float, double
 *   alpha           weighted, kept, associated
 *   fields          words         the planes of the last dimension: "r g b a", "y a"; else it is a dimension of the
 * image nodata          numbers ignore_nan      0, 1 mask            a type        of the mask that runs are given
 *   kernel          a tensor      of weights, where the filter takes some */

/* Called from one thread at a time, with tiles done and to do; another value than 0 cancels the run. */
typedef int (*tsr_progress)(int64_t done, int64_t total, void* user);
TSR_API tsr_status tsr_options_set_progress(tsr_options*, tsr_progress, void* user);

/* Ends runs that were given it. It outlives them. */
typedef struct tsr_cancel tsr_cancel;
TSR_API tsr_status tsr_cancel_new(tsr_cancel**);
TSR_API void tsr_cancel_free(tsr_cancel*);
TSR_API void tsr_cancel_now(tsr_cancel*);
TSR_API void tsr_cancel_reset(tsr_cancel*);
TSR_API tsr_status tsr_options_set_cancel(tsr_options*, const tsr_cancel*);

/* Work of a device in order. A run with a stream is put there and returns; its arrays are neither changed nor freed
 * before the stream is done, errors may come with tsr_stream_wait. */
typedef struct tsr_stream tsr_stream;
TSR_API tsr_status tsr_stream_new(const char* target, int device, tsr_stream**); /* "cuda", "opencl" */
/* A cudaStream_t of somebody else, NULL for the default stream; it outlives this. */
TSR_API tsr_status tsr_stream_borrow(int device, void* cuda_stream, tsr_stream**);
TSR_API tsr_status tsr_stream_wait(tsr_stream*);
TSR_API void tsr_stream_free(tsr_stream*);                            /* waits, but not for a borrowed one */
TSR_API tsr_status tsr_options_set_stream(tsr_options*, tsr_stream*); /* NULL: none */

/* ---- programs ---------------------------------------------------------------------------------------------------- */

typedef struct tsr_program tsr_program;

/* `file_name` stands in messages, and imports are looked for in its folder; NULL: "<text>". */
TSR_API tsr_status tsr_compile_text(const char* text, const char* file_name, const tsr_options*, tsr_program**);
TSR_API tsr_status tsr_compile_file(const char* path, const tsr_options*, tsr_program**);
/* A program of what tsr_program_graph gave, by this version of the library: it needs no file, and no table. */
TSR_API tsr_status tsr_compile_graph(const char* graph, const tsr_options*, tsr_program**);
TSR_API void tsr_program_free(tsr_program*);

/* {"inputs": [{"name": "image", "array": true, "rank": 2, "extents": "M x N", "type": "float", "fields": ["r", "g",
 * "b"], "types": ["float", "float", "float"]}], "outputs": [...], "parameters": ["M", "N"], "warnings": ["rendered
 * text"]}; fields and types are [] for scalars per point. Fields of several types lie in memory as in C, and their
 * tensor has their bytes as its last dimension. The text belongs to the program. NULL for a null handle. */
TSR_API const char* tsr_program_json(const tsr_program*);
TSR_API size_t tsr_program_input_count(const tsr_program*);
TSR_API size_t tsr_program_output_count(const tsr_program*);

/* Dimensions of the outputs for these inputs, fields among them: `ranks` has as many elements as there are outputs,
 * `shapes` TSR_MOST_DIMENSIONS for each. */
#define TSR_MOST_DIMENSIONS 5
TSR_API tsr_status tsr_output_shapes(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                                     int64_t* shapes, int32_t* ranks, size_t output_count);

/* Inputs, arrays and scalars, in the order of the program's description; outputs are new, on the device if an array
 * input lies there, else on the host, in C order there. */
TSR_API tsr_status tsr_run(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                           DLManagedTensorVersioned** outputs, size_t output_count, const tsr_options*);
/* Into arrays of the right type and shape, any strides but 0. Memory of outputs overlaps nothing. What they hold after
 * a failure is undefined. */
TSR_API tsr_status tsr_run_into(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                                const DLTensor* const* outputs, size_t output_count, const tsr_options*);
/* Windows: parts of results, with the bits of the whole (Program::run_region of tessera/program.hpp).
 * Dimensions are those of the program's description, without fields.
 *
 * What a point of each output depends on: [{"name": "edges", "global": "", "inputs": [{"name": "image", "dimensions":
 * [{"before": 2, "after": 2, "scale": 1, "divisor": 1, "whole": false}]}]}]. Point i reads from floor(i * scale /
 * divisor) - before to floor(i * scale / divisor) + after; "whole": any point. "global" says why no part of an output
 * can be had alone. */
TSR_API tsr_status tsr_locality(const tsr_program*, char** json);
/* The region of every input that tsr_run_region reads for the window [begin, end) of an output, for whole inputs of
 * these shapes (NULL for scalars): TSR_MOST_DIMENSIONS numbers for each input. */
TSR_API tsr_status tsr_reads(const tsr_program*, size_t output, const int64_t* begin, const int64_t* end,
                             const int64_t* const* shapes, size_t input_count, int64_t* read_begin, int64_t* read_end,
                             const tsr_options*);
/* The extents of every output for whole inputs of these shapes: TSR_MOST_DIMENSIONS numbers for each. */
TSR_API tsr_status tsr_output_extents(const tsr_program*, const int64_t* const* shapes, size_t input_count,
                                      int64_t* extents, size_t output_count);
/* Windows of the outputs, [begin[o], end[o]); NULL: output o is not wanted, and its place becomes NULL. Inputs may be
 * windows that cover what tsr_reads says: `at[k]` is where the first point of input k stands in the whole, `whole[k]`
 * the extents of that; NULL, of a list or of an entry: it is the whole. */
TSR_API tsr_status tsr_run_region(const tsr_program*, const DLTensor* const* inputs, const int64_t* const* at,
                                  const int64_t* const* whole, size_t input_count, const int64_t* const* begin,
                                  const int64_t* const* end, DLManagedTensorVersioned** outputs, size_t output_count,
                                  const tsr_options*);
/* The same into arrays of the right type and the shape of their window, NULL where an output is not wanted. They
 * overlap no input. With a stream, the run is done when this returns. */
TSR_API tsr_status tsr_run_region_into(const tsr_program*, const DLTensor* const* inputs, const int64_t* const* at,
                                       const int64_t* const* whole, size_t input_count, const int64_t* const* begin,
                                       const int64_t* const* end, const DLTensor* const* outputs, size_t output_count,
                                       const tsr_options*);

/* A program that reduces whole images, as passes: programs that have windows, one after the other, between which
 * numbers lie. {"why": "", "arrays": [{"kind": "input", "index": 0, "rank": 2, "type": "float32"}], "passes":
 * [{"graph": "...", "inputs": [0, 2], "outputs": [null], "totals": [{"output": 0, "operation": "max", "array": 1}]}],
 * "body": [0], "last": [1]}. Arrays are inputs or outputs of the program, or numbers between passes, of one element. A
 * pass is a program of tsr_compile_graph, with arrays for inputs and outputs; of an output that is null the total alone
 * is wanted. The passes of `body` run first, in their order. Those of `last` write the outputs. "why" says why there
 * are none: "stage 'm' is a Fourier transform of a whole image". */
TSR_API tsr_status tsr_passes(const tsr_program*, char** json);
/* What elements of an image come to, [first, first + their count) in the order of memory of the image: "sum", "mean",
 * "min" or "max". `part` has at most 3 + 2 * 4096 + count / 4096 numbers, of which `count` says how many there are. */
TSR_API tsr_status tsr_total_part(const char* operation, const DLTensor* elements, int64_t first, double* part,
                                  size_t capacity, size_t* count);
/* The total of an image of a type by the parts of all of its elements in their order, as a number of another type: the
 * bits of a run. Of minima and maxima, and of sums of integers of 8 and 16 bits below 2^53, any parts will do in any
 * order, each with `first` 0. */
TSR_API tsr_status tsr_total(const char* operation, DLDataType image, DLDataType number, const double* const* parts,
                             const size_t* counts, size_t part_count, double* value);

/* The slow, obvious interpreter, which every target agrees with. Arrays of the host. */
TSR_API tsr_status tsr_interpret(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                                 DLManagedTensorVersioned** outputs, size_t output_count);
/* The same with options, of which it looks at tsr_options_set_cancel alone. */
TSR_API tsr_status tsr_interpret_with(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                                      DLManagedTensorVersioned** outputs, size_t output_count, const tsr_options*);

/* What the plan decided and why, for inputs of these shapes (`data` is not looked at): "text", "json" or "svg". */
TSR_API tsr_status tsr_explain(const tsr_program*, const DLTensor* const* inputs, size_t input_count,
                               const char* format, const tsr_options*, char** text);
/* The code of a target, the same that runs: the source, the header of its entry points, and what drives it (of OpenCL
 * the host file, of hardware the test bench); "" where there is none. Any of the three may be NULL. */
TSR_API tsr_status tsr_emit(const tsr_program*, const tsr_options*, char** source, char** header, char** host);
/* The graph of stages as text: equal texts are equal programs. */
TSR_API tsr_status tsr_program_graph(const tsr_program*, char** text);

/* The program that goes backwards: its inputs are those of the given one and a gradient for each output of floats, its
 * outputs gradients for each input of floats (tessera/adjoint.hpp). */
TSR_API tsr_status tsr_program_adjoint(const tsr_program*, tsr_program**);

/* ---- named filters ----------------------------------------------------------------------------------------------- */

/* One of filters(), compiled for images of a type and rank (fields not counted, see "fields"). */
typedef struct tsr_filter tsr_filter;

/* [{"name": "gaussian", "summary": "...", "ranks": [1, 2, 3, 4], "keeps_type": true, "takes_mask": true, "options":
 * [{"name": "sigma", "type": "float", "value": "1.5", "summary": "...", "per_axis": true}]}]. The text is the
 * library's. */
TSR_API const char* tsr_filters_json(void);
TSR_API tsr_status tsr_filter_new(const char* name, DLDataType, int rank, const tsr_options*, tsr_filter**);
TSR_API void tsr_filter_free(tsr_filter*);
/* Type and shape of the result, for an image of this shape: `shape` has TSR_MOST_DIMENSIONS elements. */
TSR_API tsr_status tsr_filter_result(const tsr_filter*, const int64_t* image, int32_t rank, DLDataType*, int64_t* shape,
                                     int32_t* result_rank);
/* `mask` is NULL where the option "mask" was not set; `result` of the type and shape of tsr_filter_result. */
TSR_API tsr_status tsr_filter_run(const tsr_filter*, const DLTensor* image, const DLTensor* mask,
                                  const DLTensor* result, const tsr_options*);
/* The part [begin, end) of the result alone, one number for each dimension of the image, into a `result` of its shape:
 * with the bits of the whole, as tsr_run_region_into. */
TSR_API tsr_status tsr_filter_run_region(const tsr_filter*, const DLTensor* image, const DLTensor* mask,
                                         const int64_t* begin, const int64_t* end, const DLTensor* result,
                                         const tsr_options*);
/* What a point of the result depends on, as tsr_locality says it of one output; negative where it lies beside its
 * place, as of a full extent. */
TSR_API tsr_status tsr_filter_locality(const tsr_filter*, char** json);
/* The part [read_begin, read_end) of an image of this shape, and so of its mask, that the part [begin, end) of the
 * result is computed from. */
TSR_API tsr_status tsr_filter_reads(const tsr_filter*, const int64_t* image, const int64_t* begin, const int64_t* end,
                                    int64_t* read_begin, int64_t* read_end, const tsr_options*);
/* tsr_filter_run_region of a part of an image, and of its mask, which covers what tsr_filter_reads says: `at` is where
 * its first point stands in the whole, `whole` the extents of that. */
TSR_API tsr_status tsr_filter_run_window(const tsr_filter*, const DLTensor* image, const DLTensor* mask,
                                         const int64_t* at, const int64_t* whole, const int64_t* begin,
                                         const int64_t* end, const DLTensor* result, const tsr_options*);
/* Its program's explanation for an image of this shape (`data` is not looked at). */
TSR_API tsr_status tsr_filter_explain(const tsr_filter*, const DLTensor* image, const char* format, const tsr_options*,
                                      char** text);

/* ---- pipelines: programs built call by call -----------------------------------------------------------------------
 */

/* The graph of tessera/pipeline.hpp without types: values, images, tables, extents and window variables are numbers of
 * their pipeline, given in order. The rules of that header hold. Freeing it leaves programs compiled from it. */
typedef struct tsr_pipeline tsr_pipeline;
typedef uint32_t tsr_value; /* a typed expression, computed at every point of the stage that it becomes */
typedef uint32_t tsr_image; /* an input or a stage, as one use sees it: with border modes and strides */
typedef uint32_t tsr_extent;
typedef uint32_t tsr_table;
typedef uint32_t tsr_variable; /* of a window */

/* The place of a neighbour along a dimension: number + sum of factors[k] * variables[k]. */
typedef struct {
  int64_t number;
  size_t terms;
  const tsr_variable* variables;
  const int64_t* factors;
} tsr_offset;

typedef enum { TSR_NONE, TSR_CLAMP, TSR_MIRROR, TSR_SYMMETRIC, TSR_WRAP, TSR_CONSTANT } tsr_border_mode;
typedef struct {
  tsr_border_mode mode;
  double value; /* of TSR_CONSTANT */
} tsr_border;

TSR_API tsr_status tsr_pipeline_new(tsr_pipeline**);
TSR_API void tsr_pipeline_free(tsr_pipeline*);

TSR_API tsr_status tsr_pipeline_size(tsr_pipeline*, const char* name, tsr_extent*); /* known when the program runs */
TSR_API tsr_status tsr_pipeline_extent(tsr_pipeline*, int64_t number, tsr_extent*);
TSR_API tsr_status tsr_pipeline_add_extents(tsr_pipeline*, tsr_extent, tsr_extent, tsr_extent*);
TSR_API tsr_status tsr_pipeline_subtract_extents(tsr_pipeline*, tsr_extent, tsr_extent, tsr_extent*);
TSR_API tsr_status tsr_pipeline_multiply_extents(tsr_pipeline*, tsr_extent, tsr_extent, tsr_extent*);
TSR_API tsr_status tsr_pipeline_divide_extent(tsr_pipeline*, tsr_extent, int64_t divisor,
                                              tsr_extent*); /* rounds down */

/* `extents` NULL: those of the rank, shared by all inputs. With fields an image for each of them is given, else one. */
TSR_API tsr_status tsr_pipeline_input(tsr_pipeline*, const char* name, DLDataType, int rank, const tsr_extent* extents,
                                      const char* const* fields, size_t field_count, tsr_image* images);
TSR_API tsr_status tsr_pipeline_scalar(tsr_pipeline*, const char* name, DLDataType, tsr_value*);
TSR_API tsr_status tsr_pipeline_table(tsr_pipeline*, const char* name, const DLTensor* values, tsr_table*);

TSR_API tsr_status tsr_pipeline_constant(tsr_pipeline*, DLDataType, double, tsr_value*);
TSR_API tsr_status tsr_pipeline_coord(tsr_pipeline*, int dimension, tsr_value*);        /* of the point */
TSR_API tsr_status tsr_pipeline_extent_value(tsr_pipeline*, int dimension, tsr_value*); /* of the point's stage */
/* By the operation's name in the text of graphs: add sub mul div rem and or xor shl shr lt le eq ne neg not min max abs
 * floor ceil round trunc sqrt exp log sin cos tan asin acos atan sinh cosh tanh exp2 log2 log10 cbrt pow atan2 hypot
 * fmod. Operands are promoted as in C++. */
TSR_API tsr_status tsr_pipeline_apply(tsr_pipeline*, const char* operation, const tsr_value*, size_t count, tsr_value*);
TSR_API tsr_status tsr_pipeline_convert(tsr_pipeline*, DLDataType, tsr_value, tsr_value*);  /* as a C cast */
TSR_API tsr_status tsr_pipeline_saturate(tsr_pipeline*, DLDataType, tsr_value, tsr_value*); /* half to even, clamped */
TSR_API tsr_status tsr_pipeline_select(tsr_pipeline*, tsr_value condition, tsr_value, tsr_value, tsr_value*);
TSR_API tsr_status tsr_pipeline_read(tsr_pipeline*, tsr_image, const tsr_offset*, size_t count, tsr_value*);
TSR_API tsr_status tsr_pipeline_gather(tsr_pipeline*, tsr_image, const tsr_value* indices, size_t count, tsr_value*);
TSR_API tsr_status tsr_pipeline_lookup(tsr_pipeline*, tsr_table, const tsr_value* indices, size_t count, tsr_value*);
TSR_API tsr_status tsr_pipeline_only(tsr_pipeline*, tsr_image, tsr_value*); /* of an image of one element */
/* Window variables with these ranges, both ends included; an offset of them as a value; a reduction over them: sum prod
 * rmin rmax median any all. */
TSR_API tsr_status tsr_pipeline_variables(tsr_pipeline*, const int32_t* lo, const int32_t* hi, size_t count,
                                          tsr_variable*);
TSR_API tsr_status tsr_pipeline_offset(tsr_pipeline*, const tsr_offset*, tsr_value*);
TSR_API tsr_status tsr_pipeline_reduce(tsr_pipeline*, const char* operation, const tsr_variable*, size_t count,
                                       tsr_value body, tsr_value*);

TSR_API tsr_status tsr_pipeline_borders(tsr_pipeline*, tsr_image, const tsr_border*, size_t count, tsr_image*);
TSR_API tsr_status tsr_pipeline_every(tsr_pipeline*, tsr_image, const int64_t* strides, size_t count, tsr_image*);
TSR_API tsr_status tsr_pipeline_stage(tsr_pipeline*, const char* name, tsr_value, tsr_image*);
/* What all elements come to, an image of one element: min_of max_of sum_of mean_of. */
TSR_API tsr_status tsr_pipeline_total(tsr_pipeline*, const char* name, const char* operation, tsr_image, tsr_image*);
/* One image, or its real and its imaginary part; two images are given. Along all dimensions where none are named. */
TSR_API tsr_status tsr_pipeline_fourier(tsr_pipeline*, const char* name, int inverse, const tsr_image*, size_t count,
                                        const int32_t* along, size_t along_count, tsr_image* pair);
/* `starts` and `strides` have rank elements for each piece. */
TSR_API tsr_status tsr_pipeline_compose(tsr_pipeline*, const char* name, const tsr_image* pieces, size_t count,
                                        int rank, const int64_t* starts, const int64_t* strides, tsr_image*);
/* A loop with a test: the images before an iteration, then, when its body is built, those after the last one. */
TSR_API tsr_status tsr_pipeline_begin_loop(tsr_pipeline*, const char* name, int64_t most, const tsr_image* first,
                                           size_t count, tsr_image* before);
TSR_API tsr_status tsr_pipeline_end_loop(tsr_pipeline*, const tsr_image* next, size_t count, tsr_value test,
                                         tsr_image* after);

TSR_API tsr_status tsr_pipeline_value_type(tsr_pipeline*, tsr_value, DLDataType*);
TSR_API tsr_status tsr_pipeline_image_type(tsr_pipeline*, tsr_image, DLDataType*, int32_t* rank);

/* Outputs in order; with fields the images are the planes of one array of structs. The pipeline stays as it is. */
typedef struct {
  const char* name; /* "": the only one */
  const tsr_image* images;
  size_t count;
  const char* const* fields; /* NULL for one image */
} tsr_output;
TSR_API tsr_status tsr_pipeline_compile(tsr_pipeline*, const tsr_output*, size_t count, const tsr_options*,
                                        tsr_program**);

#ifdef __cplusplus
}
#endif

#endif
