// Options of programs: what they are compiled with, how they run, what is emitted.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/border.hpp"

namespace tessera {

// Values from outside for what the program declares, by name.
struct CompileOptions {
  std::map<std::string, double> parameters;  // compile-time parameters that are numbers
  std::vector<std::string> import_paths;     // searched after the importing file's own folder
  // For texts of strangers: folders outside of which no file is imported or looked at, links resolved. An empty list
  // leaves the standard filters alone; without it a text may import whatever this process can read.
  std::optional<std::vector<std::string>> import_only = {};
  // `parameter border edge = mirror;`: one mode for all dimensions, or one per dimension.
  std::map<std::string, std::vector<Border>> borders = {};
  std::map<std::string, ElementType> types = {};  // `parameter type real = float;`
  // `table float K[H,W];`: an array of scalars for every table without values. Leading dimensions of extent 1 are added
  // or dropped.
  std::map<std::string, Array> tables = {};
  double compile_limit = 60;  // seconds, 0: none; a text that takes longer is an Error(argument) that says where
};

// How stages are grouped and tiled. `automatic` is the cost model; the others exist to be measured against it.
enum class Schedule { automatic, untiled, tiled, stream };
// fast may round a product and a sum once and reorder window reductions (within 1e-5 * sum |w||x| of the oracle, where
// x is the largest number nearby for sums of low rank and through transforms, see Method); exact gives the oracle's
// bits.
enum class Numbers { fast, exact };

struct Region {  // [begin, end) per dimension, slowest first
  std::vector<i64> begin, end;
};

struct Progress {
  i64 done = 0, total = 0;  // tiles
};

// How often a loop with a test ran.
struct LoopEnd {
  std::string variable;
  i64 iterations = 0, most = 0;
};

class Stream;  // tessera/device.hpp

// In RunOptions::devices, alone: every device of the target.
constexpr int all_devices = -1;

// What one device did of a run over several. Its queues work beside each other: their times, from the clock of the
// device, add up to more than `seconds` where they overlap. Copies are timed with their waits for a link that is taken.
struct DeviceShare {
  int device = 0;                                   // its number
  std::string name;                                 // "NVIDIA H200"
  i64 parts = 0, of = 0;                            // of the results, how many of how many
  int queues = 1;                                   // used at once
  i64 uploaded = 0, downloaded = 0, exchanged = 0;  // bytes; exchanged: from other devices
  double upload = 0, compute = 0, download = 0;     // seconds of its queues; exchanges count as uploads
  double wait = 0;                                  // seconds of its queues with none of these
  double seconds = 0;                               // from the begin of the run to its last result
};

// How weighted sums of one image are taken (convolutions, written out or as windows). `automatic` is what is cheapest
// for each; the others are for all sums that they can take, and a program without such a sum is an Error(argument):
//   direct     term by term; applies to all
//   separable  one dimension at a time, where the weights are an outer product, but for a few of them
//   low_rank   as the sum of a few outer products
//   transform  through Fourier transforms of tiles
//   whole      through one Fourier transform of the whole image
//   matrix     integer sums of bytes by matrix units of CUDA devices, of compute capability 8.0 and later
// Floats need `fast` numbers for all but `direct`, tiles two dimensions. Where a value that is not finite lies, `whole`
// makes all results of the image so, the others just those whose weights reach it. Other schedules than the automatic
// one take no transforms of tiles and no matrix units.
enum class Method { automatic, direct, separable, low_rank, transform, whole, matrix };

struct RunOptions {
  Schedule schedule = Schedule::automatic;
  Numbers numbers = Numbers::fast;
  Method method = Method::automatic;
  int threads = 0;                                   // 0: all
  std::function<void(const Progress&)> on_progress;  // called from one thread at a time
  const std::atomic<bool>* cancel = nullptr;         // set to true: the run stops within a tile, Error(cancelled)
  // "": the built-in compiler, else one of the system; "built-in", "system", or a command.
  std::string compiler;
  // Seconds that planning and compiling may take, 0: without limit. More is an Error(argument) that names the stage, or
  // Error(device) of the compiler. `cancel` ends them, too.
  double compile_limit = 60;
  i64 tile_rows = 0, tile_columns = 0;  // 0: chosen by the plan
  // "cpu", "cuda" or "opencl"; of several devices the one that `tessera devices` gives that number. "": where the
  // arrays lie, on the CPU for those of the host. Arrays of the host are taken to a device and back. threads, compiler
  // and tiles are of "cpu" alone.
  std::string target;
  int device = 0;
  // Arrays of the host are computed in shares on these devices of "cuda" (where no target is given) or "opencl", which
  // take the place of `device`; {all_devices}: on every one. Results have the bits of a run on one of them. What cannot
  // be had in parts (totals, loops with a test, transforms of whole images) runs on the first one. Throws Error(device)
  // for a number that there is not; Error(argument) for devices of different kinds, for one that is named twice, and
  // beside a stream or arrays of a device, which lie on one (tessera/distributed.hpp has arrays in shares).
  std::vector<int> devices = {};
  // Called at the end of every part of the program that ran on `devices`, with a share for each that took part.
  // Measures, which costs some microseconds a part.
  std::function<void(const std::vector<DeviceShare>&)> on_shares = {};
  // The run is put into this stream of a device and not waited for (tessera/device.hpp).
  Stream* stream = nullptr;
  // Bytes of a device's memory (of each, where there are several) that a run may take for arrays of the host, for those
  // of the device that it has to copy (Device::array says which) and for what lies between; 0: what there is. What does
  // not fit runs in slabs of rows. Throws Error(device) when not even one row fits.
  i64 device_memory = 0;
  // Called when a loop with a test has ended. A run with such loops waits for them, in a stream as well.
  std::function<void(const LoopEnd&)> on_loop_end;
};

// Frames of streaming hardware.
struct HardwareOptions {
  i64 height = 0, width = 0;
  bool fixed = true;  // false: extents are arguments, these the largest
  int lanes = 1;      // pixels a clock: 1, 2, 4 or 8
  // Integers that come in for an argument of floats: value * 2^-fraction. Floats become fixed point.
  struct Input {
    ElementType type = ElementType::u8;
    int fraction = 0;
  };
  std::map<std::string, Input> inputs = {};
  double error =
      0;  // of floats that are returned, compared or made whole; 0: 2^-10 of their largest value, where it can be
  double frequency = 200;  // MHz, of "verilog": how much is done in a clock
  // Of "verilog", whose delays and multipliers count: "ecp5" (of speed 8), "ice40" (HX) or "xilinx" (7-series).
  std::string chip = "ecp5";
  int additions = 2;  // that a product with a constant takes at most; what takes more is a multiplier
};

struct EmitOptions {
  // "c", "cuda" (a .cu file), "opencl" (a .cl file and a host file in C) "hls" (C++ for synthesis) or "verilog", with a
  // test bench
  std::string target = "c";
  std::string name = "filter";  // of the entry point: a C identifier
  Schedule schedule = Schedule::automatic;
  Numbers numbers = Numbers::fast;
  Method method = Method::automatic;       // transforms: of "c" alone
  i64 tile_rows = 0, tile_columns = 0;     // of "c" alone
  int vector_bits = 0;                     // of "c": 128, 256 or 512 for one class of machines, 0 for all in one file
  std::string kernels_file = "filter.cl";  // of "opencl": the path from which the host file reads the kernels
  double compile_limit = 60;               // seconds, 0: none; more is an Error(argument) that names the stage
  HardwareOptions hardware = {};           // of "hls" and "verilog"
  // Of "c", "cuda" and "opencl": what the file is made for, a shape per input in order, an empty one for scalars. It
  // has the plan and, for devices, the Fourier transforms of a run of these; it takes any other extents as well.
  // Nothing: no extents more than others.
  std::vector<Shape> shapes = {};
};

}  // namespace tessera
