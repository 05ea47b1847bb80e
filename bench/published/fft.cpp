// The stages of the document on mixed-radix Fourier transforms in two dimensions, on OpenCL, each timed by the wall:
// what it costs the host to start kernels is what the first stages are about.
//
//   cpu              everything in plain C++, one thread
//   rows             a kernel a row; the host transposes mapped buffers
//   ranges           ranges of two dimensions; the host transposes
//   elements         an element an item is transposed on the device
//   blocks           2 x 2 elements an item
//   in place         two blocks of 2 x 2 change places, one buffer less
//   groups           the same in groups of 2 x 4 items
//   radix 2          the same with radix 2 alone, where the size is a power of two
//   tessera          our transforms, which run on the processor's cores
//
// Every result is compared with double numbers, and those with plain sums at some frequencies. Odd sizes are padded to
// the next even one in both axes, so that blocks need no tests. The last rows are the document's high-pass filter.
#include "published/fft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <sstream>

#include "../random.hpp"
#include "engine/fft/fft.hpp"
#include "io/image.hpp"
#include "published/common.hpp"
#include "run/opencl/core.hpp"

namespace tessera::published {
namespace {

namespace opencl = run::opencl;
namespace cl = run::opencl::cl;
using Complex = std::complex<float>;

// ---- OpenCL as the document uses it
// -----------------------------------------------------------------------------------

class Context {
 public:
  explicit Context(const Options&);
  const opencl::Listed& listed() const { return core_.listed; }
  opencl::Handle<cl::Mem> buffer(i64 bytes);
  void write(cl::Mem, const void*, i64 bytes);
  void read(cl::Mem, void*, i64 bytes);
  // `group` 0 leaves it to OpenCL.
  template <class... Arguments>
  void start(const std::string& kernel, i64 width, i64 height, std::array<std::size_t, 2> group,
             Arguments... arguments);
  void finish() { core_.check(core_.cl.clFinish(queue_.get()), "finish its commands"); }
  void* map(cl::Mem, cl::Flags how, i64 bytes);
  void unmap(cl::Mem, void*);

