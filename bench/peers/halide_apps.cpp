// The larger pipelines in Halide, with the schedules that Halide's own demo programs carry (MIT licence,
// github.com/halide).
#include "peers/halide.hpp"

namespace tessera::bench {

using namespace Halide;

namespace {

Expr down5(const Expr& a, const Expr& b, const Expr& c, const Expr& d, const Expr& e) {
  return (a + 4.0f * b + 6.0f * c + 4.0f * d + e) * (1.0f / 16);
}

// Every second point of a 5x5 binomial.
Func down(const Func& f, std::vector<Func>& rows) {
  Func v("v"), h("down");
  v(x, y) = down5(f(x, 2 * y - 2), f(x, 2 * y - 1), f(x, 2 * y), f(x, 2 * y + 1), f(x, 2 * y + 2));
  h(x, y) = down5(v(2 * x - 2, y), v(2 * x - 1, y), v(2 * x, y), v(2 * x + 1, y), v(2 * x + 2, y));
  rows.push_back(v);
  return h;
}

Func up(const Func& f, std::vector<Func>& rows) {
  Func v("v"), h("up");
  v(x, y) = select(y % 2 == 0, (f(x, y / 2 - 1) + 6.0f * f(x, y / 2) + f(x, y / 2 + 1)) * 0.125f,
                   (f(x, y / 2) + f(x, y / 2 + 1)) * 0.5f);
  h(x, y) = select(x % 2 == 0, (v(x / 2 - 1, y) + 6.0f * v(x / 2, y) + v(x / 2 + 1, y)) * 0.125f,
                   (v(x / 2, y) + v(x / 2 + 1, y)) * 0.5f);
  rows.push_back(v);
  return h;
}

// Levels in memory, the passes along columns in rings of lines; the finest level is joined strip by strip.
Algorithm laplacian() {
  Algorithm a(Float(32));
  const float gain[] = {1.5f, 1.3f, 1.2f, 1.1f};
  std::vector<Func> images{a.edge}, down_rows, up_rows, expanded, sums(5);
  for (int i = 0; i < 4; ++i) images.push_back(down(images.back(), down_rows));
  std::vector<Func> again;
  for (std::size_t i = 0; i < 4; ++i) expanded.push_back(up(images[i + 1], up_rows));
  sums[4] = images[4];
  for (std::size_t i = 4; i-- > 0;) {
    const Func bigger = up(sums[i + 1], again);
    sums[i](x, y) = bigger(x, y) + gain[i] * (images[i](x, y) - expanded[i](x, y));
  }
  a.out = sums[0];
  a.schedule = [=](Algorithm& g, const Cut& c) mutable {
    const auto whole = [&](Func f) {
      f.compute_root().split(y, yo, y, c.strip, TailStrategy::GuardWithIf).parallel(yo).vectorize(x, c.lanes);
    };
    for (std::size_t i = 1; i <= 4; ++i) {
      whole(images[i]);
      down_rows[i - 1].store_at(images[i], yo).compute_at(images[i], y).vectorize(x, c.lanes);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (i > 0) whole(sums[i]);
      const Func at = sums[i];
      up_rows[i].store_at(at, yo).compute_at(at, y).vectorize(x, c.lanes);
      again[3 - i].store_at(at, yo).compute_at(at, y).vectorize(x, c.lanes);
    }
    g.out.split(y, yo, y, c.strip, TailStrategy::GuardWithIf).parallel(yo).vectorize(x, c.lanes);
  };
  // Every level a kernel down and one up; what lies between where the plan puts it.
  a.on_gpu = [=](Algorithm&, const Plan& p) mutable {
    for (std::size_t i = 1; i <= 4; ++i) {
      tile_on_gpu(images[i].compute_root(), p);
      put_on_gpu(down_rows[i - 1], images[i], p, p.lines);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      tile_on_gpu(sums[i].compute_root(), p);
      put_on_gpu(up_rows[i], sums[i], p, p.lines);
      put_on_gpu(again[3 - i], sums[i], p, p.lines);
    }
  };
  return a;
}

// One step per level of a chain: the state of `group` steps is computed per tile, overlapping.
Algorithm jacobi() {
  Algorithm a(Float(32));
  std::vector<Func> steps;
  Func last = a.edge;
  for (int s = 0; s < 100; ++s) {
    Func next("step");
    next(x, y) = 0.25f * (last(x, y - 1) + last(x - 1, y) + last(x + 1, y) + last(x, y + 1));
    steps.push_back(next);
    last = next;
  }
  a.out = last;
  a.schedule = [steps](Algorithm&, const Cut& c) mutable {
    const int group = c.wide;  // steps per pass over the array
    for (int s = int(steps.size()) - 1; s >= 0; --s) {
      Func f = steps[std::size_t(s)];
      const int end = (s / group + 1) * group - 1;
      if (s == end || s == int(steps.size()) - 1) {
        if (s != int(steps.size()) - 1) f.compute_root();
        f.split(y, yo, y, c.strip, TailStrategy::GuardWithIf).parallel(yo).vectorize(x, c.lanes);
      } else {
        Func at = steps[std::size_t(std::min(end, int(steps.size()) - 1))];
        f.store_at(at, yo).compute_at(at, y).vectorize(x, c.lanes);
      }
    }
  };
  return a;
}

// As in Halide's stencil_chain: strips of the output, each stage in lines.
Algorithm stencil_chain() {
  Algorithm a(UInt(16));
  std::vector<Func> stages;
  Func last = a.edge;
  for (int s = 0; s < 32; ++s) {
    Func next("stage");
    Expr sum = cast<uint16_t>(0);
    for (int i = -2; i <= 2; i++)
      for (int j = -2; j <= 2; j++) sum += cast<uint16_t>((i + 3) * (j + 3)) * last(x + i, y + j);
    next(x, y) = sum;
    stages.push_back(next);
    last = next;
  }
  a.out = last;
  a.lines.assign(stages.begin(), stages.end() - 1);
  a.schedule = [](Algorithm& g, const Cut& c) {
    Var xo("xo"), tile("tile");
    g.out.tile(x, y, xo, yo, xi, yi, c.wide, c.strip).fuse(xo, yo, tile).parallel(tile).vectorize(xi, c.lanes);
    for (Func& f : g.lines) f.store_at(g.out, tile).compute_at(g.out, yi).vectorize(x, c.lanes);
    if (c.pad) g.edge.store_at(g.out, tile).compute_at(g.out, yi).vectorize(x, c.lanes);
  };
  return a;
}

}  // namespace

Recipe halide_app_recipe(const std::string& job) {
  if (job == "laplacian_f32") {
    std::vector<Cut> cuts;
    for (int strip : {16, 32, 64})
      for (int lanes : {16, 32}) cuts.push_back({lanes, strip, 1, 1, false, true});
    return {laplacian, cuts};
  }
  if (job == "jacobi_f32") {
    std::vector<Cut> cuts;
    for (int group : {1, 2, 4, 10})
      for (int strip : {64, 256}) cuts.push_back({16, strip, group, 1, false, true});
    return {jacobi, cuts, false};
  }
  if (job == "stencil_chain_u16") {
    std::vector<Cut> cuts;
    for (int width : {512, 960, 1920})
      for (int strip : {270, 540, 1080})
        for (bool pad : {false, true}) cuts.push_back({32, strip, width, 1, pad, true});
    return {stencil_chain, cuts, false};
  }
  return {};
}

}  // namespace tessera::bench
