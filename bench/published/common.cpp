// Devices, times and pictures of the published experiments; see common.hpp.
#include "published/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/program_impl.hpp"
#include "io/image.hpp"
#include "ir/bind.hpp"

namespace tessera::published {

Statistics statistics(const std::vector<double>& ms) {
  Statistics s;
  s.runs = static_cast<int>(ms.size());
  s.min = *std::min_element(ms.begin(), ms.end());
  for (const double t : ms) s.mean += t / s.runs;
  for (const double t : ms) s.deviation += (t - s.mean) * (t - s.mean) / std::max(1, s.runs - 1);
  s.deviation = std::sqrt(s.deviation);
  return s;
}

void put(Json& row, const Statistics& s) {
  const auto rounded = [](double ms) { return std::stod(fmt::format("{:.4g}", ms)); };
  row["min_ms"] = rounded(s.min);
  row["mean_ms"] = rounded(s.mean);
  row["deviation_ms"] = rounded(s.deviation);
  row["runs"] = s.runs;
}

void print(const Json& row) {
  fmt::print("{}\n", row.dump());
  std::fflush(stdout);
}

Timer by_wall(std::function<void()> call) {
  return [call = std::move(call)] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
}

std::vector<Statistics> in_turns(int repeat, const std::vector<Timer>& timers) {
  std::vector<std::vector<double>> ms(timers.size());
  for (int round = -1; round < repeat; ++round)
    for (std::size_t k = 0; k < timers.size(); ++k)
      if (const double once = timers[k](); round >= 0) ms[k].push_back(once);
  std::vector<Statistics> found;
  for (const std::vector<double>& m : ms) found.push_back(statistics(m));
  return found;
}

void finish(int repeat, const std::vector<Timer>& timers, std::vector<Json>& rows) {
  const std::vector<Statistics> found = in_turns(repeat, timers);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    put(rows[k], found[k]);
    print(rows[k]);
  }
}

// ---- a device ------------------------------------------------------------------------------------------------------

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw Error(ErrorClass::io, fmt::format("'{}' cannot be read", path));
  return text.str();
}

// OpenCL C as CUDA, behind the prelude.
std::string as_cuda(std::string text) {
  const std::pair<const char*, const char*> words[] = {
      {"__kernel ", "extern \"C\" __global__ "},
      {"__global ", ""},
      {"__local ", "__shared__ "},
      {"__constant ", "static __constant__ "},
      {"barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()"},
  };
  for (const auto& [from, to] : words)
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + std::strlen(to)))
      text.replace(at, std::strlen(from), to);
  return "#define PUBLISHED_CUDA\n" + text;
}

}  // namespace

Machine::Machine(const Options& options)
    : cuda_(options.target == "cuda"), texts_(options.texts), prelude_(text_of(options.texts + "/prelude.cl")) {
  RunOptions where;
  where.target = options.target;
  where.device = options.device;
  device_ = engine::open_device(where);
  queue_ = device_->queue();
}

Module Machine::load(const std::string& file, const std::string& definitions) {
  return compile(definitions + text_of(texts_ + "/" + file));
}

Module Machine::compile(const std::string& text) {
  return device_->load(cuda_ ? as_cuda(prelude_ + text) : prelude_ + text, run::gpu::Arithmetic::contracted);
}

Block Machine::block(i64 bytes) {
  return device_->allocate(bytes);
}

Block Machine::block(const void* bytes, i64 count) {
  Block made = device_->allocate(count);
  queue_->upload(*made, 0, static_cast<const std::byte*>(bytes), {1, count, 0, 0});
  queue_->wait();
  return made;
}

void Machine::fill(const Block& block, unsigned char value) {
  queue_->fill(*block, 0, block->bytes(), value);
}

void Machine::read(const Block& block, void* to, i64 bytes) {
  queue_->download(static_cast<std::byte*>(to), *block, 0, {1, bytes, 0, 0});
  queue_->wait();
}

void Machine::launch(const Module& module, const std::string& kernel, std::array<i64, 3> threads,
                     std::array<int, 3> group, std::span<const Block> blocks, std::span<const i64> integers) {
  run::gpu::Launch launch;
  launch.kernel = kernel;
  launch.block = group;
  for (std::size_t d = 0; d < 3; ++d) launch.grid[d] = (threads[d] + group[d] - 1) / group[d];
  queue_->launch(*module, launch, blocks, integers);
}

namespace {

double time_on(run::gpu::Queue& queue, const std::function<void()>& launches) {
  launches();
  queue.mark(0);
  launches();
  queue.mark(1);
  return queue.milliseconds(0, 1);
}

}  // namespace

Timer Machine::timer(std::function<void()> launches) {
  return [this, launches = std::move(launches)] { return time_on(*queue_, launches); };
}

