// See parts.hpp.
#include "emit/device/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/names.hpp"
#include "emit/signature.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view host_spectra_text, spectra_kernels_text;
}

namespace {

constexpr std::string_view numbers_text = R"(
typedef struct {
  i64 points, threads, lines, across, count; /* points and threads of a line, lines of a block and of all */
  i64 e0, e1, f0, f1, f2, f_leg, t0, t1, t2, t_leg; /* of lines, and how far they are apart: from, to */
  i64 radices, passes, how;
  i64 in_step, in_part, in_count, out_step, out_part, out_count, over;
} tsr_fft_numbers;
)";

constexpr std::string_view cuda_macros = R"(#define TSR_FFT_INLINE TSR_INLINE
#define TSR_FFT_KERNEL(threads) TSR_KERNEL __global__ void __launch_bounds__(threads)
#define TSR_FFT_SHARED(type, name, count) __shared__ __align__(16) type name[count]
)";
// (PoCL 3.1 takes arrays of other threads in functions that it calls and does not write out in place.)
constexpr std::string_view opencl_macros = R"(#define TSR_FFT_INLINE static inline __attribute__((always_inline))
#define TSR_FFT_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TSR_FFT_SHARED(type, name, count) __local type name[count]
)";

constexpr std::string_view cuda_host = R"(
typedef u8* tsr_memory;
#define TSR_NO_MEMORY cudaErrorMemoryAllocation
#define TSR_TOO_LONG cudaErrorInvalidValue
static std::mutex tsr_fft_mutex;
static void tsr_fft_lock() { tsr_fft_mutex.lock(); }
static void tsr_fft_unlock() { tsr_fft_mutex.unlock(); }
static int tsr_fft_device() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}
static u8* tsr_fft_new(tsr_session* s, i64 bytes) { return tsr_allocate(s, bytes); }
static void tsr_fft_done(tsr_session* s, u8* at) { tsr_free(s, at); }
/* It is there when this returns: other streams will read it. */
static u8* tsr_fft_sent(tsr_session* s, const void* from, i64 bytes) {
  u8* const at = tsr_allocate(s, bytes);
  if (at && tsr_ok(s, cudaMemcpyAsync(at, from, (size_t)bytes, cudaMemcpyDefault, s->stream)))
    tsr_ok(s, cudaStreamSynchronize(s->stream));
  return at;
}
static void tsr_fft_launch(tsr_session* s, int doubles, i64 blocks, const tsr_memory* a, const tsr_fft_numbers* n) {
)";
constexpr std::string_view opencl_host = R"(
typedef cl_mem tsr_memory;
#define TSR_NO_MEMORY CL_OUT_OF_HOST_MEMORY
#define TSR_TOO_LONG CL_INVALID_BUFFER_SIZE
static void tsr_fft_lock(void) {}
static void tsr_fft_unlock(void) {}
static int tsr_fft_device(void) { return 0; }
static cl_mem tsr_fft_new(tsr_session* s, i64 bytes) { return tsr_allocate(s, bytes, NULL); }
static void tsr_fft_done(tsr_session* s, cl_mem at) {
  (void)s;
  if (at) clReleaseMemObject(at);
}
static cl_mem tsr_fft_sent(tsr_session* s, const void* from, i64 bytes) { return tsr_allocate(s, bytes, from); }
static void tsr_fft_launch(tsr_session* s, int doubles, i64 blocks, const tsr_memory* a, const tsr_fft_numbers* n) {
)";
// Tables go with the context that they were made in.
constexpr std::string_view opencl_forget = R"(
static void tsr_fft_forget(void) {
  while (tsr_fft_table_count > 0) clReleaseMemObject(tsr_fft_tables[--tsr_fft_table_count].at);
}
)";

// Memory of the device without gaps: the caller's where it lies so, else a copy.
constexpr std::string_view cuda_arrays = R"(
struct tsr_lent {
  u8* at;
  const void* given;
  i64 bytes;
  int own;
};

static inline void tsr_bring(tsr_session* s, tsr_lent* a, const void* given, i64 bytes, int input) {
  cudaPointerAttributes what;
  const bool known = cudaPointerGetAttributes(&what, given) == cudaSuccess;
  if (!known) (void)cudaGetLastError();
  a->given = given;
  a->bytes = bytes;
  a->own = !(known && (what.type == cudaMemoryTypeDevice || what.type == cudaMemoryTypeManaged) && (u64)given % 16 == 0);
  a->at = a->own ? tsr_allocate(s, bytes) : (u8*)given;
  if (a->own && input && s->status == cudaSuccess)
    tsr_ok(s, cudaMemcpyAsync(a->at, given, (size_t)bytes, cudaMemcpyDefault, s->stream));
}

