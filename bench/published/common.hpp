// What the published experiments of ./dev reproduce share: options, statistics, a device with its blocks and times,
// pictures, and the line of JSON that every measurement is.
//
// A time of kernels is taken on the device's clock, with arrays that stay on the device, behind a run of the same
// kernels, so that what the host takes to ask for them is not counted: as `tessera run --time` does it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "run/gpu/device.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/program.hpp"

namespace tessera::published {

using Json = nlohmann::ordered_json;

struct Options {
  std::string experiment, target = "opencl";
  int device = 0;
  bool quick = false;
  int repeat = 0;     // 0: what the experiment takes
  std::string texts;  // the folder of the kernels
  std::string work;   // a folder for pictures and what is compiled
  std::string photograph;
  std::vector<i64> offsets{3, 3, 2, 2};  // of tiled-convolution: top and left of the source's region, of the target's
};

// Every experiment prints its rows, one object of JSON a line, and says whether every result was right.
bool tiled_convolution(const Options&);
bool register_blocking(const Options&);
bool fft_stages(const Options&);

struct Statistics {
  double min = 0, mean = 0, deviation = 0;  // milliseconds
  int runs = 0;
};
Statistics statistics(const std::vector<double>& milliseconds);
void put(Json& row, const Statistics&);
void print(const Json& row);

// One timed run, in milliseconds.
using Timer = std::function<double()>;
// By the wall.
Timer by_wall(std::function<void()> call);
// Every timer `repeat` times, turn by turn, so that what else the machine does meets all alike; after a round that is
// not counted.
std::vector<Statistics> in_turns(int repeat, const std::vector<Timer>&);
// The same, put into the rows and printed.
void finish(int repeat, const std::vector<Timer>&, std::vector<Json>& rows);

using Block = std::shared_ptr<run::gpu::Memory>;
using Module = std::shared_ptr<run::gpu::Module>;

// One device of OpenCL or CUDA with one queue.
class Machine {
 public:
  explicit Machine(const Options&);
  const run::gpu::Limits& limits() const { return device_->limits(); }
  // The text of a file of the experiment behind definitions and what makes it CUDA or OpenCL.
  Module load(const std::string& file, const std::string& definitions = "");
  Module compile(const std::string& text);
  Block block(i64 bytes);
  Block block(const void* bytes, i64 count);
  void fill(const Block&, unsigned char);
  void read(const Block&, void* to, i64 bytes);
  // `threads`: of the whole range, rounded up to groups.
  void launch(const Module&, const std::string& kernel, std::array<i64, 3> threads, std::array<int, 3> group,
              std::span<const Block> blocks, std::span<const i64> integers);
  void wait() { queue_->wait(); }
  Timer timer(std::function<void()> launches);

 private:
  bool cuda_;
  std::string texts_, prelude_;
  std::shared_ptr<run::gpu::Device> device_;
  std::unique_ptr<run::gpu::Queue> queue_;
};

// Runs a program of Tessera into `outputs`; its timer is like Machine::timer() on a device, by the wall on the CPU, on
// so many threads (0: all). The program and the arrays stay.
Timer run_tessera(const Program&, const std::vector<Array>& inputs, const std::vector<Array>& outputs, const Options&,
                  int threads = 0);

// Pixels of three bytes.
struct Picture {
  i64 rows = 0, columns = 0;
  std::vector<unsigned char> rgb;
};
Picture read_picture(const std::string& path);  // any format that the io layer reads, BMP among them
Picture scaled(const Picture&, i64 rows, i64 columns);
void write_bmp(const std::string& path, const Picture&);
std::vector<float> intensities(const Picture&);

}  // namespace tessera::published
