// Programs: compile Forma text, bind arrays, run.
//
//   auto program = tessera::Program::from_file("canny.forma");
//   tessera::Array edges = program.run({photo}).at(0);
//
// A Program is immutable after compilation and may be run from several threads at once; copies share it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/options.hpp"

namespace tessera {

// Every text begins with the version, the options, a hash of the program and a licence that lets it ship.
struct EmittedCode {
  std::string source;  // C includes nothing; CUDA its runtime
  std::string header;  // declares the entry points
  std::string host;    // of "opencl": the C file that runs the kernels; of hardware: the test bench
};

enum class ExplainFormat { text, json, svg };

struct Parameter {
  std::string name;
  bool is_array = true;
  Format format;
  int rank = 0;                     // of an array
  std::string extents;              // "M x N" as the program says
  std::optional<i64> largest = {};  // of a scalar that is declared from 0 to it: others are Error(argument)
};

// An input that is a part of an image: `at` is where its first point stands in the whole, `whole` the extents of that.
// Both empty: the array is the whole.
struct InputWindow {
  Array array;
  std::vector<i64> at = {};
  Shape whole = {};
};

// What a point of an output depends on.
struct Locality {
  // Of an input along one of its dimensions, which goes with the dimension of the output as far from the last one:
  // point i reads from floor(i * scale / divisor) - before to floor(i * scale / divisor) + after, as far as the image
  // and its borders go.
  struct Dimension {
    i64 before = 0, after = 0;
    i64 scale = 1, divisor = 1;
    bool whole = false;  // any point may be read
  };
  // Why no part of the output can be had alone: "stage 'm' reduces a whole image"; "" where it can.
  std::string global;
  std::vector<std::vector<Dimension>> inputs;  // none of scalars and of what is not read
};

class Program {
 public:
  static Program from_text(std::string text, const CompileOptions& = {}, std::string file_name = "<text>");
  static Program from_file(const std::string& path, const CompileOptions& = {});

  const std::vector<Parameter>& inputs() const;  // arrays and scalars, in declaration order
  const std::vector<Parameter>& outputs() const;
  const std::vector<Diagnostic>& warnings() const;
  // The files that its text imports, by the paths that they were read from; the standard filters are no files.
  const std::vector<std::string>& imports() const;
  const std::vector<std::string>& parameters() const;  // run-time parameters, bound through the shapes of the inputs

  // Runs on arrays (and rank-0 arrays for scalars) in the order of inputs(); returns the outputs in order, owned, on
  // the device if an array input lies there, else on the host. Throws Error(argument) when counts, formats, ranks or
  // extents do not fit.
  std::vector<Array> run(const std::vector<Array>& inputs, const RunOptions& = {}) const;
  // The same into existing arrays of the right format and shape; input and output memory must not overlap.
  void run_into(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const RunOptions& = {}) const;
  // ---- parts of results (windows) ----
  //
  // A window of a result has the bits that it has in the whole result, in any tiling. Whether an output has windows is
  // said for each: one that depends on no transform, loop or total of a whole image has some, whatever stands beside
  // it.

  // Of every output, in order.
  std::vector<Locality> locality() const;
  // The region of every input (an empty one of scalars) that `run_region` reads for a region of an output, for whole
  // inputs of these shapes. It may be larger than the halo says: sampled images begin at multiples of their steps, sums
  // through tiles of transforms at those of tiles. A region is one box, so a border that wraps reads all of a dimension
  // where the window meets an end of it. Throws Error(argument) where the output is global or the region is
  // not within it.
  std::vector<Region> reads(std::size_t output, const Region&, const std::vector<Shape>& shapes,
                            const RunOptions& = {}) const;
  // The regions of the outputs, one each; an empty Region: that output is not wanted, and an empty Array comes back.
  // Inputs are windows that cover what `reads` says. Throws Error(argument) where they do not, where windows contradict
  // each other, and what `run` and `reads` throw.
  std::vector<Array> run_region(const std::vector<InputWindow>& inputs, const std::vector<Region>& regions,
                                const RunOptions& = {}) const;
  // The same into existing arrays of the right format and the shape of their region, empty ones where an output is not
  // wanted. They share no memory with inputs, else Error(argument), nor with each other. With a stream, the run is done
  // when this returns.
  void run_region_into(const std::vector<InputWindow>& inputs, const std::vector<Region>& regions,
                       const std::vector<Array>& outputs, const RunOptions& = {}) const;

  // The slow, obvious interpreter: the oracle of every test. Of the options it looks at `cancel` alone.
  std::vector<Array> interpret(const std::vector<Array>& inputs, const RunOptions& = {}) const;
  // The extents of every output for these inputs.
  std::vector<Shape> output_shapes(const std::vector<Array>& inputs) const;
  std::vector<Shape> output_shapes_of(const std::vector<Shape>& inputs) const;  // an empty one of scalars

  // The code of a target, the same that runs. Throws Error(argument) for a target or name that is not one.
  EmittedCode emit(const EmitOptions& = {}) const;
  // What the plan decided and why, for arrays of these shapes: one per input in order, an empty one for scalars. For a
  // device it compiles the kernels where the device is found, and says so where none is.
  std::string explain(const std::vector<Shape>& input_shapes, const RunOptions& = {},
                      ExplainFormat = ExplainFormat::text) const;

  struct Impl;
  explicit Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// A rank-0 array holding one scalar, for scalar inputs.
Array scalar(double value, ElementType type = ElementType::f32);

}  // namespace tessera
