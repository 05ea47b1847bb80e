// Halide's side of bench/gpu.py, ahead of time and without a GPU: every job of bench/halide_filters.cpp that a GPU is
// measured on, with every schedule of a grid, as an object file each.
//
// Usage: gpu_halide_generate TARGET FOLDER runtime            the part that all functions share
//        gpu_halide_generate TARGET FOLDER JOB FIRST [PLUGIN] the schedules of JOB from number FIRST on
//        gpu_halide_generate jobs                             the names
// Prints "K<tab>TEXT" as soon as JOB_K.o is there, "K<tab>!REASON" where Halide refuses. With PLUGIN (the library of
// Anderson2021) that scheduler alone is asked. The caller (gpu_halide.py) starts again behind one that crashed or hung.
//
// The grid is what Halide's own programs and its users write for GPUs: a thread computes a block of points, vectorised
// and unrolled; the stages before it are inlined, kept in a thread's registers, put into shared memory by the threads
// of a block, or rolled down a column in registers, a row at a time, which is what our strips do. The widths of images
// must be multiples of the tiles: that saves Halide the tests at the end of a row which we make.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halide.hpp"

namespace tessera::bench {
namespace {

using namespace Halide;

enum class Place { inlined, registers, vectors, shared, rolled };

struct Plan {
  int columns = 32, rows = 8;  // threads of a block
  int wide = 1, high = 1;      // points of a thread
  Place edge = Place::inlined, lines = Place::inlined;
  std::string text() const {
    static const std::map<Place, std::string> names = {{Place::inlined, "inlined"},
                                                       {Place::registers, "in registers"},
                                                       {Place::vectors, "in registers by vectors"},
                                                       {Place::shared, "in shared memory"},
                                                       {Place::rolled, "rolled in registers"}};
    return "blocks of " + std::to_string(columns) + "x" + std::to_string(rows) + " threads, " + std::to_string(wide) +
           "x" + std::to_string(high) + " points each, input " + names.at(edge) + ", stages " + names.at(lines);
  }
};

// Stages that every reader computes for itself: the slopes of Canny are a few operations, their storage costs more.
const std::map<std::string, std::vector<std::string>> cheap = {{"canny_f32", {"gx", "gy"}}};

std::string stem(const Func& f) {
  return f.name().substr(0, f.name().find('$'));
}

void put(Func& f, const Func& out, const Plan& p, Place place, int reach_of_vectors) {
  const Var bx("bx"), tx("tx"), u("u"), v("v");
  switch (place) {
    case Place::inlined:
      return;
    case Place::registers:
      f.compute_at(out, tx).store_in(MemoryType::Register).unroll(x).unroll(y);
      return;
    case Place::vectors:  // whole ones, beyond what is needed
      f.compute_at(out, tx)
          .store_in(MemoryType::Register)
          .align_bounds(x, reach_of_vectors)
          .vectorize(x, reach_of_vectors)
          .unroll(x)
          .unroll(y);
      return;
    case Place::shared:
      f.compute_at(out, bx).tile(x, y, u, v, p.columns, p.rows, TailStrategy::GuardWithIf).gpu_threads(u, v);
      return;
    case Place::rolled:
      f.store_in(MemoryType::Register).store_at(out, tx).compute_at(out, yi).unroll(x).unroll(y);
      return;
  }
}

void schedule(Algorithm& a, const std::string& job, const Plan& p) {
  const Var xt("xt"), yt("yt"), bx("bx"), by("by"), tx("tx"), ty("ty");
  Func& out = a.out;
  out.tile(x, y, xt, yt, xi, yi, p.wide, p.high, TailStrategy::RoundUp)
      .gpu_tile(xt, yt, bx, by, tx, ty, p.columns, p.rows, TailStrategy::RoundUp);
  if (p.wide > 1) out.vectorize(xi);
  const bool rolled = p.lines == Place::rolled || p.edge == Place::rolled;
  if (!rolled) out.unroll(yi);
  put(a.edge, out, p, p.edge, std::max(p.wide, 2));
  const auto left_out = cheap.find(job);
  for (Func& f : a.lines) {
    const bool inlined = left_out != cheap.end() &&
                         std::find(left_out->second.begin(), left_out->second.end(), stem(f)) != left_out->second.end();
    if (!inlined) put(f, out, p, p.lines, std::max(p.wide, 2));
  }
}

// Rows begin at multiples of 16 bytes, at point 0: what makes vectors of loads and stores.
void align(Algorithm& a) {
  const auto aligned = [](auto buffer) {
    buffer.set_host_alignment(16);
    buffer.dim(0).set_min(0);
    buffer.dim(1).set_min(0);
    buffer.dim(1).set_stride(buffer.dim(1).stride() / 16 * 16);
  };
  for (ImageParam& in : a.inputs) aligned(in);
  aligned(a.out.output_buffer());
}

struct Shape {
  int wide, high;
};

// `scale`: four times as many columns a thread for bytes.
std::vector<Plan> grid(bool has_lines, bool may_inline, int scale) {
  std::vector<Plan> plans;
  const auto add = [&](int columns, int rows, Place edge, Place lines, std::initializer_list<Shape> shapes) {
    if (!has_lines && lines != Place::inlined) return;
    if (has_lines && lines == Place::inlined && !may_inline) return;
    for (const Shape& s : shapes) plans.push_back({columns, rows, s.wide * scale, s.high, edge, lines});
  };
  const auto rolling = [&](Place edge, Place lines) { add(32, 4, edge, lines, {{1, 32}, {2, 32}, {4, 32}, {4, 64}}); };
  using enum Place;
  add(32, 8, inlined, inlined, {{1, 1}, {2, 2}, {4, 2}, {4, 4}});
  add(64, 4, inlined, inlined, {{1, 4}, {1, 8}});
  add(32, 4, registers, inlined, {{2, 4}, {4, 4}, {1, 8}});
  add(32, 4, vectors, inlined, {{4, 4}, {4, 8}, {2, 8}});
  add(32, 8, shared, inlined, {{1, 1}, {1, 4}, {2, 4}, {4, 4}});
  add(32, 4, inlined, registers, {{1, 4}, {1, 8}, {2, 4}, {4, 4}});
  add(32, 4, vectors, registers, {{4, 4}, {4, 8}, {2, 8}});
  add(32, 8, inlined, shared, {{1, 1}, {1, 4}, {2, 4}, {4, 4}});
  add(32, 8, shared, shared, {{1, 1}, {1, 4}, {2, 2}});
  add(32, 8, shared, registers, {{1, 4}, {2, 4}, {4, 4}});
  rolling(inlined, rolled);
  rolling(rolled, rolled);
  rolling(rolled, inlined);
  return plans;
}

struct Task {
  std::vector<std::function<Algorithm()>> make;  // variants of the arithmetic
  std::vector<std::string> arithmetic;
  std::vector<Plan> plans;
};

const std::vector<std::string> jobs = {"blur3_f32",  "conv3_f32",      "conv5_f32",   "conv7_f32",  "gauss3_u8",
                                       "gauss5_u8",  "box3_u8",        "sobel_u8",    "sobel_f32",  "unsharp5_f32",
                                       "harris_f32", "canny_f32",      "median3_f32", "median3_u8", "dilate3_u8",
                                       "chain_f32",  "bilateral5_f32", "pyrdown_f32"};

Task task_of(const std::string& job) {
  Task task;
  const bool bytes = job.ends_with("_u8"), long_chain = job == "canny_f32" || job == "chain_f32";
  task.arithmetic = {""};
  if (job == "conv7_f32") {
    task.make = {[] { return halide_dense(7); }};
  } else if (job == "bilateral5_f32") {
    task.make = {[] { return halide_bilateral([](const Expr& e) { return exp(e); }); },
                 [] { return halide_bilateral(fast_exp); }};
    task.arithmetic = {", exp", ", fast_exp"};
  } else {
    task.make = {halide_recipe(job).make};
  }
  task.plans = grid(!task.make[0]().lines.empty(), !long_chain, bytes ? 4 : 1);
  return task;
}

void compile(Algorithm& a, const std::string& job, int number, const std::string& folder, const Target& target) {
  const std::vector<Argument> arguments(a.inputs.begin(), a.inputs.end());
  const std::string name = job + "_" + std::to_string(number);
  Pipeline(a.out).compile_to_object(folder + "/" + name + ".o", arguments, "halide_" + name,
                                    target.with_feature(Target::NoRuntime));
}

void say(int number, std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cout << number << '\t' << text.substr(0, 300) << std::endl;
}

constexpr int automatic = 1000;  // the number of the automatic schedule

void generate(const std::string& job, int first, const std::string& folder, const Target& target) {
  const Task task = task_of(job);
  const int count = static_cast<int>(task.plans.size()), all = count * static_cast<int>(task.make.size());
  for (int k = first; k < all; ++k) {
    const auto which = static_cast<std::size_t>(k / count);
    const Plan& plan = task.plans[static_cast<std::size_t>(k % count)];
    const std::string text = plan.text() + task.arithmetic[which];
    try {
      Algorithm a = task.make[which]();
      align(a);
      schedule(a, job, plan);
      compile(a, job, k, folder, target);
      say(k, text);
    } catch (const Error& e) {
      say(k, "!" + text + ": " + e.what());
    }
  }
}

// For 8192 x 8192 points on the 132 multiprocessors of an H200.
void generate_automatic(const std::string& job, const std::string& plugin, const std::string& folder,
                        const Target& target) {
  load_plugin(plugin);
  const Task task = task_of(job);
  Algorithm a = task.make[0]();
  const int extent = 8192, out = job == "pyrdown_f32" ? extent / 2 : extent;
  for (ImageParam& in : a.inputs) in.set_estimates({{0, extent}, {0, extent}});
  a.out.set_estimates({{0, out}, {0, out}});
  try {
    align(a);
    Pipeline(a.out).apply_autoscheduler(target, {"Anderson2021", {{"parallelism", "132"}}});
    compile(a, job, automatic, folder, target);
    say(automatic, "Anderson2021");
  } catch (const Error& e) {
    say(automatic, std::string("!Anderson2021: ") + e.what());
  }
}

}  // namespace
}  // namespace tessera::bench

int main(int count, char** given) {
  using namespace tessera::bench;
  const std::vector<std::string> words(given + 1, given + count);
  if (words.size() == 1 && words[0] == "jobs") {
    for (const std::string& job : jobs) std::cout << job << '\n';
    return 0;
  }
  if (words.size() < 3) return 2;
  const Halide::Target target(words[0]);
  try {
    if (words[2] == "runtime")
      Halide::compile_standalone_runtime(words[1] + "/runtime.o", target);
    else if (words.size() > 4)
      generate_automatic(words[2], words[4], words[1], target);
    else
      generate(words[2], words.size() > 3 ? std::atoi(words[3].c_str()) : 0, words[1], target);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