Timer run_tessera(const Program& program, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                  const Options& options, int threads) {
  RunOptions how;
  how.target = options.target;
  how.device = options.target == "cpu" ? 0 : options.device;
  how.threads = threads;
  program.run_into(inputs, outputs, how);
  if (options.target == "cpu") return by_wall([=] { program.run_into(inputs, outputs, how); });
  struct Held {
    Program program;
    std::shared_ptr<const engine::DeviceExecutable> compiled;
    std::unique_ptr<run::gpu::Queue> queue;
    std::unique_ptr<engine::DeviceExecutable::Bound> bound;
  };
  const Program::Impl& impl = program.impl();
  const std::vector<Array> prepared = impl.prepare(inputs);
  std::vector<Shape> shapes;
  for (const Array& a : prepared) shapes.push_back(a.shape());
  const std::vector<i64> parameters = ir::bind_parameters(impl.graph, shapes);
  const auto held = std::make_shared<Held>(Held{program, impl.on_device(how, parameters), nullptr, nullptr});
  held->queue = held->compiled->queue();
  held->bound = held->compiled->bind(parameters, *held->queue, how);
  held->bound->upload(prepared);
  held->queue->wait();
  return [held, how] { return time_on(*held->queue, [&] { held->bound->launch(how); }); };
}

// ---- pictures ------------------------------------------------------------------------------------------------------

Picture read_picture(const std::string& path) {
  const Array image = io::read_array(path);
  const std::vector<Array> planes = io::as_planes(image);
  if (image.rank() != 2 || planes[0].format().scalar != ElementType::u8)
    throw Error(ErrorClass::argument, fmt::format("'{}' is no picture of bytes", path));
  Picture picture{image.shape()[0], image.shape()[1], {}};
  std::vector<Array> channels;  // of a grey picture three times the same
  for (std::size_t c = 0; c < 3; ++c) channels.push_back(planes[planes.size() < 3 ? 0 : c].clone());
  for (i64 k = 0; k < picture.rows * picture.columns; ++k)
    for (const Array& channel : channels) picture.rgb.push_back(channel.as<unsigned char>()[k]);
  return picture;
}

Picture scaled(const Picture& from, i64 rows, i64 columns) {
  Picture to{rows, columns, std::vector<unsigned char>(static_cast<std::size_t>(3 * rows * columns))};
  const auto split = [](i64 at, i64 n, i64 of) {  // the lower neighbour and the share of the upper one
    const double place =
        std::clamp((static_cast<double>(at) + 0.5) * static_cast<double>(of) / static_cast<double>(n) - 0.5, 0.0,
                   static_cast<double>(of - 1));
    const i64 low = std::min(static_cast<i64>(place), std::max<i64>(0, of - 2));
    return std::pair(low, place - static_cast<double>(low));
  };
  for (i64 y = 0; y < rows; ++y)
    for (i64 x = 0; x < columns; ++x) {
      const auto [i, u] = split(y, rows, from.rows);
      const auto [j, v] = split(x, columns, from.columns);
      const i64 down = from.rows > 1 ? 3 * from.columns : 0, right = from.columns > 1 ? 3 : 0;
      for (i64 c = 0; c < 3; ++c) {
        const unsigned char* p = from.rgb.data() + 3 * (i * from.columns + j) + c;
        const double upper = p[0] * (1 - v) + p[right] * v, lower = p[down] * (1 - v) + p[down + right] * v;
        to.rgb[static_cast<std::size_t>(3 * (y * columns + x) + c)] =
            static_cast<unsigned char>(std::lround(upper * (1 - u) + lower * u));
      }
    }
  return to;
}

void write_bmp(const std::string& path, const Picture& picture) {
  const i64 pitch = (3 * picture.columns + 3) / 4 * 4, bytes = 54 + pitch * picture.rows;
  std::string file(static_cast<std::size_t>(bytes), '\0');
  const auto number = [&](std::size_t at, int size, i64 value) {
    for (int k = 0; k < size; ++k) file[at + static_cast<std::size_t>(k)] = static_cast<char>(value >> (8 * k) & 255);
  };
  file[0] = 'B', file[1] = 'M';
  number(2, 4, bytes);
  number(10, 4, 54);
  number(14, 4, 40);
  number(18, 4, picture.columns);
  number(22, 4, picture.rows);
  number(26, 2, 1);
  number(28, 2, 24);
  for (i64 y = 0; y < picture.rows; ++y)
    for (i64 k = 0; k < 3 * picture.columns; ++k)  // rows from the bottom, blue first
      file[static_cast<std::size_t>(54 + (picture.rows - 1 - y) * pitch + k / 3 * 3 + 2 - k % 3)] =
          static_cast<char>(picture.rgb[static_cast<std::size_t>(3 * picture.columns * y + k)]);
  std::ofstream out(path, std::ios::binary);
  if (!out.write(file.data(), bytes)) throw Error(ErrorClass::io, fmt::format("'{}' cannot be written", path));
}

std::vector<float> intensities(const Picture& picture) {
  std::vector<float> plane;
  for (std::size_t k = 0; k < picture.rgb.size(); k += 3)
    plane.push_back(0.299F * picture.rgb[k] + 0.587F * picture.rgb[k + 1] + 0.114F * picture.rgb[k + 2]);
  return plane;
}

}  // namespace tessera::published
