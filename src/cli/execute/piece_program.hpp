// A program whose inputs are read by regions: what a part of its results reads and takes, and the run of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cli/execute/inputs.hpp"
#include "engine/windows/region_plan.hpp"
#include "io/regions/scratch.hpp"
#include "pieces/conveyor.hpp"
#include "pieces/grid.hpp"

namespace tessera::cli {

// What an array of a program is: an input of the command, or what passes before it make for each lane, a number or an
// image.
struct Source {
  const OpenInput* input = nullptr;
  Shape shape = {};  // of what passes make, which may not be there yet
  std::vector<Array> numbers = {};
  std::vector<std::shared_ptr<io::Scratch>> images = {};
  bool is_image() const;  // made by passes
};

// The lanes that a program runs in: all of them, or one.
struct PieceLanes {
  std::size_t count = 1;  // that inputs have
  std::optional<std::size_t> only = {};
  std::size_t run() const { return only ? 1 : count; }
};

class PieceProgram {
 public:
  // `parameters`: of the whole. What it is given outlives it, but for the sources, which have as many numbers and
  // images as lanes run.
  PieceProgram(const Program&, std::vector<Source>, std::vector<i64> parameters, PieceLanes, const InputOptions&,
               const RunOptions&);

  const std::vector<Source>& sources() const { return sources_; }
  // The same, once passes have made what they make.
  void take(std::vector<Source> sources) { sources_ = std::move(sources); }
  Shape result() const;  // of every output
  const Format& format_of(std::size_t source) const { return program_.inputs()[source].format; }
  // From a file, or of images that passes made.
  bool is_read(std::size_t source) const {
    const Source& s = sources_[source];
    return s.is_image() || (s.input != nullptr && s.input->reader != nullptr);
  }
  const std::vector<Format>& formats() const { return formats_; }  // of one lane

  engine::RegionNeeds needs(const Region& box) const;
  // Bytes of files, as the program takes them, for the needs of a box.
  double file_bytes(const engine::RegionNeeds&) const;
  std::vector<Region> reads(const Region& box) const;
  // What a box takes, but for results: bytes of the engine and of inputs, of which `ahead` are there before they are
  // computed with.
  pieces::Demand demand(const Region& box, i64 ahead) const;

  // What the box needs of inputs, as files have it. `seen` is told of every part.
  using Seen = std::function<void(const OpenInput&, const Array& part)>;
  pieces::Arrays read(const Region& box, pieces::Buffers&, const Seen& seen = {}) const;
  // Results by lane. `into`: arrays for them where one lane runs, or none.
  std::vector<std::vector<Array>> compute(const Region& box, const pieces::Arrays& raw,
                                          const std::vector<Array>& into) const;

  // Of what a run of the engine took, blocks wait for the next one, which may be of another size.
  static i64 pooled_beside(i64 taken);
  // For one of a copy: what a point with a short window takes.
  static constexpr double computing = 4;

 private:
  std::vector<Region> regions_of(const Region& box) const { return std::vector<Region>(formats_.size(), box); }

  const Program& program_;
  std::vector<Source> sources_;
  std::vector<i64> parameters_;
  PieceLanes lanes_;
  const InputOptions& settings_;
  const RunOptions& options_;
  std::vector<Shape> shapes_;  // of inputs
  std::vector<Format> formats_;
};

}  // namespace tessera::cli
