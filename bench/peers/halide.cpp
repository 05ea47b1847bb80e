// What all jobs of Halide share: finding one by its name; for GPUs, how a stage is cut into blocks of threads and where
// the stages before it lie.
#include "peers/halide.hpp"

#include <map>

namespace tessera::bench {

using namespace Halide;

const Var gpu_block("bx"), gpu_thread("tx");

Recipe halide_any_recipe(const std::string& job) {
  for (const auto& recipes : {halide_recipe, halide_app_recipe, halide_expert_recipe, halide_photo_recipe})
    if (Recipe found = recipes(job); found.make) return found;
  return {};
}

std::string Plan::text() const {
  static const std::map<Place, std::string> names = {{Place::inlined, "inlined"},
                                                     {Place::registers, "in registers"},
                                                     {Place::vectors, "in registers by vectors"},
                                                     {Place::shared, "in shared memory"},
                                                     {Place::rolled, "rolled in registers"}};
  return (published ? "published, " : "") + ("blocks of " + std::to_string(columns)) + "x" + std::to_string(rows) +
         " threads, " + std::to_string(wide) + "x" + std::to_string(high) + " points each, input " + names.at(edge) +
         ", stages " + names.at(lines) + (planes ? ", planes in blocks" : "");
}

void tile_on_gpu(Stage f, const Plan& p) {
  const Var xt("xt"), yt("yt"), by("by"), ty("ty");
  if (p.wide * p.high > 1) {
    f.tile(x, y, xt, yt, xi, yi, p.wide, p.high, TailStrategy::RoundUp)
        .gpu_tile(xt, yt, gpu_block, by, gpu_thread, ty, p.columns, p.rows)
        .unroll(xi)
        .unroll(yi);
  } else {
    f.gpu_tile(x, y, gpu_block, by, gpu_thread, ty, p.columns, p.rows);
  }
}

void put_on_gpu(Func& f, const Func& reader, const Plan& p, Place place, int vectors) {
  const Var u("u"), v("v");
  switch (place) {
    case Place::inlined:
      return;
    case Place::registers:
      f.compute_at(reader, gpu_thread).store_in(MemoryType::Register).unroll(x).unroll(y);
      return;
    case Place::vectors:  // whole ones, beyond what is needed
      f.compute_at(reader, gpu_thread)
          .store_in(MemoryType::Register)
          .align_bounds(x, vectors)
          .vectorize(x, vectors)
          .unroll(x)
          .unroll(y);
      return;
    case Place::shared:
      f.compute_at(reader, gpu_block).tile(x, y, u, v, p.columns, p.rows, TailStrategy::GuardWithIf).gpu_threads(u, v);
      return;
    case Place::rolled:
      f.store_in(MemoryType::Register).store_at(reader, gpu_thread).compute_at(reader, yi).unroll(x).unroll(y);
      return;
  }
}

}  // namespace tessera::bench
