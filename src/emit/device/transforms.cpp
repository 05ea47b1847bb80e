// See transforms.hpp.
#include "emit/device/transforms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "emit/names.hpp"
#include "emit/signature.hpp"
#include "emit/tables.hpp"

namespace tessera::emit {

namespace detail {
extern const std::string_view opencl_spectra_text;
extern const std::string_view cuda_spectra_text;
extern const std::string_view device_host_spectra_text, device_spectra_kernels_text, cuda_waiting_text,
    opencl_waiting_text;
}  // namespace detail

namespace {

// Kinds of tables in host_spectra.c.inc that are those of transforms of known extents.
constexpr std::size_t first_sized_kind = 16;

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

// Tables go with the context that they were made in.
constexpr std::string_view opencl_forget = R"(
static void tsr_fft_forget(void) {
  while (tsr_fft_table_count > 0) clReleaseMemObject(tsr_fft_tables[--tsr_fft_table_count].at);
}
)";

std::string_view suffix_of(ElementType type) {
  return type == ElementType::f64 ? "f64" : "f32";
}

std::string kernels_of(ElementType type) {
  const bool doubles = type == ElementType::f64;
  return map_identifiers(detail::device_spectra_kernels_text, [&](std::string_view word) {
    if (word == "tsr_fft_real") return std::string(suffix_of(type));
    if (word == "tsr_fft_pair") return std::string(doubles ? "double2" : "float2");
    if (word == "tsr_fft_block") return std::string(doubles ? "128" : "256");
    if (!word.starts_with("tsr_fft_") || word == "tsr_fft_numbers") return std::string(word);
    return fmt::format("{}_{}", word, suffix_of(type));
  });
}

// Tables of transforms of known extents, each once. They are made when the file is, since their order is that of the
// kernels.
std::string tables_of(const std::vector<SizedTransform>& sized) {
  std::string text, list;
  std::map<std::pair<bool, std::vector<double>>, std::size_t> known;
  i64 numbers = 0;
  for (const SizedTransform& t : sized) {
    const bool doubles = t.made.plan.problem.type == ElementType::f64;
    for (const lower::TransformKernel& kernel : t.made.kernels) {
      const auto [at, fresh] = known.try_emplace({doubles, kernel.tables}, known.size());
      list += fmt::format("{}{{tsr_sized_table_{}, sizeof tsr_sized_table_{}}}", list.empty() ? "" : ", ", at->second,
                          at->second);
      if (!fresh) continue;
      numbers += static_cast<i64>(kernel.tables.size());
      check_transform_tables(numbers);
      text += fmt::format("static const {} tsr_sized_table_{}[] = {{", doubles ? "double" : "float", at->second);
      for (std::size_t k = 0; k < kernel.tables.size(); ++k)
        text += fmt::format("{}{:.{}g}", k == 0 ? "" : k % 8 == 0 ? ",\n" : ", ", kernel.tables[k], doubles ? 17 : 9);
      text += "};\n";
    }
  }
  if (list.empty()) return "";
  return "\n/* Of transforms whose extents are known. */\n" + text +
         fmt::format(
             "typedef struct {{\n  const void* numbers;\n  i64 bytes;\n}} tsr_sized_table;\n"
             "static const tsr_sized_table tsr_sized_tables[] = {{{}}};\n#define TSR_SIZED\n",
             list);
}

// The body of a function that launches the kernels of a plan, as FftOnDevice::run does.
class Launches {
 public:
  Launches(const SizedTransform& what, bool cuda, const std::string& suffix, std::size_t first_kernel,
           std::size_t first_table)
      : made_(what.made),
        cuda_(cuda),
        suffix_(suffix),
        first_kernel_(first_kernel),
        first_table_(first_table),
        size_(what.made.plan.problem.type == ElementType::f64 ? 8 : 4) {}

  std::string text(const std::string& name) {
    const fft::DevicePlan& plan = made_.plan;
    line(fmt::format("static void {}(tsr_session* s, tsr_memory from, tsr_memory to) {{", name));
    ++depth_;
    line(fmt::format("tsr_memory m[{}] = {{0}}, table[{}];", fft::DeviceStep::buffers, made_.kernels.size()));
    line("tsr_fft_work w;");
    line(fmt::format("w.s = s, w.doubles = {}, w.count = 0;", size_ == 8 ? 1 : 0));
    for (std::size_t k = 0; k < made_.kernels.size(); ++k)
      line(fmt::format("table[{}] = tsr_fft_table_of(&w, {}, 1, 0);", k, first_sized_kind + first_table_ + k));
    line("m[0] = from, m[1] = to;");
    const bool other = std::any_of(plan.phases.begin(), plan.phases.end(),
                                   [](const fft::DevicePhase& phase) { return phase.steps.size() > 2; });
    room(fft::DeviceStep::Buffer::half, plan.half);
    room(fft::DeviceStep::Buffer::whole, plan.whole);
    room(fft::DeviceStep::Buffer::chunk, plan.chunk);
    room(fft::DeviceStep::Buffer::other_chunk, other ? plan.chunk : 0);
    for (const fft::DevicePhase& each : plan.phases) phase(each);
    line("while (w.count > 0) tsr_fft_free(s, w.own[--w.count]);");
    --depth_;
    line("}");
    return out_;
  }