static inline void tsr_return(tsr_session* s, tsr_lent* a, int output) {
  if (!a->own) return;
  if (output && s->status == cudaSuccess)
    tsr_ok(s, cudaMemcpyAsync((void*)a->given, a->at, (size_t)a->bytes, cudaMemcpyDefault, s->stream));
  tsr_free(s, a->at);
}
)";

std::string_view suffix_of(ElementType type) {
  return type == ElementType::f64 ? "f64" : "f32";
}

std::string kernels_of(ElementType type) {
  const bool doubles = type == ElementType::f64;
  return map_identifiers(detail::spectra_kernels_text, [&](std::string_view word) {
    if (word == "tsr_fft_real") return std::string(suffix_of(type));
    if (word == "tsr_fft_pair") return std::string(doubles ? "double2" : "float2");
    if (word == "tsr_fft_block") return std::string(doubles ? "128" : "256");
    if (!word.starts_with("tsr_fft_") || word == "tsr_fft_numbers") return std::string(word);
    return fmt::format("{}_{}", word, suffix_of(type));
  });
}

class Function {
 public:
  Function(const ir::Graph& graph, const rewrite::Parts& parts, DeviceDialect dialect)
      : graph_(graph), parts_(parts), cuda_(dialect == DeviceDialect::cuda), extent_(graph, sizes_) {}

  std::string text(const std::string& name, const std::vector<std::string>& functions) {
    const std::size_t arrays = graph_.arguments.size() + graph_.outputs.size(),
                      between = std::max<std::size_t>(1, parts_.between.size());
    std::string body;
    if (cuda_) body += bring();
    for (std::size_t k = 0; k < parts_.steps.size(); ++k) body += step(k, functions[k]);
    if (cuda_) body += give_back();
    const std::string none = extent_.none_left();
    std::string text = fmt::format("\nstatic void {}(tsr_session* s, {} given, const i64* N) {{\n", name,
                                   cuda_ ? "const void* const*" : "const cl_mem*");
    text += fmt::format("  tsr_memory b[{}];\n", between);
    if (cuda_) text += fmt::format("  tsr_lent a[{}] = {{}};\n", arrays);
    text += sizes_ + "  (void)b;\n  (void)N;\n";
    if (!none.empty()) text += "  if (" + none + ") return;\n";
    return text + body + "}\n";
  }

 private:
  std::size_t index_of(const rewrite::Place& p) const {
    return p.kind == rewrite::Place::Kind::argument ? p.index : graph_.arguments.size() + p.index;
  }

  std::string place(const rewrite::Place& p) const {
    if (p.kind == rewrite::Place::Kind::between) return fmt::format("b[{}]", p.index);
    const bool scalar = p.kind == rewrite::Place::Kind::argument && !graph_.arguments[p.index].is_array;
    return fmt::format("{}[{}]{}", cuda_ && !scalar ? "a" : "given", index_of(p), cuda_ && !scalar ? ".at" : "");
  }

  std::string bytes(const Format& format, const std::vector<ir::SizeId>& domain) {
    std::string text = fmt::format("{}", format.size());
    for (const ir::SizeId n : domain) text = fmt::format("tsr_fft_bytes({}, {})", text, extent_(n));
    return text;
  }

