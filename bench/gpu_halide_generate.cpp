// Halide's side of bench/gpu.py, ahead of time and without a GPU: every job with every schedule, as an object file
// each.
//
// Usage: gpu_halide_generate TARGET FOLDER runtime            the part that all functions share
//        gpu_halide_generate TARGET FOLDER JOB FIRST [PLUGIN] the schedules of JOB from number FIRST on
//        gpu_halide_generate jobs                             the names
// Prints "K<tab>TEXT" as soon as JOB_K.o is there, "K<tab>!REASON" where Halide refuses. With PLUGIN (the library of
// Anderson2021) that scheduler alone is asked. The caller (gpu_halide.py) starts again behind one that crashed or hung.
//
// Filters have a grid of schedules. It is what Halide's own programs and its users write for GPUs: a thread computes a
// block of points, vectorised and unrolled; the stages before it are inlined, kept in a thread's registers, put into
// shared memory by the threads of a block, or rolled down a column in registers, a row at a time, which is what our
// strips do. The widths of images must be multiples of the tiles: that saves Halide the tests at the end of a row which
// we make. The larger pipelines have the schedule of Halide's own program, with some other tiles, and simpler ones
// (Algorithm::on_gpu).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "peers/halide.hpp"

namespace tessera::bench {
namespace {

using namespace Halide;

// Stages that every reader computes for itself: the slopes of Canny are a few operations, their storage costs more.
const std::map<std::string, std::vector<std::string>> cheap = {{"canny_f32", {"gx", "gy"}}};

std::string stem(const Func& f) {
  return f.name().substr(0, f.name().find('$'));
}

void schedule(Algorithm& a, const std::string& job, const Plan& p) {
  const Var xt("xt"), yt("yt"), by("by"), ty("ty");
  Func& out = a.out;
  out.tile(x, y, xt, yt, xi, yi, p.wide, p.high, TailStrategy::RoundUp)
      .gpu_tile(xt, yt, gpu_block, by, gpu_thread, ty, p.columns, p.rows, TailStrategy::RoundUp);
  if (p.wide > 1) out.vectorize(xi);
  const bool rolled = p.lines == Place::rolled || p.edge == Place::rolled;
  if (!rolled) out.unroll(yi);
  put_on_gpu(a.edge, out, p, p.edge, std::max(p.wide, 2));
  const auto left_out = cheap.find(job);
  for (Func& f : a.lines) {
    const bool inlined = left_out != cheap.end() &&
                         std::find(left_out->second.begin(), left_out->second.end(), stem(f)) != left_out->second.end();
    if (!inlined) put_on_gpu(f, out, p, p.lines, std::max(p.wide, 2));
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

// A way of computing a job: make() gives the algorithm with its schedule.
struct Schedule {
  std::string text;
  std::function<Algorithm()> make;
};

struct Job {
  std::string name;
  std::vector<int> extents;  // of the result, for the automatic schedule
  std::function<Algorithm()> make;
  std::vector<Schedule> schedules;
  bool many = false;  // stages, see Pipeline
};

const std::vector<std::string> filters = {"blur3_f32",  "conv3_f32",      "conv5_f32",   "conv7_f32",  "gauss3_u8",
                                          "gauss5_u8",  "box3_u8",        "sobel_u8",    "sobel_f32",  "unsharp5_f32",
                                          "harris_f32", "canny_f32",      "median3_f32", "median3_u8", "dilate3_u8",
                                          "chain_f32",  "bilateral5_f32", "pyrdown_f32"};

void add_grid(Job& job, const std::function<Algorithm()>& make, const std::string& arithmetic) {
  const bool bytes = job.name.ends_with("_u8"), long_chain = job.name == "canny_f32" || job.name == "chain_f32";
  for (const Plan& p : grid(!make().lines.empty(), !long_chain, bytes ? 4 : 1))
    job.schedules.push_back({p.text() + arithmetic, [=, name = job.name] {
                               Algorithm a = make();
                               align(a);
                               schedule(a, name, p);
                               return a;
                             }});
}

Job filter(const std::string& name) {
  const int extent = name == "pyrdown_f32" ? 4096 : 8192;
  Job job{name, {extent, extent}, halide_recipe(name).make, {}};
  if (name == "conv7_f32") job.make = [] { return halide_dense(7); };
  if (name != "bilateral5_f32") {
    add_grid(job, job.make, "");
    return job;
  }
  job.make = [] { return halide_bilateral([](const Expr& e) { return exp(e); }); };
  add_grid(job, job.make, ", exp");
  add_grid(job, [] { return halide_bilateral(fast_exp); }, ", fast_exp");
  return job;
}

struct Pipeline {
  std::string name;
  std::vector<int> extents;
  std::vector<Plan> plans;
  bool many = false;  // stages: the automatic scheduler is kept from searching for an hour
};

std::vector<Pipeline> pipelines() {
  using enum Place;
  const auto with = [](std::vector<Plan> plans, auto change) {
    for (Plan& p : plans) change(p);
    return plans;
  };
  const auto joined = [](std::vector<Plan> all, const std::vector<Plan>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto published = [&](std::vector<Plan> plans) {
    return with(std::move(plans), [](Plan& p) { p.published = true; });
  };
  // Levels of a pyramid: points of a thread in squares, so that every parity is a case of its own.
  const std::vector<Plan> levels = {
      {32, 8, 2, 2, inlined, inlined},   {32, 4, 2, 4, inlined, inlined},   {32, 4, 4, 2, inlined, inlined},
      {32, 8, 2, 2, inlined, registers}, {32, 4, 2, 4, inlined, registers}, {32, 4, 2, 8, inlined, registers},
      {32, 4, 4, 4, inlined, registers}, {32, 8, 2, 2, inlined, shared},    {32, 8, 2, 4, inlined, shared}};
  const std::vector<Plan> few = {{16, 8, 2, 2}, {32, 8, 2, 2}, {32, 4, 2, 2}, {32, 4, 2, 4}};
  const std::vector<Plan> copies = {{16, 8, 2, 2, inlined, inlined},
                                    {32, 8, 2, 2, inlined, registers},
                                    {32, 4, 2, 2, inlined, registers},
                                    {32, 8, 2, 2, inlined, shared}};
  return {
      {"laplacian_f32", {8192, 8192}, levels},
      {"local_laplacian_u16",
       {4096, 4096, 3},
       joined(published({{16, 8}, {32, 8}, {32, 4}, {64, 4}}),
              joined(copies, with(copies, [](Plan& p) { p.planes = true; }))),
       true},
      {"bilateral_grid_f32",
       {4096, 4096},
       published({{8, 8}, {8, 4}, {4, 4}, {16, 8}, {8, 8, 1, 2}, {8, 8, 2, 2}, {4, 4, 1, 4}, {8, 4, 2, 4}})},
      {"interpolate_f32",
       {4096, 4096, 3},
       joined(published({{16, 16, 2, 2}, {16, 8, 2, 2}, {32, 8, 2, 2}, {32, 4, 2, 2}}),
              joined(few, with(few, [](Plan& p) { p.lines = registers; })))},
      {"camera_u16",
       {8192, 8192, 3},
       joined(published({{28, 12, 2, 2, shared, shared}, {30, 14, 2, 2, shared, shared}}),
              {{28, 12, 2, 2, shared, inlined},
               {28, 12, 2, 2, inlined, inlined},
               {28, 4, 2, 2, shared, inlined},
               {30, 6, 2, 2, shared, inlined},
               {30, 14, 2, 2, shared, inlined},
               {30, 14, 2, 2, inlined, inlined},
               {60, 4, 2, 2, shared, inlined}})},
      {"exposure_fusion_u8", {4096, 4096, 3}, {levels[0], levels[3], levels[4], levels[7]}, true},
  };
}

Job pipeline(const Pipeline& given) {
  Job job{given.name, given.extents, halide_any_recipe(given.name).make, {}, given.many};
  for (const Plan& p : given.plans)
    job.schedules.push_back({p.text(), [=, make = job.make] {
                               Algorithm a = make();
                               align(a);
                               a.on_gpu(a, p);
                               return a;
                             }});
  return job;
}

std::vector<std::string> names() {
  std::vector<std::string> all = filters;
  for (const Pipeline& p : pipelines()) all.push_back(p.name);
  return all;
}

Job job_of(const std::string& name) {
  for (const Pipeline& p : pipelines())
    if (p.name == name) return pipeline(p);
  return filter(name);
}

void compile(Algorithm& a, const std::string& job, int number, const std::string& folder, const Target& target) {
  const std::vector<Argument> arguments(a.inputs.begin(), a.inputs.end());
  const std::string name = job + "_" + std::to_string(number);
  Halide::Pipeline(a.out).compile_to_object(folder + "/" + name + ".o", arguments, "halide_" + name,
                                            target.with_feature(Target::NoRuntime));
}

void say(int number, std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  std::cout << number << '\t' << text.substr(0, 300) << std::endl;
}

constexpr int automatic = 1000;  // the number of the automatic schedule

void generate(const std::string& job, int first, const std::string& folder, const Target& target) {
  const std::vector<Schedule> schedules = job_of(job).schedules;
  for (int k = first; k < static_cast<int>(schedules.size()); ++k) {
    const auto& [text, make] = schedules[static_cast<std::size_t>(k)];
    try {
      Algorithm a = make();
      compile(a, job, k, folder, target);
      say(k, text);
    } catch (const Error& e) {
      say(k, "!" + text + ": " + e.what());
    }
  }
}

// For the 132 multiprocessors of an H200.
void generate_automatic(const std::string& name, const std::string& plugin, const std::string& folder,
                        const Target& target) {
  load_plugin(plugin);
  const Job job = job_of(name);
  Algorithm a = job.make();
  Region result, image;
  for (const int extent : job.extents) result.emplace_back(0, extent);
  const int scale = name == "pyrdown_f32" ? 2 : 1;
  for (std::size_t d = 0; d < 2; ++d) image.emplace_back(0, job.extents[d] * scale);
  for (ImageParam& in : a.inputs) in.set_estimates(image);
  a.out.set_estimates(result);
  try {
    align(a);
    AutoschedulerParams parameters{"Anderson2021", {{"parallelism", "132"}}};
    if (job.many) parameters.extra["beam_size"] = "1";
    Halide::Pipeline(a.out).apply_autoscheduler(target, parameters);
    compile(a, name, automatic, folder, target);
    say(automatic, std::string("Anderson2021") + (job.many ? ", beam of 1" : ""));
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
    for (const std::string& job : names()) std::cout << job << '\n';
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
