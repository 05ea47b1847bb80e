// Halide's side of the jobs: an algorithm is built afresh for every schedule that is tried on it.
#pragma once

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

namespace tessera::bench {

// How a schedule of ours cuts the image; every algorithm interprets it, the fastest is kept.
struct Cut {
  int lanes = 16;     // of a vector
  int strip = 64;     // rows per task
  int wide = 1;       // register block: vectors
  int high = 1;       // register block: rows
  bool pad = false;   // stage the bordered input instead of resolving borders in place
  bool lines = true;  // keep intermediate stages in a ring of lines instead of recomputing them
  std::string text() const;
};

// Where a stage lies on a GPU: nowhere (every reader computes it), in a thread's registers, in shared memory of a
// block, or in registers, a row at a time down a column.
enum class Place { inlined, registers, vectors, shared, rolled };

// How a schedule for a GPU cuts the image.
struct Plan {
  int columns = 32, rows = 8;  // threads of a block
  int wide = 1, high = 1;      // points of a thread
  Place edge = Place::inlined, lines = Place::inlined;
  bool published = false;  // as in Halide's own program, whose tiles these are
  bool planes = false;     // planes of a third dimension in blocks of their own instead of one after the other
  std::string text() const;
};

struct Algorithm {
  std::vector<Halide::ImageParam> inputs;
  Halide::Func edge{"edge"};  // the first input with its border resolved
  Halide::Func out;
  std::vector<Halide::Func> lines;  // producers to keep in line buffers
  std::function<void(Algorithm&, const Cut&)> schedule;
  std::function<void(Algorithm&, const Plan&)> on_gpu;  // of the larger pipelines
  Algorithm() = default;
  explicit Algorithm(Halide::Type type);  // one image, clamped
};

struct Recipe {
  std::function<Algorithm()> make;
  std::vector<Cut> cuts;
  bool automatic = true;  // the automatic schedulers are tried as well
};

// Nothing to make where there is none. The first looks through the others.
Recipe halide_any_recipe(const std::string& job);
Recipe halide_recipe(const std::string& job);
Recipe halide_app_recipe(const std::string& job);     // our schedules in the manner of the demo programs
Recipe halide_expert_recipe(const std::string& job);  // Halide's own
Recipe halide_photo_recipe(const std::string& job);   // of cameras

// Two algorithms of halide_recipe() in the form that suits a GPU: the dense window written out, weights as constants;
// an exponential of the caller's choice in the bilateral filter.
Algorithm halide_dense(int extent);
Algorithm halide_bilateral(const std::function<Halide::Expr(const Halide::Expr&)>& exponential);

// The variables of every algorithm, and the two basic schedules.
extern const Halide::Var x, y, xi, yi, yo;
void schedule_strips(Algorithm&, const Cut&);
void schedule_blocks(Algorithm&, const Cut&);

// On a GPU: a Func whose threads compute blocks of points, all written out, and the stages before it. Blocks are the
// Vars gpu_block and by, threads gpu_thread and ty.
extern const Halide::Var gpu_block, gpu_thread;
void tile_on_gpu(Halide::Stage, const Plan&);
void put_on_gpu(Halide::Func&, const Halide::Func& reader, const Plan&, Place, int vectors = 2);

}  // namespace tessera::bench
