// The measuring core: timing loop, rotating buffers, test images, the copy that everything is compared with.
//
// A figure here is the median of many runs. Every run takes the next of several buffer sets that together exceed the
// caches of a core, so that no peer finds its data in L2; every peer sees the same sets in the same order. Before a
// sample the harness waits for the machine to be quiet, and samples again when others were busy meanwhile.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {

struct Settings {
  double seconds = 0.4;  // sampling time of one figure
  int least_runs = 5;    // of a figure; three where one run takes seconds
  int most_runs = 2000;
  double rotate_mib = 128;  // buffer sets of a job hold at least this much, 2 to 64 sets
  double quiet_wait = 20;   // seconds to wait for other processes to go idle before a sample; 0: take what comes
};

struct Timing {
  double median_ms = 0, min_ms = 0;
  int runs = 0;
  double other_cpu = 0;  // cores that other processes or the hypervisor used meanwhile
};

// What stands in an array before it is measured.
enum class Content { photograph, random, sensor };

struct Tensor {
  ElementType type = ElementType::f32;
  Shape shape;
  Content content = Content::photograph;
  double bytes() const;
};

// One set of arrays for one run.
struct Buffers {
  std::vector<Array> inputs;
  Array output;
};

// The buffer sets of a job; all inputs hold the same values, outputs are touched.
std::vector<Buffers> buffer_sets(const std::vector<Tensor>& inputs, const Tensor& output, double rotate_mib);

// Fills deterministically. A photograph is smooth shading, hard-edged shapes and light noise over the last two
// dimensions, shifted per plane and seed; u8 and u16 use their full range, floats lie in [0, 1]; what
// a sensor gives has ten bits.
void fill(Array&, Content, unsigned seed = 1);

// Runs fn(i), i counting up, and takes the median. Keeps the quietest of three attempts.
Timing measure(const Settings&, const std::function<void(int)>& fn);

// Milliseconds to read `in` bytes and write `out` bytes once with so many threads: the better of memcpy and
// non-temporal stores (non-temporal alone where the two differ). Measured once per process and size.
double copy_ms(const Settings&, double in, double out, int threads);

struct Difference {
  double mean = 0, max = 0;  // of the absolute differences
};
// Of two arrays of one format and shape, without `margin` points at either end of each dimension.
Difference compare(const Array& a, const Array& b, const Shape& margin);

// "Intel(R) Xeon(R) ..., 2 cores, L2 2048 KiB" as the system tells it.
std::string machine_name();

}  // namespace tessera::bench
