// A run from the host and back: whole or in slabs, from ordinary or pinned memory, beside the copies alone.
//
// Usage: gpu_copies [cuda|opencl [ROWS COLUMNS]]. Prints medians in milliseconds and GB/s of what crosses the bus.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "tessera/tessera.hpp"

namespace {

double median(const std::function<void()>& run) {
  std::vector<double> times;
  for (int k = 0; k < 9; ++k) {
    const auto start = std::chrono::steady_clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin() + 2, times.end());  // two warm up
  return times[5];
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace tessera;
  const Device device = Device::open(argc > 1 ? argv[1] : "cuda");
  const Shape shape = argc > 3 ? Shape{std::atoll(argv[2]), std::atoll(argv[3])} : Shape{16384, 16384};
  const Program program = Program::from_text(
      "stencil f(vector#2 float X) { return (X@[-1,0] + X + X@[1,0] + X@[0,-1] + X@[0,1]) * 0.2f; }\n"
      "parameter M, N;\nvector#2 float image[M,N];\nreturn f(f(image:mirror):mirror);\n");
  const double bytes = 2.0 * 4 * static_cast<double>(element_count(shape));
  const Array image(ElementType::f32, shape), result(ElementType::f32, shape);
  const Array pinned = device.pinned(ElementType::f32, shape), pinned_result = device.pinned(ElementType::f32, shape);
  for (const Array& a : {image, result, pinned, pinned_result})
    std::memset(a.data(), 1, static_cast<std::size_t>(bytes / 2));  // pages are there
  const Array there = device.array(ElementType::f32, shape), there_too = there.clone();
  Stream stream(device);
  const auto tell = [&](const char* what, const std::function<void()>& run) {
    const double ms = median(run);
    std::printf("%-44s %9.2f ms %7.1f GB/s\n", what, ms, bytes / ms * 1e-6);
  };
  const auto whole = [&](const Array& from, const Array& to) {
    RunOptions options;
    options.stream = &stream;
    program.run_into({from}, {to}, options);
    stream.wait();
  };
  const auto slabs = [&](const Array& from, const Array& to) {
    RunOptions options;
    options.target = device.target();
    program.run_into({from}, {to}, options);
  };
  const auto copies = [&](const Array& from, const Array& to) {
    stream.copy(there, from);
    stream.copy(to, there);
    stream.wait();
  };
  std::printf("%s, %s floats, there and back\n", device.name().c_str(), to_string(shape).c_str());
  tell("on the device alone", [&] { program.run_into({there}, {there_too}); });
  tell("ordinary memory, copies alone", [&] { copies(image, result); });
  tell("ordinary memory, whole", [&] { whole(image, result); });
  tell("ordinary memory, slabs", [&] { slabs(image, result); });
  tell("pinned memory, copies alone", [&] { copies(pinned, pinned_result); });
  tell("pinned memory, whole", [&] { whole(pinned, pinned_result); });
  tell("pinned memory, slabs", [&] { slabs(pinned, pinned_result); });
  return 0;
} catch (const tessera::Error& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