 private:
  void line(const std::string& text) { out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n"; }
  void room(fft::DeviceStep::Buffer which, i64 numbers) {
    if (numbers > 0) line(fmt::format("m[{}] = tsr_fft_room(&w, {}LL);", static_cast<int>(which), numbers));
  }

  void phase(const fft::DevicePhase& phase) {
    std::string from = "0", to = "0";
    const auto loop = [&](const std::string& index, i64 extent, i64 by, i64 from_stride, i64 to_stride) {
      if (extent <= by) return false;
      line("{");
      ++depth_;
      line(fmt::format("i64 {};", index));
      line(fmt::format("for ({0} = 0; {0} < {1}LL; {0} += {2}LL) {{", index, extent, by));
      ++depth_;
      from += fmt::format(" + {} * {}LL", index, from_stride * size_);
      to += fmt::format(" + {} * {}LL", index, to_stride * size_);
      return true;
    };
    int open = 0;
    for (std::size_t k = 0; k < phase.loops.size(); ++k)
      open += loop(fmt::format("i{}", k), phase.loops[k].extent, 1, phase.loops[k].from, phase.loops[k].to) ? 1 : 0;
    const bool chunks = loop("first", phase.counted.extent, phase.chunk, phase.counted.from, phase.counted.to);
    open += chunks ? 1 : 0;
    for (std::size_t k = 0; k < phase.steps.size(); ++k)
      step(phase, phase.steps[k], k == 0 ? from : "0", k + 1 == phase.steps.size() ? to : "0", chunks);
    for (; open > 0; --open) {
      --depth_;
      line("}");
      --depth_;
      line("}");
    }
  }

  void step(const fft::DevicePhase& phase, const fft::DeviceStep& step, const std::string& from, const std::string& to,
            bool chunks) {
    const std::size_t kernel = made_.index_of(step);
    const i64 extent = phase.counted.extent, chunk = std::min(phase.chunk, extent), rest = extent % chunk;
    std::string count = std::to_string(chunk) + "LL", blocks = std::to_string(fft::blocks_of(step, chunk)) + "LL";
    if (chunks && rest > 0) {
      const std::string whole = fmt::format("first + {}LL <= {}LL", chunk, extent);
      count = fmt::format("{} ? {} : {}LL", whole, count, rest);
      blocks = fmt::format("({} ? {} : {}LL)", whole, blocks, fft::blocks_of(step, rest));
    }
    const std::string name = made_.kernels[kernel].name + suffix_;
    line("{");
    ++depth_;
    std::string arrays =
        fmt::format("m[{}], m[{}], table[{}]", static_cast<int>(step.from), static_cast<int>(step.to), kernel);
    const i64 counters = step.second ? 4 * step.order.counters() : 0;
    if (step.second) {
      line(fmt::format("tsr_memory counters = tsr_fft_new(s, {}LL);", counters));
      arrays += ", counters";
    }
    const std::string integers = fmt::format("{}, {}, {}", from, to, count);
    const i64 threads = made_.kernels[kernel].threads;
    if (cuda_) {
      line(fmt::format("const {}_integers{} n = {{{{{}}}}};", made_.kernels[kernel].name, suffix_, integers));
      if (step.second)
        line(fmt::format("if (s->status == cudaSuccess) tsr_ok(s, cudaMemsetAsync(counters, 0, {}, s->stream));",
                         counters));
      line(fmt::format("TSR_RUN({}, {}, {}, 1, {}, n);", name, blocks, threads, arrays));
    } else {
      line(fmt::format("const cl_mem a[] = {{{}}};", arrays));
      line(fmt::format("const i64 n[] = {{{}}};", integers));
      line(fmt::format("tsr_launch(s, {}, {}, {}, 1, a, {}, n, sizeof n);", first_kernel_ + kernel, blocks, threads,
                       step.second ? 4 : 3));
    }
    if (step.second) line("tsr_fft_free(s, counters);");
    --depth_;
    line("}");
  }

  const lower::TransformProgram& made_;
  const bool cuda_;
  const std::string suffix_;
  const std::size_t first_kernel_, first_table_;
  const i64 size_;  // of a number
  int depth_ = 0;
  std::string out_ = "\n";
};

}  // namespace

std::string waiting_text(DeviceDialect dialect) {
  return "\n" + std::string(dialect == DeviceDialect::cuda ? detail::cuda_waiting_text : detail::opencl_waiting_text);
}

SpectraText spectra_text(const std::set<ElementType>& types, DeviceDialect dialect, std::size_t first_kernel,
                         const std::vector<SizedTransform>& sized) {
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
  result.host += "\n" + std::string(cuda ? detail::cuda_spectra_text : detail::opencl_spectra_text) + launches + "}\n" +
                 tables_of(sized);
  result.host += std::string(detail::device_host_spectra_text) + std::string(cuda ? "" : opencl_forget);
  return result;
}

std::string sized_function(const SizedTransform& what, DeviceDialect dialect, const std::string& name,
                           const std::string& suffix, std::size_t first_kernel, std::size_t first_table) {
  return Launches(what, dialect == DeviceDialect::cuda, suffix, first_kernel, first_table).text(name);
}

}  // namespace tessera::emit