 private:
  opencl::Core core_;
  opencl::Handle<cl::Queue> queue_;
  opencl::Handle<cl::Program> program_;
  std::map<std::string, opencl::Handle<cl::Kernel>> kernels_;
};

const opencl::Listed& chosen(const Options& options) {
  const opencl::Listing& all = opencl::listing();
  if (static_cast<std::size_t>(options.device) >= all.devices.size())
    throw Error(ErrorClass::device,
                fmt::format("there is no OpenCL device {}, found {}", options.device, all.devices.size()), all.notes);
  return all.devices[static_cast<std::size_t>(options.device)];
}

Context::Context(const Options& options) : core_(chosen(options)), queue_(core_.make_queue()) {
  std::ostringstream text;
  for (const char* name : {"prelude.cl", "fft.cl"}) {
    std::ifstream file(options.texts + "/" + name);
    if (!(text << file.rdbuf()))
      throw Error(ErrorClass::io, fmt::format("'{}/{}' cannot be read", options.texts, name));
  }
  const std::string source = text.str();
  const char* start = source.data();
  const std::size_t size = source.size();
  const cl::Device device = core_.device();
  cl::Int code = cl::success;
  program_ = {core_.cl.clCreateProgramWithSource(core_.context(), 1, &start, &size, &code), core_.cl.clReleaseProgram};
  core_.check(code, "take a program");
  code = core_.cl.clBuildProgram(program_.get(), 1, &device, "-cl-std=CL1.2 -cl-mad-enable", nullptr, nullptr);
  if (code == cl::success) return;
  std::string log(1 << 16, '\0');
  core_.cl.clGetProgramBuildInfo(program_.get(), device, cl::program_build_log, log.size(), log.data(), nullptr);
  throw Error(ErrorClass::device, fmt::format("fft.cl does not compile: {}", log.substr(0, log.find('\0'))));
}

// Mapped without a copy where the device's memory is the host's.
opencl::Handle<cl::Mem> Context::buffer(i64 bytes) {
  cl::Int code = cl::success;
  const cl::Flags how = cl::mem_read_write | (listed().limits.integrated ? cl::mem_alloc_host_ptr : 0);
  const cl::Mem made = core_.cl.clCreateBuffer(core_.context(), how, static_cast<std::size_t>(bytes), nullptr, &code);
  core_.check(code, "make a buffer");
  return {made, core_.cl.clReleaseMemObject};
}

void Context::write(cl::Mem to, const void* from, i64 bytes) {
  core_.check(
      core_.cl.clEnqueueWriteBuffer(queue_.get(), to, 1, 0, static_cast<std::size_t>(bytes), from, 0, nullptr, nullptr),
      "write a buffer");
}

void Context::read(cl::Mem from, void* to, i64 bytes) {
  core_.check(
      core_.cl.clEnqueueReadBuffer(queue_.get(), from, 1, 0, static_cast<std::size_t>(bytes), to, 0, nullptr, nullptr),
      "read a buffer");
}

void* Context::map(cl::Mem buffer, cl::Flags how, i64 bytes) {
  cl::Int code = cl::success;
  void* at = core_.cl.clEnqueueMapBuffer(queue_.get(), buffer, 1, how, 0, static_cast<std::size_t>(bytes), 0, nullptr,
                                         nullptr, &code);
  core_.check(code, "map a buffer");
  return at;
}

void Context::unmap(cl::Mem buffer, void* at) {
  core_.check(core_.cl.clEnqueueUnmapMemObject(queue_.get(), buffer, at, 0, nullptr, nullptr), "unmap a buffer");
}

template <class... Arguments>
void Context::start(const std::string& name, i64 width, i64 height, std::array<std::size_t, 2> group,
                    Arguments... arguments) {
  opencl::Handle<cl::Kernel>& kernel = kernels_[name];
  cl::Int code = cl::success;
  if (!kernel) kernel = {core_.cl.clCreateKernel(program_.get(), name.c_str(), &code), core_.cl.clReleaseKernel};
  core_.check(code, fmt::format("take the kernel '{}'", name));
  cl::UInt index = 0;
  (core_.check(core_.cl.clSetKernelArg(kernel.get(), index++, sizeof arguments, &arguments), "set an argument"), ...);
  const std::size_t range[2] = {static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
  core_.check(core_.cl.clEnqueueNDRangeKernel(queue_.get(), kernel.get(), height == 0 ? 1 : 2, nullptr, range,
                                              group[0] == 0 ? nullptr : group.data(), 0, nullptr, nullptr),
              fmt::format("start the kernel '{}'", name));
}

// ---- the stages
// -------------------------------------------------------------------------------------------------------

enum class Transposition { host, elements, blocks, in_place };

struct Version {
  std::string name;
  bool rows = false;  // a launch a row
  Transposition transposition = Transposition::host;
  bool groups = false;
  bool only_two = false;
};

const std::vector<Version> versions{{"rows", true},
                                    {"ranges"},
                                    {"elements", false, Transposition::elements},
                                    {"blocks", false, Transposition::blocks},
                                    {"in place", false, Transposition::in_place},
                                    {"groups", false, Transposition::in_place, true},
                                    {"radix 2", false, Transposition::in_place, true, true}};

// As the document sets it: the largest of 2 x 4, 1 x 2 and nothing that divides.
std::array<std::size_t, 2> group_for(i64 items) {
  if (items % 4 == 0) return {2, 4};
  if (items % 2 == 0) return {1, 2};
  return {0, 0};
}

// One size on the device: its buffers, and a transform of `input` in any version.
class Matrix {
 public:
  Matrix(Context& context, i64 n)
      : context_(context),
        n_(n),
        padded_(n + n % 2),
        input(context.buffer(bytes())),
        work_{context.buffer(bytes()), context.buffer(bytes())} {}
  i64 padded() const { return padded_; }
  i64 bytes() const { return padded_ * padded_ * static_cast<i64>(sizeof(Complex)); }
  cl::UInt stride() const { return static_cast<cl::UInt>(2 * padded_); }
  // The buffer with the result, transposed back.
  cl::Mem run(const Version&, cl::Mem from);
  cl::Mem other_than(cl::Mem m) const { return m == work_[0].get() ? work_[1].get() : work_[0].get(); }

 private:
  void stages(const Version&, const std::vector<i64>& radices, cl::Mem from, cl::Mem to);
  cl::Mem transpose(const Version&, cl::Mem);
  void transpose_on_host(cl::Mem from, cl::Mem to);
  Context& context_;
  i64 n_, padded_;
  std::map<bool, opencl::Handle<cl::Mem>> orders_;

 public:
  opencl::Handle<cl::Mem> input;

 private:
  opencl::Handle<cl::Mem> work_[2];
};

void Matrix::stages(const Version& v, const std::vector<i64>& radices, cl::Mem from, cl::Mem to) {
  opencl::Handle<cl::Mem>& order = orders_[v.only_two];
  if (!order) {
    const std::vector<std::uint32_t> index = digits_reversed(radices);
    order = context_.buffer(4 * n_);
    context_.write(order.get(), index.data(), 4 * n_);
  }
  const std::string kind = v.rows ? "row" : "all";
  // A kernel a row, or one for all.
  const auto every = [&](const std::string& kernel, i64 items, auto... arguments) {
    if (!v.rows) return context_.start(kernel, items, n_, {0, 0}, arguments(stride())...);
    for (i64 row = 0; row < n_; ++row)
      context_.start(kernel, items, 0, {0, 0}, arguments(static_cast<cl::UInt>(row * 2 * padded_))...);
  };
  const auto fixed = [](auto value) { return [value](cl::UInt) { return value; }; };
  const auto place = [](cl::UInt where) { return where; };
  every(kind + "_reverse", n_, fixed(from), fixed(to), fixed(order.get()), place);
  i64 done = 1;
  for (const i64 radix : radices) {
    const float phi = static_cast<float>(-2 * std::numbers::pi / static_cast<double>(done * radix));
    if (done == 1)
      every(fmt::format("{}_first_{}", kind, radix), n_ / radix, fixed(to), place);
    else
      every(fmt::format("{}_next_{}", kind, radix), n_ / radix, fixed(to), place, fixed(static_cast<cl::UInt>(done)),
            fixed(phi));
    done *= radix;
  }
}

void Matrix::transpose_on_host(cl::Mem from, cl::Mem to) {
  const auto* a = static_cast<const Complex*>(context_.map(from, cl::map_read, bytes()));
  auto* b = static_cast<Complex*>(context_.map(to, cl::map_write, bytes()));
  for (i64 y = 0; y < n_; ++y)
    for (i64 x = 0; x < n_; ++x) b[x * padded_ + y] = a[y * padded_ + x];
  context_.unmap(from, const_cast<Complex*>(a));
  context_.unmap(to, b);
}

cl::Mem Matrix::transpose(const Version& v, cl::Mem from) {
  const cl::Mem to = other_than(from);
  const i64 half = padded_ / 2;
  const std::array<std::size_t, 2> group = v.groups ? group_for(half) : std::array<std::size_t, 2>{0, 0};
  switch (v.transposition) {
    case Transposition::host:
      transpose_on_host(from, to);
      return to;
    case Transposition::elements:
      context_.start("transpose", n_, n_, {0, 0}, from, to, stride());
      return to;
    case Transposition::blocks:
      context_.start("transpose_2x2", half, half, group, from, to, stride());
      return to;
    case Transposition::in_place:
      context_.start("swap_2x2", half, half, group, from, stride());
      return from;
  }
  return to;
}

cl::Mem Matrix::run(const Version& v, cl::Mem from) {
  const std::vector<i64> radices = radices_of(n_, v.only_two);
  for (int axis = 0; axis < 2; ++axis) {
    const cl::Mem to = other_than(from);
    stages(v, radices, from, to);
    from = transpose(v, to);
  }
  context_.finish();
  return from;
}

// ---- measurements
// -----------------------------------------------------------------------------------------------------

std::vector<Complex> padded_copy(const std::vector<std::complex<double>>& matrix, i64 n, i64 stride) {
  std::vector<Complex> copy(static_cast<std::size_t>(stride * stride));
  for (i64 k = 0; k < n * n; ++k)
    copy[static_cast<std::size_t>(k / n * stride + k % n)] = Complex(matrix[static_cast<std::size_t>(k)]);
  return copy;
}

// Element by element: the largest distance, in parts of the root of the mean square of all.
bool compare(const std::vector<Complex>& got, i64 stride, const std::vector<std::complex<double>>& wanted, i64 n,
             Json& row) {
  double norm = 0, largest = 0;
  for (const std::complex<double>& w : wanted) norm += std::norm(w) / static_cast<double>(n * n);
  for (i64 k = 0; k < n * n; ++k) {
    const double d = std::abs(std::complex<double>(got[static_cast<std::size_t>(k / n * stride + k % n)]) -
                              wanted[static_cast<std::size_t>(k)]);
    largest = d <= largest ? largest : d;  // not a number stays
  }
  largest /= std::sqrt(norm);
  row["largest_difference"] = std::stod(fmt::format("{:.3g}", largest));
  row["verdict"] = largest <= 2e-5 ? "same" : "DIFFERENT";
  return largest <= 2e-5;
}

std::vector<std::complex<double>> random_matrix(i64 n) {
  bench::Lcg random(static_cast<unsigned>(n));
  std::vector<std::complex<double>> matrix;
  for (i64 k = 0; k < n * n; ++k) {
    const float re = 2 * random.unit() - 1, im = 2 * random.unit() - 1;
    matrix.emplace_back(re, im);
  }
  return matrix;
}

bool measure_size(Context& context, i64 n, const Options& options) {
  const int repeat = options.repeat > 0 ? options.repeat : options.quick ? 2 : n > 1500 ? 3 : 10;
  const std::vector<std::complex<double>> input = random_matrix(n);
  std::vector<std::complex<double>> wanted = input;
  transform(wanted, n, n, radices_of(n, false));
  if (distance_from_sums(input, wanted, n) > 1e-8 * static_cast<double>(n))
    throw Error(ErrorClass::internal, fmt::format("the reference of size {} is not what sums give", n));
  Matrix matrix(context, n);
  const std::vector<Complex> start = padded_copy(input, n, matrix.padded());
  context.write(matrix.input.get(), start.data(), matrix.bytes());
  bool good = true;
  std::vector<Json> rows;
  std::vector<Timer> timers;
  // Runs it, compares, and keeps it to be timed.
  const auto add = [&](const std::string& name, const std::function<void()>& run, const auto& result, i64 stride) {
    run();
    rows.push_back({{"kind", "transform"}, {"size", n}, {"version", name}});
    good &= compare(result(), stride, wanted, n, rows.back());
    timers.push_back(by_wall(run));
  };
  std::vector<Complex> got = start, plain;
  const auto on_host = [&] { transform(plain = start, n, matrix.padded(), radices_of(n, false)); };
  add("cpu", on_host, [&]() -> const auto& { return plain; }, matrix.padded());
  cl::Mem place = nullptr;
  for (const Version& v : versions) {
    if (radices_of(n, v.only_two).empty()) continue;
    const auto read = [&]() -> const auto& {
      context.read(place, got.data(), matrix.bytes());
      return got;
    };
    add(v.name, [&, v] { place = matrix.run(v, matrix.input.get()); }, read, matrix.padded());
  }
  fft::Problem problem;
  problem.extents = {n, n};
  const engine::Fft ours(problem);
  const std::vector<Complex> dense = padded_copy(input, n, n);
  std::vector<Complex> result(dense.size());
  add("tessera", [&] { ours.run(dense.data(), result.data()); }, [&]() -> const auto& { return result; }, n);
  finish(repeat, timers, rows);
  return good;
}

// Transposition alone: blocks of several sizes, groups of several shapes. Sizes are multiples of 16.
bool measure_transposition(Context& context, i64 n, const Options& options) {
  const int repeat = options.repeat > 0 ? options.repeat : options.quick ? 2 : 10;
  struct Way {
    std::string kernel;
    i64 block;
    std::array<std::size_t, 2> group;
  };
  std::vector<Way> ways;
  for (const auto& [kernel, block] : {std::pair<const char*, i64>{"transpose", 1},
                                      {"transpose_2x2", 2},
                                      {"transpose_4x4", 4},
                                      {"transpose_8x8", 8},
                                      {"swap_2x2", 2}})
    for (const std::array<std::size_t, 2> group :
         {std::array<std::size_t, 2>{0, 0}, {2, 4}, {4, 4}, {8, 8}, {16, 16}, {32, 4}})
      if (n / block % static_cast<i64>(std::max<std::size_t>(1, group[0])) == 0 &&
          n / block % static_cast<i64>(std::max<std::size_t>(1, group[1])) == 0)
        ways.push_back({kernel, block, group});
  const std::vector<Complex> start = padded_copy(random_matrix(n), n, n);
  const i64 bytes = static_cast<i64>(start.size() * sizeof(Complex));
  const auto from = context.buffer(bytes), to = context.buffer(bytes);
  const cl::UInt stride = static_cast<cl::UInt>(2 * n);
  std::vector<Complex> got(start.size());
  std::vector<Json> rows;
  std::vector<Timer> timers;
  bool good = true;
  for (const Way& way : ways) {
    const bool in_place = way.kernel == "swap_2x2";
    const auto start_one = [&, way, in_place] {
      if (in_place)
        context.start(way.kernel, n / 2, n / 2, way.group, from.get(), stride);
      else
        context.start(way.kernel, n / way.block, n / way.block, way.group, from.get(), to.get(), stride);
    };
    context.write(from.get(), start.data(), bytes);
    start_one();
    context.read(in_place ? from.get() : to.get(), got.data(), bytes);
    i64 wrong = 0;
    for (i64 k = 0; k < n * n; ++k)
      wrong += got[static_cast<std::size_t>(k % n * n + k / n)] != start[static_cast<std::size_t>(k)];
    good &= wrong == 0;
    rows.push_back({{"kind", "transposition"},
                    {"size", n},
                    {"version", way.kernel},
                    {"block", way.block},
                    {"group", way.group},
                    {"largest_difference", wrong},
                    {"verdict", wrong == 0 ? "same" : "DIFFERENT"}});
    timers.push_back(by_wall([&, start_one] {
      start_one();
      context.finish();
    }));
  }
  finish(repeat, timers, rows);
  return good;
}

// ---- the high-pass filter
// --------------------------------------------------------------------------------------------

void write_grey(const std::string& path, i64 n, const std::function<double(i64 y, i64 x)>& value) {
  Array picture(ElementType::u8, {n, n});
  for (i64 k = 0; k < n * n; ++k)
    picture.as<unsigned char>()[k] = static_cast<unsigned char>(std::clamp(value(k / n, k % n), 0.0, 255.0));
  io::write_array(path, picture);
}

// The document's four pictures: the photograph, its spectrum, the spectrum without low frequencies, what is left of it.
bool measure_high_pass(Context& context, const Options& options) {
  const Picture photograph = read_picture(options.photograph);
  const i64 n = options.quick ? 120 : 1000;
  const float radius = static_cast<float>(n) / 20;
  std::vector<std::complex<double>> wanted;
  const std::vector<float> plane = intensities(scaled(photograph, n, n));
  for (const float v : plane) wanted.emplace_back(v);
  Matrix matrix(context, n);
  const std::vector<Complex> start = padded_copy(wanted, n, n);
  context.write(matrix.input.get(), start.data(), matrix.bytes());
  const Version best = versions[5];
  cl::Mem result = nullptr;
  const auto filter = [&] {
    const cl::Mem spectrum = matrix.run(best, matrix.input.get());
    context.start("high_pass", n, n, {0, 0}, spectrum, matrix.stride(), static_cast<cl::UInt>(n), radius);
    result = matrix.run(best, spectrum);
  };
  Json row{{"kind", "high-pass"}, {"size", n}, {"version", "groups"}};
  put(row, in_turns(options.quick ? 2 : 10, {by_wall(filter)})[0]);
  std::vector<Complex> got(start.size());
  context.read(result, got.data(), matrix.bytes());
  const auto centred = [&](const std::vector<std::complex<double>>& spectrum) {
    return [&](i64 y, i64 x) {
      return 14 * std::log1p(std::abs(spectrum[static_cast<std::size_t>((y + n / 2) % n * n + (x + n / 2) % n)]));
    };
  };
  const std::string stem = options.work + "/fft-high-pass-";
  write_grey(stem + "1-photograph.png", n, [&](i64 y, i64 x) { return plane[static_cast<std::size_t>(y * n + x)]; });
  transform(wanted, n, n, radices_of(n, false));
  write_grey(stem + "2-spectrum.png", n, centred(wanted));
  for (i64 k = 0; k < n * n; ++k) {
    const double u = static_cast<double>(std::min(k % n, n - k % n)),
                 v = static_cast<double>(std::min(k / n, n - k / n));
    std::complex<double>& w = wanted[static_cast<std::size_t>(k)];
    w = u * u + v * v < radius * radius ? 0 : std::conj(w);
  }
  write_grey(stem + "3-removed.png", n, centred(wanted));
  transform(wanted, n, n, radices_of(n, false));
  const bool good = compare(got, n, wanted, n, row);
  const double scale = 1.0 / static_cast<double>(n * n);
  write_grey(stem + "4-filtered.png", n,
             [&](i64 y, i64 x) { return 2 * std::abs(got[static_cast<std::size_t>(y * n + x)].real()) * scale; });
  print(row);
  return good;
}

}  // namespace

bool fft_stages(const Options& options) {
  Context context(options);
  print({{"machine", context.listed().limits.name}, {"driver", context.listed().limits.driver}});
  bool good = true;
  const std::vector<i64> sizes = options.quick
                                     ? std::vector<i64>{15, 64, 120, 175}
                                     : std::vector<i64>{64, 120, 125, 128, 256, 512, 1000, 1024, 1575, 2048, 3000};
  for (const i64 n : sizes) good &= measure_size(context, n, options);
  for (const i64 n : options.quick ? std::vector<i64>{128} : std::vector<i64>{512, 2048})
    good &= measure_transposition(context, n, options);
  return measure_high_pass(context, options) && good;
}

}  // namespace tessera::published
