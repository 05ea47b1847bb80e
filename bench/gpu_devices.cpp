// Jobs on one device and on all of them: from memory of the host, ordinary and pinned, and on arrays in shares; beside
// what the links give alone. Results of all ways are compared bit by bit.
//
// Usage: gpu_devices [cuda|opencl [DEVICES [SHRINK [shares]]]]: DEVICES 2 (0: all), SHRINK divides the rows of what is
// measured, `shares` measures the arrays in shares alone.
// Prints times in milliseconds, the least of five runs, the ratio of both, and what every device did.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/tessera.hpp"

namespace {

using namespace tessera;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Milliseconds, the least of some runs behind one that warms up; no more than a few seconds of them.
double least(const std::function<void()>& run) {
  run();
  double best = 1e30;
  const auto begin = Clock::now();
  for (int k = 0; k < 5 && (k < 2 || seconds_since(begin) < 4); ++k) {
    const auto start = Clock::now();
    run();
    best = std::min(best, seconds_since(start) * 1e3);
  }
  return best;
}

double bytes_of(const Array& a) {
  return static_cast<double>(a.count()) * static_cast<double>(a.format().size());
}

void fill(const Array& a) {
  const unsigned workers = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (unsigned w = 0; w < workers; ++w)
    threads.emplace_back([&a, w, workers] {
      const i64 n = a.count(), first = n / workers * w, last = w + 1 == workers ? n : n / workers * (w + 1);
      for (i64 k = first; k < last; ++k) {
        const auto mixed = static_cast<unsigned>(k) * 2654435761U;
        a.as<float>()[k] = static_cast<float>(mixed >> 8) * 0x1p-24f;
      }
    });
}

bool same_bits(const Array& a, const Array& b) {
  return std::memcmp(a.data(), b.data(), static_cast<std::size_t>(bytes_of(a))) == 0;
}

int faults = 0;
void check(bool same, const std::string& what) {
  if (same) return;
  ++faults;
  std::printf("  FAILED: %s differs from one device\n", what.c_str());
}

void tell_shares(const std::vector<DeviceShare>& shares) {
  for (const DeviceShare& s : shares)
    std::printf(
        "    device %d: %lld of %lld parts, %d queues, %.2f ms; up %.2f ms (%.0f MB), compute %.2f ms, down %.2f ms "
        "(%.0f MB), exchanged %.2f MB, wait %.2f ms\n",
        s.device, static_cast<long long>(s.parts), static_cast<long long>(s.of), s.queues, s.seconds * 1e3,
        s.upload * 1e3, static_cast<double>(s.uploaded) * 1e-6, s.compute * 1e3, s.download * 1e3,
        static_cast<double>(s.downloaded) * 1e-6, static_cast<double>(s.exchanged) * 1e-6, s.wait * 1e3);
}

struct Bench {
  std::string target;
  std::vector<int> numbers;
  std::vector<Device> devices;
  i64 shrink = 1;
  bool shares_alone = false;

  RunOptions on_one() const {
    RunOptions options;
    options.target = target;
    options.device = numbers.front();
    return options;
  }
  RunOptions on_all() const {
    RunOptions options;
    options.target = target;
    options.devices = numbers;
    return options;
  }

  void row(const std::string& name, double one, double all) const {
    std::printf("%-44s %10.2f ms %10.2f ms   %.2f times\n", name.c_str(), one, all, one / all);
  }

  // From the host and back.
  void host(const std::string& name, const Program& program, Shape shape) const {
    if (shares_alone) return;
    shape.front() = std::max<i64>(shape.front() / shrink, 8);
    for (const bool pinned : {false, true}) {
      const auto make = [&] {
        return pinned ? devices.front().pinned(ElementType::f32, shape) : Array(ElementType::f32, shape);
      };
      const Array image = make(), result = make(), other = make();
      fill(image);
      fill(result);  // pages are there
      fill(other);
      const double one = least([&] { program.run_into({image}, {result}, on_one()); });
      const double all = least([&] { program.run_into({image}, {other}, on_all()); });
      const std::string label = name + (pinned ? ", pinned" : ", ordinary memory");
      row(label, one, all);
      std::printf("    %.1f and %.1f GB/s there and back\n", 2 * bytes_of(image) / one * 1e-6,
                  2 * bytes_of(image) / all * 1e-6);
      check(same_bits(result, other), label);
      RunOptions told = on_all();
      told.on_shares = tell_shares;
      program.run_into({image}, {other}, told);
      std::fflush(stdout);
    }
  }

