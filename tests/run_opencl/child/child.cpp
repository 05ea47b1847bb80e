// What tests look at from outside, since a process opens its library and counts its compilations once:
//   opencl_child find    what is missing, and what opening a device then says
//   opencl_child load    how often a program was compiled and taken from the cache
#include <cstdio>
#include <string_view>

#include "run/opencl/detail.hpp"
#include "run_opencl/fixture.hpp"

using namespace tessera;
using namespace tessera::run;

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "load") {
    opencl::open(opencl::test_device())->load(opencl::add_source + "// of this test alone\n", gpu::Arithmetic::exact);
    std::printf("compiled %d, from cache %d\n", static_cast<int>(opencl::counters().compiled),
                static_cast<int>(opencl::counters().from_cache));
    return 0;
  }
  const gpu::Found found = opencl::find();
  std::printf("%d devices; missing: %s\n", static_cast<int>(found.devices.size()), found.missing.c_str());
  for (const std::string& note : found.notes) std::printf("note: %s\n", note.c_str());
  try {
    opencl::open(0);
  } catch (const Error& e) {
    std::printf("%s", e.what());
  }
}
