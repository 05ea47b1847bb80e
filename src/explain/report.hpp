// What a plan decided, as facts that can be printed: the text, the JSON and the picture of `explain` all show one
// Report, so that they cannot disagree.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "plan/passes/tiles.hpp"
#include "plan/plan.hpp"

namespace tessera::explain {

// How one stage reads another.
struct ReadReport {
  ir::StageId producer = 0;
  std::string window;  // "3x3", "1x5 /2", "point", "anywhere", "piece", "spread 2x2"
  std::string border;  // "mirror", "clamped and wrap"; "" where nothing is read outside
};

struct StageReport {
  ir::StageId id = 0;
  std::string name;        // unique in the report
  std::string type, lane;  // in the language; as stored ("u8" for an int that stays below 256)
  std::string kind;        // "input", "point", "compose", "transform"
  // "argument", "ring", "array", "output", "ring and array", "ring and output"; on devices "registers" for "ring"
  std::string home;
  std::string output;   // the name of the result that it is, where that is another than its own: "edges", "photo.r"
  std::string extents;  // "M x N"
  std::vector<i64> shape;
  int group = -1, pass = -1;  // -1 for inputs
  double operations = 0;      // vector instructions a point
  plan::RingShape ring;       // all 0 where there is none
  std::vector<ReadReport> reads;
  std::size_t argument = 0, field = 0;  // of an input
};

struct PassReport {
  plan::PassForm form = plan::PassForm::vectors;  // how neighbouring columns are computed
  std::vector<ir::StageId> stages;
  int rows = 1, lanes = 1;  // of the block that one loop body computes
  // Of a tile whose Fourier transform is taken, or of a contraction's whose results registers hold; 0: neither.
  i64 tile_rows = 0, tile_columns = 0, tile_planes = 1;
  bool contraction = false;
};

// A kernel of a device with a memory of its own, as it is launched. -1 where the compiled kernel is not at hand or the
// device does not say.
struct KernelReport {
  std::string name;
  std::vector<ir::StageId> stages, reads, writes;  // reads and writes: arrays
  bool strips = false;                             // of `columns` columns a thread and `strip_rows` rows, or a point
  std::string why;                                 // no strips; "" where none were asked for
  std::string work;                                // of a transform: "rows of 512 as 8x8x8"
  bool reduces = false;                            // an image, piece by piece; `work` says how
  bool framed = false;                             // strips of few rows, in one text: register tiles
  int columns = 1, values = 1;                     // and values in a register
  i64 strip_rows = 0, warm_up = 0;                 // rows of a strip, and those that it computes before them
  std::vector<i64> tile;                           // in shared memory, of a block; empty: none
  std::array<i64, 3> grid{1, 1, 1};
  std::array<int, 3> block{1, 1, 1};
  int registers_estimated = 0;  // of a thread, by the plan; 0: none
  int registers = -1;
  i64 shared_bytes = -1, spilled_bytes = -1;
  int blocks_per_multiprocessor = -1;
  int warps = -1, most_warps = -1;  // of a multiprocessor: at once, and that it could hold
  double bytes_read = 0, bytes_written = 0, compulsory_bytes = 0;
  double points = 0, operations = 0;  // operations: a point, with what halos repeat
  double milliseconds = 0, memory_milliseconds = 0, compute_milliseconds = 0;
  double strip_milliseconds = 0;  // of one strip from its first row to its last, however few there are
};

// The device that kernels are explained for. A ceiling that it does not tell is one of a class of devices.
struct DeviceReport {
  std::string target;   // "cuda", "opencl"
  int index = 0;        // as --device takes it
  std::string missing;  // why there is none: a sentence; "" where it was found
  std::string name, compiled_for, driver;
  int multiprocessors = 1;
  double bandwidth = 0, operations = 0;  // bytes and operations a nanosecond
  bool bandwidth_assumed = false, operations_assumed = false;
  bool small = false;  // the image is smaller than the halo of its strips, and runs untiled
};

// Times are of one core, on devices of all of it; bytes are of the whole image.
struct GroupReport {
  ir::StageId anchor = 0;
  std::vector<ir::StageId> stages, reads, writes;  // reads: arrays of other groups and arguments
  std::vector<PassReport> passes;
  plan::GroupWay way;                 // what the ways of running answered, and which is taken
  std::vector<KernelReport> kernels;  // on devices; what follows up to ring_bytes is of cores alone
  std::vector<ir::StageId> in_place;  // composed stages that take no kernel: their pieces are stored in them
  plan::TileShape tile;
  i64 step = 1;  // of the anchor's rows; 0: all of a tile
  i64 halo_rows = 0, halo_columns = 0;
  i64 ring_bytes = 0;  // of one tile
  double bytes_read = 0, bytes_written = 0;
  double compulsory_bytes = 0;  // arguments read for the first time, outputs
  double operations = 0;        // a point of the anchor
  double milliseconds = 0, memory_milliseconds = 0, compute_milliseconds = 0, strip_milliseconds = 0;
  bool bound_by_memory = true;
  std::vector<std::string> reasons;
  // "inverse, complex to real, along both dimensions" of a Fourier transform, which is a group of its own: on the
  // device where it has kernels, else on the host's cores, where nothing is known of passes and tiles.
  std::string transform;
};

struct Report {
  std::string device, schedule, numbers;
  std::optional<DeviceReport> on_device;  // nothing: cores
  int threads = 1;
  std::vector<std::pair<std::string, i64>> parameters;
  std::vector<i64> assumed;         // parameters that the decisions were taken for; empty: the same
  std::vector<StageReport> stages;  // by stage id
  std::vector<GroupReport> groups;
  double milliseconds = 0, bytes = 0, minimum_bytes = 0, operations = 0;  // operations: in all
  std::vector<std::string> remarks;
  std::vector<rewrite::SumChoice> sums;
  bool prices_measured = false;                   // of these: on this machine, or built in
  std::vector<std::vector<ir::StageId>> outputs;  // of every output: a stage per field
};

// `plan` holds decisions; `parameters` are the extents that are explained (predictions are made for them).
Report report(plan::Plan plan, const std::vector<i64>& parameters, const RunOptions& options);

// "edges", or "photo.r" of a field; "" where the program gives the result no name.
std::string name_of_result(const ir::Output&, std::size_t field);

// Bytes of the array that holds a stage; interleaved fields share their records.
double array_bytes(const plan::Plan&, ir::StageId, const std::vector<i64>& parameters);

std::string to_text(const Report&);
std::string to_json(const Report&);
std::string to_svg(const Report&);

}  // namespace tessera::explain