  // Steps of a program on arrays that stay there, in shares.
  void steps(const std::string& name, const Program& program, Shape shape, int count) const {
    shape.front() = std::max<i64>(shape.front() / shrink, 8);
    Array image(ElementType::f32, shape);
    fill(image);
    std::vector<double> times;
    std::vector<Array> results;
    for (const bool many : {false, true}) {
      const DeviceGroup group = DeviceGroup::open(target, many ? numbers : std::vector<int>{numbers.front()});
      DistributedArray a = group.scatter(image), b = group.array(ElementType::f32, shape);
      const DistributedArray start = group.scatter(image);
      const auto run = [&](const DistributedArray& from) {
        run_distributed_into(program, {from}, {a});
        for (int k = 1; k < count; ++k) {
          run_distributed_into(program, {a}, {b});
          std::swap(a, b);
        }
        group.wait();
      };
      times.push_back(least([&] { run(start); }));
      results.push_back(a.gather());
      if (many) {
        row(name + ", in shares", times[0], times[1]);
        RunOptions told;
        told.on_shares = tell_shares;
        std::printf("    one step of %d:\n", count);
        run_distributed_into(program, {a}, {b}, told);
      }
    }
    check(same_bits(results[0], results[1]), name);
    std::fflush(stdout);
  }

  // Copies alone, each device by itself and all at once.
  void links() const {
    const i64 n = (i64{64} << 20) / std::max<i64>(1, shrink);  // floats
    std::printf("links alone, %.0f MB each way:\n", static_cast<double>(n) * 4e-6);
    for (const bool pinned : {false, true}) {
      std::vector<Array> from, to, there;
      for (const Device& d : devices) {
        from.push_back(pinned ? d.pinned(ElementType::f32, {n}) : Array(ElementType::f32, {n}));
        to.push_back(pinned ? d.pinned(ElementType::f32, {n}) : Array(ElementType::f32, {n}));
        there.push_back(d.array(ElementType::f32, {n}));
        fill(from.back());
        fill(to.back());
      }
      const auto copies = [&](std::size_t k, bool up, bool down) {
        Stream a(devices[k]), b(devices[k]);
        if (up) a.copy(there[k], from[k]);
        if (down) b.copy(to[k], there[k]);
        a.wait();
        b.wait();
      };
      const auto rate = [&](double ms, double times) { return times * static_cast<double>(n) * 4 / ms * 1e-6; };
      for (std::size_t k = 0; k < devices.size(); ++k) {
        const double up = least([&] { copies(k, true, false); }), down = least([&] { copies(k, false, true); });
        std::printf("  device %d, %s: up %.1f GB/s, down %.1f GB/s\n", devices[k].number(),
                    pinned ? "pinned" : "ordinary memory", rate(up, 1), rate(down, 1));
      }
      const auto at_once = [&](bool up, bool down) {
        return least([&] {
          std::vector<std::jthread> threads;
          for (std::size_t k = 0; k < devices.size(); ++k) threads.emplace_back([&, k] { copies(k, up, down); });
        });
      };
      const double count = static_cast<double>(devices.size());
      std::printf("  all at once, %s: up %.1f GB/s, down %.1f GB/s, both %.1f GB/s together\n",
                  pinned ? "pinned" : "ordinary memory", rate(at_once(true, false), count),
                  rate(at_once(false, true), count), rate(at_once(true, true), 2 * count));
    }
    std::fflush(stdout);
  }