  std::string bring() {
    std::string text;
    const auto one = [&](std::size_t k, const Format& format, const std::vector<ir::SizeId>& domain, bool input) {
      text += fmt::format("  tsr_bring(s, &a[{0}], given[{0}], {1}, {2});\n", k, bytes(format, domain), input ? 1 : 0);
    };
    for (std::size_t k = 0; k < graph_.arguments.size(); ++k)
      if (graph_.arguments[k].is_array) one(k, graph_.arguments[k].format, graph_.arguments[k].extents, true);
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k)
      one(graph_.arguments.size() + k, graph_.outputs[k].format, graph_.stage(graph_.outputs[k].stages.front()).domain,
          graph_.outputs[k].format.has_padding());  // which stays as it was
    return text;
  }

  std::string give_back() const {
    std::string text;
    for (std::size_t k = 0; k < graph_.arguments.size(); ++k)
      if (graph_.arguments[k].is_array) text += fmt::format("  tsr_return(s, &a[{}], 0);\n", k);
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k)
      text += fmt::format("  tsr_return(s, &a[{}], 1);\n", graph_.arguments.size() + k);
    return text;
  }

  // Arrays between steps are there from the step that writes them to the last one that reads them.
  std::string step(std::size_t k, const std::string& function) {
    const rewrite::Step& step = parts_.steps[k];
    std::string text;
    for (const rewrite::Place& p : step.outputs)
      if (p.kind == rewrite::Place::Kind::between)
        text += fmt::format("  b[{}] = tsr_fft_new(s, {});\n", p.index,
                            bytes(parts_.between[p.index].format, parts_.between[p.index].domain));
    text += step.is_part() ? call(step, function) : transform(step);
    for (std::size_t b = 0; b < parts_.between.size(); ++b)
      if (std::max(parts_.between[b].last, writer_of(b)) == k) text += fmt::format("  tsr_fft_done(s, b[{}]);\n", b);
    return text;
  }

  std::size_t writer_of(std::size_t between) const {
    const rewrite::Place wanted{rewrite::Place::Kind::between, between};
    for (std::size_t k = 0; k < parts_.steps.size(); ++k)
      if (std::count(parts_.steps[k].outputs.begin(), parts_.steps[k].outputs.end(), wanted) > 0) return k;
    return 0;
  }

  std::string call(const rewrite::Step& step, const std::string& function) const {
    std::string list;
    for (const auto* places : {&step.inputs, &step.outputs})
      for (const rewrite::Place& p : *places) list += (list.empty() ? "" : ", ") + place(p);
    return fmt::format("  {{\n    {} g[] = {{{}}};\n    {}(s, g, N);\n  }}\n",
                       cuda_ ? "const void* const" : "const cl_mem", list, function);
  }

  std::string transform(const rewrite::Step& step) {
    std::string shape;
    for (const ir::SizeId n : step.domain) shape += (shape.empty() ? "" : ", ") + extent_(n);
    int along = 0;
    for (const int d : step.along) along |= 1 << d;
    return fmt::format(
        "  {{\n    const i64 shape[] = {{{}}};\n    tsr_fft_transform(s, {}, {}, {}, {}, {}, {}, shape, {});\n  }}\n",
        shape, step.type == ElementType::f64 ? 1 : 0, place(step.inputs[0]), place(step.outputs[0]),
        (step.from_real ? 1 : 0) + (step.to_real ? 2 : 0), step.inverse ? 1 : 0, step.domain.size(), along);
  }

  const ir::Graph& graph_;
  const rewrite::Parts& parts_;
  bool cuda_;
  std::string sizes_;
  Extents extent_;
};

}  // namespace

SpectraText spectra_text(const std::set<ElementType>& types, DeviceDialect dialect, std::size_t first_kernel) {
  const bool cuda = dialect == DeviceDialect::cuda;
  SpectraText result;
  if (types.empty()) return result;
  result.kernels = std::string(numbers_text) + std::string(cuda ? cuda_macros : opencl_macros);
  result.kernels += "#define tsr_fft_c_f32(x) x##f\n#define tsr_fft_c_f64(x) x\n";
  std::string launches;
  for (const ElementType type : types) {
    result.kernels += kernels_of(type);
    const std::string name = fmt::format("tsr_fft_lines_{}", suffix_of(type)),
                      when = type == ElementType::f64 ? "doubles" : "!doubles";
    if (cuda)
      launches += fmt::format(
          "  if ({0}) TSR_RUN({1}, blocks, {2}, 1, a[0], a[1], (const {3}*)a[2], (const {3}*)a[3], (const {3}*)a[4], "
          "(const {3}*)a[5], *n);\n",
          when, name, type == ElementType::f64 ? 128 : 256, type == ElementType::f64 ? "double2" : "float2");
    else
      launches += fmt::format("  if ({}) tsr_launch(s, {}, blocks, {}, 1, a, 6, (const i64*)n, sizeof *n);\n", when,
                              first_kernel + result.names.size(), type == ElementType::f64 ? 128 : 256);
    result.names.push_back(name);
  }
  if (!cuda) result.host = numbers_text;
  result.host += std::string(cuda ? cuda_host : opencl_host) + launches + "}\n";
  result.host += std::string(detail::host_spectra_text) + std::string(cuda ? cuda_arrays : opencl_forget);
  return result;
}

std::string parts_function(const ir::Graph& graph, const rewrite::Parts& parts, DeviceDialect dialect,
                           const std::string& name, const std::vector<std::string>& functions) {
  return Function(graph, parts, dialect).text(name, functions);
}

}  // namespace tessera::emit