  // Rows that go from one device to the other: a program that reads a quarter of the image beyond its share.
  void exchange() const {
    if (devices.size() < 2) return;
    const DeviceGroup group = DeviceGroup::open(target, numbers);
    std::printf("from device to device: %s\n", group.reaches(0, 1) ? "directly" : "by way of the host");
    const Program program = Program::from_text(
        "stencil f(vector#2 float X) { return X@[-4000,0] + X@[4000,0]; }\n"
        "parameter M, N; vector#2 float image[M,N]; return f(image:clamped);");
    const i64 rows = 16384 / shrink;
    Array image(ElementType::f32, {rows, 8192});
    fill(image);
    const DistributedArray result = group.array(ElementType::f32, {rows, 8192});
    for (int k = 0; k < 2; ++k) {
      const DistributedArray there = group.scatter(image);
      RunOptions told;
      told.on_shares = [](const std::vector<DeviceShare>& shares) {
        for (const DeviceShare& s : shares)
          std::printf("  to device %d: %.0f MB in %.2f ms, %.1f GB/s\n", s.device,
                      static_cast<double>(s.exchanged) * 1e-6, s.upload * 1e3,
                      static_cast<double>(s.exchanged) / std::max(s.upload, 1e-9) * 1e-9);
      };
      run_distributed_into(program, {there}, {result}, told);
    }
    std::fflush(stdout);
  }
};

std::string dense(int reach) {
  const std::string r = std::to_string(reach);
  return "stencil f(vector#2 float X) { return sum(j = -" + r + ".." + r + ", i = -" + r + ".." + r + ") ( weights[j+" +
         r + ",i+" + r + "] * X@[j,i] ); }\n";
}

}  // namespace

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  Bench bench;
  bench.target = argc > 1 ? argv[1] : "cuda";
  const int wanted = argc > 2 ? std::atoi(argv[2]) : 2;
  bench.shrink = argc > 3 ? std::max(1, std::atoi(argv[3])) : 1;
  bench.shares_alone = argc > 4 && std::string(argv[4]) == "shares";
  const DeviceGroup found = DeviceGroup::open(bench.target);
  for (const Device& device : found.devices()) {
    if (wanted > 0 && static_cast<int>(bench.devices.size()) >= wanted) break;
    bench.devices.push_back(device);
    bench.numbers.push_back(device.number());
    std::printf("device %d: %s, %.0f GB\n", device.number(), device.name().c_str(),
                static_cast<double>(device.memory_bytes()) * 1e-9);
  }
  if (bench.devices.size() < 2) std::printf("there is one device alone: ratios say what its queues cost\n");
  if (!bench.shares_alone) bench.links();
  bench.exchange();

  std::printf("\n%-44s %13s %13s\n", "job", "one device", "all of them");
  const std::string image = "parameter M, N;\nvector#2 float image[M,N];\n";
  const std::string volume = "parameter K, M, N;\nvector#3 float v[K,M,N];\n";
  const Program blur = Program::from_text(
      "stencil f(vector#2 float X) { return (X@[-1,0] + X + X@[1,0] + X@[0,-1] + X@[0,1]) * 0.2f; }\n" + image +
      "return f(f(image:mirror):mirror);");
  bench.host("blur, two steps, 16384^2", blur, {16384, 16384});
  // Weights that are no outer product.
  CompileOptions with_weights;
  Array weights(ElementType::f32, {31, 31});
  fill(weights);
  with_weights.tables["weights"] = weights;
  const Program sums =
      Program::from_text("table float weights[31,31];\n" + dense(15) + image + "return f(image:mirror);", with_weights);
  bench.host("dense 31 x 31, 16384^2", sums, {16384, 16384});
  bench.steps("dense 31 x 31, 16384^2, 1 step", sums, {16384, 16384}, 1);
  CompileOptions wide;
  wide.parameters["sigma"] = 10;
  const Program gaussian = Program::from_text("import \"gaussian.forma\";\n" + volume + "return gaussian3d(v);", wide);
  bench.host("Gaussian, sigma 10, 1024 x 512 x 512", gaussian, {1024, 512, 512});
  const Program median =
      Program::from_text("stencil f(vector#2 float X) { return median(i = -3..3, j = -3..3) (X@[i,j]); }\n" + image +
                         "return f(image:mirror);");
  bench.host("median, radius 3, 16384 x 8192", median, {16384, 8192});
  const std::string step =
      "stencil f(vector#3 float X) { return X + 0.1f * (X@[-1,0,0] + X@[1,0,0] + X@[0,-1,0] + X@[0,1,0] + X@[0,0,-1] + "
      "X@[0,0,1] - 6 * X); }\n";
  const Program heat = Program::from_text(step + volume + "return f(v:clamped);");
  bench.steps("heat, 100 steps, 1024 x 512 x 512", heat, {1024, 512, 512}, 100);
  const Program heats = Program::from_text(step + volume + "return f(f(f(f(v:clamped):clamped):clamped):clamped);");
  bench.steps("heat, 25 times 4 steps, 1024 x 512 x 512", heats, {1024, 512, 512}, 25);
  const Program planes = Program::from_text(
      "stencil f(vector#2 float X) { return X + 0.1f * (X@[-1,0] + X@[1,0] + X@[0,-1] + X@[0,1] - 4 * X); }\n" + image +
      "return f(image:clamped);");
  bench.steps("heat, 100 steps, 16384^2", planes, {16384, 16384}, 100);
  bench.steps("heat, 100 steps, 4096^2", planes, {4096, 4096}, 100);
  bench.host("heat, 4 steps, 1024 x 512 x 512", heats, {1024, 512, 512});
  std::printf(faults == 0 ? "\nall results have the bits of one device\n" : "\n%d results differ\n", faults);
  return faults == 0 ? 0 : 1;
} catch (const tessera::Error& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
