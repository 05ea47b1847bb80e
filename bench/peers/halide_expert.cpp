// Four of Halide's own demo programs with the schedules that their authors gave them for CPUs and GPUs (apps/
// local_laplacian, bilateral_grid, interpolate and nl_means of github.com/halide/Halide, MIT licence). The channels of
// a colour image are arrays of their own, so all of them are computed in one place.
#include "peers/halide.hpp"

namespace tessera::bench {

using namespace Halide;

namespace {

const Var c("c"), k("k"), z("z"), zt("zt"), xt("xt"), yt("yt");

// Images of 2 dimensions with their edges clamped, as the channels of one.
Func channels(Algorithm& a, Type type, int count) {
  std::vector<Expr> planes;
  for (int i = 0; i < count; ++i) {
    a.inputs.emplace_back(type, 2, "in" + std::to_string(i));
    planes.emplace_back(BoundaryConditions::repeat_edge(a.inputs.back())(x, y));
  }
  Func in("in");
  in(x, y, c) = mux(c, planes);
  return in;
}

// ---- local Laplacian ---------------------------------------------------------------------------------------------

Func down1331(const Func& f, std::vector<Func>& passes) {
  Func across("downx"), out("down");
  across(x, y, _) = (f(2 * x - 1, y, _) + 3.0f * (f(2 * x, y, _) + f(2 * x + 1, y, _)) + f(2 * x + 2, y, _)) / 8.0f;
  out(x, y, _) =
      (across(x, 2 * y - 1, _) + 3.0f * (across(x, 2 * y, _) + across(x, 2 * y + 1, _)) + across(x, 2 * y + 2, _)) /
      8.0f;
  passes.push_back(across);
  return out;
}

Func up1331(const Func& f) {
  Func across("upx"), out("up");
  across(x, y, _) = 0.25f * f((x / 2) - 1 + 2 * (x % 2), y, _) + 0.75f * f(x / 2, y, _);
  out(x, y, _) = 0.25f * across(x, (y / 2) - 1 + 2 * (y % 2), _) + 0.75f * across(x, y / 2, _);
  return out;
}

Algorithm local_laplacian() {
  constexpr int depth = 8, levels = 8;
  constexpr float alpha = 1.0f / (levels - 1), beta = 1.0f, eps = 0.01f;
  Algorithm a;
  const Func in = channels(a, UInt(16), 3);
  Func floating("floating"), gray("gray"), remap("remap"), out("out");
  const Expr fx = cast<float>(x) / 256.0f;
  remap(x) = alpha * fx * exp(-fx * fx / 2.0f);
  floating(x, y, c) = in(x, y, c) / 65535.0f;
  gray(x, y) = 0.299f * floating(x, y, 0) + 0.587f * floating(x, y, 1) + 0.114f * floating(x, y, 2);
  std::vector<Func> g(depth), l(depth), in_g(depth), out_l(depth), out_g(depth), passes(1), in_passes(1);
  const Expr level = k * (1.0f / (levels - 1));
  const Expr index = clamp(cast<int>(gray(x, y) * float(levels - 1) * 256.0f), 0, (levels - 1) * 256);
  g[0](x, y, k) = beta * (gray(x, y) - level) + level + remap(index - 256 * k);
  for (std::size_t j = 1; j < depth; j++) g[j](x, y, k) = down1331(g[j - 1], passes)(x, y, k);
  l[depth - 1](x, y, k) = g[depth - 1](x, y, k);
  for (std::size_t j = depth - 1; j-- > 0;) l[j](x, y, k) = g[j](x, y, k) - up1331(g[j + 1])(x, y, k);
  in_g[0](x, y) = gray(x, y);
  for (std::size_t j = 1; j < depth; j++) in_g[j](x, y) = down1331(in_g[j - 1], in_passes)(x, y);
  for (std::size_t j = 0; j < depth; j++) {
    const Expr value = in_g[j](x, y) * float(levels - 1), whole = clamp(cast<int>(value), 0, levels - 2);
    const Expr part = value - cast<float>(whole);
    out_l[j](x, y) = (1.0f - part) * l[j](x, y, whole) + part * l[j](x, y, whole + 1);
  }
  out_g[depth - 1](x, y) = out_l[depth - 1](x, y);
  for (std::size_t j = depth - 1; j-- > 0;) out_g[j](x, y) = up1331(out_g[j + 1])(x, y) + out_l[j](x, y);
  const Expr colour = out_g[0](x, y) * (floating(x, y, c) + eps) / (gray(x, y) + eps);
  out(x, y, c) = cast<uint16_t>(clamp(colour, 0.0f, 1.0f) * 65535.0f);
  a.out = out;
  a.schedule = [=](Algorithm&, const Cut& cut) mutable {
    remap.compute_root();
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c).split(y, yo, y, cut.strip).parallel(yo).vectorize(x, cut.lanes);
    gray.compute_root().parallel(y, 32).vectorize(x, cut.lanes);
    for (std::size_t j = 1; j < 5; j++) {
      in_g[j].compute_root().parallel(y, 32).vectorize(x, cut.lanes);
      g[j].compute_root().reorder_storage(x, k, y).reorder(k, y).parallel(y, 8).vectorize(x, cut.lanes);
      out_g[j].store_at(out, yo).compute_at(out, y).fold_storage(y, 4).vectorize(x, cut.lanes);
    }
    out_g[0].compute_at(out, y).vectorize(x, cut.lanes);
    for (std::size_t j = 5; j < depth; j++) {
      in_g[j].compute_root();
      g[j].compute_root().parallel(k);
      out_g[j].compute_root();
    }
  };
  // The program's own keeps every level of everything in memory, all copies of a point in one thread; blocks of four
  // threads on the coarse levels. The others keep the grey image and not the last level.
  a.on_gpu = [=](Algorithm&, const Plan& p) mutable {
    Plan flat = p;
    flat.wide = flat.high = 1;
    remap.compute_root().gpu_tile(x, xi, 64);
    tile_on_gpu(out.bound(c, 0, 3).reorder(c, x, y).unroll(c), p);
    if (!p.published) tile_on_gpu(gray.compute_root(), p);
    for (std::size_t j = 0; j < depth; j++) {
      if (j > 3 && p.published) flat.columns = flat.rows = 2;
      if (j > 0) {
        tile_on_gpu(in_g[j].compute_root(), flat);
        put_on_gpu(in_passes[j], in_g[j], flat, p.lines);
        if (p.planes)
          g[j].compute_root().gpu_blocks(k);
        else
          g[j].compute_root().reorder(k, x, y);
        tile_on_gpu(g[j], flat);
        put_on_gpu(passes[j], g[j], flat, p.lines);
      }
      if (j > 0 || p.published)
        tile_on_gpu(out_g[j].compute_root(), flat);
      else
        put_on_gpu(out_g[0], out, p, Place::registers);
    }
  };
  return a;
}

// ---- bilateral grid ----------------------------------------------------------------------------------------------

Algorithm bilateral_grid() {
  constexpr int cell = 8;
  constexpr float sigma = 0.1f;
  Algorithm a(Float(32));
  const Func in = a.edge;
  Func histogram("histogram"), blur_z("blurz"), blur_x("blurx"), blur_y("blury"), smooth("smooth"), out("out");
  const RDom r(0, cell, 0, cell);
  const Expr value = clamp(in(x * cell + r.x - cell / 2, y * cell + r.y - cell / 2), 0.0f, 1.0f);
  const Expr bin = cast<int>(value * (1.0f / sigma) + 0.5f);
  histogram(x, y, z, c) = 0.0f;
  histogram(x, y, bin, c) += mux(c, {value, 1.0f});
  const auto binomial = [](const auto& at) { return at(-2) + at(-1) * 4 + at(0) * 6 + at(1) * 4 + at(2); };
  blur_z(x, y, z, c) = binomial([&](int i) { return Expr(histogram(x, y, z + i, c)); });
  blur_x(x, y, z, c) = binomial([&](int i) { return Expr(blur_z(x + i, y, z, c)); });
  blur_y(x, y, z, c) = binomial([&](int i) { return Expr(blur_x(x, y + i, z, c)); });
  const Expr height = clamp(in(x, y), 0.0f, 1.0f) * (1.0f / sigma), zi = cast<int>(height), zf = height - zi;
  const Expr xf = cast<float>(x % cell) / cell, yf = cast<float>(y % cell) / cell, cx = x / cell, cy = y / cell;
  const auto plane = [&](const Expr& at) {
    return lerp(lerp(blur_y(cx, cy, at, c), blur_y(cx + 1, cy, at, c), xf),
                lerp(blur_y(cx, cy + 1, at, c), blur_y(cx + 1, cy + 1, at, c), xf), yf);
  };
  smooth(x, y, c) = lerp(plane(zi), plane(zi + 1), zf);
  out(x, y) = smooth(x, y, 0) / smooth(x, y, 1);
  a.out = out;
  a.schedule = [=](Algorithm&, const Cut& cut) mutable {
    blur_z.compute_root().reorder(c, z, x, y).parallel(y).vectorize(x, cut.lanes).unroll(c);
    histogram.compute_at(blur_z, y);
    histogram.update().reorder(c, r.x, r.y, x, y).unroll(c);
    blur_x.compute_root().reorder(c, x, y, z).parallel(z).vectorize(x, cut.lanes).unroll(c);
    blur_y.compute_root().reorder(c, x, y, z).parallel(z).vectorize(x, cut.lanes).unroll(c);
    blur_z.bound(c, 0, 2);
    blur_x.bound(c, 0, 2);
    blur_y.bound(c, 0, 2);
    out.compute_root().parallel(y).vectorize(x, cut.lanes);
  };
  // Blocks of the grid as large as the plan says, histograms in shared memory; everything else as in the program, but
  // for the number of points of a thread.
  a.on_gpu = [=](Algorithm&, const Plan& p) mutable {
    for (Func* f : {&histogram, &blur_z, &blur_x, &blur_y}) f->bound(c, 0, 2);
    blur_z.compute_root().reorder(c, z, x, y).gpu_tile(x, y, xi, yi, p.columns, p.rows);
    histogram.reorder(c, z, x, y).compute_at(blur_z, x).gpu_threads(x, y);
    histogram.update().reorder(c, r.x, r.y, x, y).gpu_threads(x, y).unroll(c);
    for (Func* f : {&blur_x, &blur_y})
      f->compute_root()
          .reorder(c, x, y, z)
          .reorder_storage(c, x, y, z)
          .vectorize(c)
          .unroll(y, 2, TailStrategy::RoundUp)
          .gpu_tile(x, y, z, xi, yi, zt, 32, 8, 1, TailStrategy::RoundUp);
    out.compute_root().tile(x, y, xt, yt, xi, yi, 32 * p.wide, 8 * p.high).gpu_blocks(xt, yt);
    out.split(xi, xi, x, p.wide).split(yi, yi, y, p.high).reorder(x, y, xi, yi).unroll(x).unroll(y).gpu_threads(xi, yi);
    smooth.compute_at(out, x).vectorize(c);
  };
  return a;
}

// ---- multiscale interpolation ------------------------------------------------------------------------------------

Algorithm interpolate() {
  constexpr int levels = 10;
  Algorithm a;
  const Func in = channels(a, Float(32), 4);
  std::vector<Func> down(levels), down_x(levels), sum(levels), up(levels), up_x(levels);
  down[0](x, y, c) = select(c < 3, in(x, y, c) * in(x, y, 3), in(x, y, 3));
  for (std::size_t l = 1; l < levels; ++l) {
    const Func& from = down[l - 1];
    down_x[l](x, y, c) = (from(x * 2 - 1, y, c) + 2.0f * from(x * 2, y, c) + from(x * 2 + 1, y, c)) * 0.25f;
    down[l](x, y, c) =
        (down_x[l](x, y * 2 - 1, c) + 2.0f * down_x[l](x, y * 2, c) + down_x[l](x, y * 2 + 1, c)) * 0.25f;
  }
  sum[levels - 1](x, y, c) = down[levels - 1](x, y, c);
  for (std::size_t l = levels - 1; l-- > 0;) {
    up_x[l](x, y, c) = (sum[l + 1](x / 2, y, c) + sum[l + 1]((x + 1) / 2, y, c)) / 2.0f;
    up[l](x, y, c) = (up_x[l](x, y / 2, c) + up_x[l](x, (y + 1) / 2, c)) / 2.0f;
    sum[l](x, y, c) = down[l](x, y, c) + (1.0f - down[l](x, y, 3)) * up[l](x, y, c);
  }
  Func out("out");
  out(x, y, c) = sum[0](x, y, c) / sum[0](x, y, 3);
  a.out = out;
  a.schedule = [=](Algorithm&, const Cut& cut) mutable {
    // Both points that read one coarse point, side by side: x / 2 becomes a dense load.
    const auto pairs = [&](Func& f) { f.split(x, x, xi, 2).unroll(xi).vectorize(x, cut.lanes); };
    for (std::size_t l = 1; l < levels; ++l) {
      down[l].compute_root().bound(c, 0, 4).reorder(c, x, y).unroll(c).parallel(y, 8).vectorize(x, cut.lanes);
      down_x[l].compute_at(down[l], y).bound(c, 0, 4).reorder(c, x, y).unroll(c).vectorize(x, cut.lanes);
      if (l == levels - 1) continue;
      sum[l].compute_root().bound(c, 0, 4).parallel(y, 8);
      pairs(sum[l]);
    }
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c).split(y, yo, y, cut.strip).parallel(yo);
    sum[0].compute_at(out, y).bound(c, 0, 4);
    pairs(sum[0]);
    out.vectorize(x, cut.lanes);
  };
  // The program's own: every second level up in memory, the finest two in shared memory of the result's blocks. The
  // others keep every level in memory.
  a.on_gpu = [=](Algorithm&, const Plan& p) mutable {
    const auto colours = [&](Func& f) -> Func& { return f.bound(c, 0, 4).reorder(c, x, y).unroll(c); };
    Plan flat = p;
    flat.wide = flat.high = 1;
    for (std::size_t l = 1; l < levels; ++l) {
      colours(down[l].compute_root());
      tile_on_gpu(down[l], flat);
      if (p.lines != Place::inlined) put_on_gpu(colours(down_x[l]), down[l], flat, p.lines);
    }
    out.bound(c, 0, 3).reorder(c, x, y).unroll(c);
    tile_on_gpu(out, p);
    for (std::size_t l = p.published ? 3 : 1; l + 1 < levels; l += p.published ? 2 : 1)
      tile_on_gpu(colours(sum[l].compute_root()), p);
    if (!p.published) {
      colours(sum[0]);
      return put_on_gpu(sum[0], out, p, Place::registers);
    }
    const auto in_block = [&](Func& f, int wide, int high) {
      colours(f.compute_at(out, gpu_block)).tile(x, y, xi, yi, wide, high).unroll(xi).unroll(yi).gpu_threads(x, y);
    };
    in_block(up_x[1], 2, 1);
    in_block(sum[1], 2, 2);
    in_block(sum[2], 1, 1);
  };
  return a;
}

// ---- non-local means ---------------------------------------------------------------------------------------------

Algorithm nl_means() {
  constexpr int patch = 7, search = 7;
  constexpr float sigma = 0.12f, factor = -1.0f / (sigma * sigma * patch * patch);
  Algorithm a;
  const Func in = channels(a, Float(32), 3);
  Var dx("dx"), dy("dy"), tx("tx"), ty("ty");
  Func d("d"), blur_dy("blur_d_y"), blur_d("blur_d"), with_alpha("with_alpha"), sum("sum"), out("out");
  const RDom window(-(patch / 2), patch), around(-(search / 2), search, -(search / 2), search);
  const auto square = [&](int channel) { return pow(in(x, y, channel) - in(x + dx, y + dy, channel), 2); };
  d(x, y, dx, dy) = square(0) + square(1) + square(2);
  blur_dy(x, y, dx, dy) = Halide::sum(d(x, y + window, dx, dy));
  blur_d(x, y, dx, dy) = Halide::sum(blur_dy(x + window, y, dx, dy));
  with_alpha(x, y, c) = mux(c, {in(x, y, 0), in(x, y, 1), in(x, y, 2), 1.0f});
  const Expr weight = fast_exp(blur_d(x, y, around.x, around.y) * factor);
  sum(x, y, c) += weight * with_alpha(x + around.x, y + around.y, c);
  out(x, y, c) = clamp(sum(x, y, c) / sum(x, y, 3), 0.0f, 1.0f);
  a.out = out;
  a.schedule = [=](Algorithm&, const Cut& cut) mutable {
    out.bound(c, 0, 3)
        .reorder(c, x, y)
        .tile(x, y, tx, ty, x, y, 2 * cut.lanes, cut.strip)
        .parallel(ty)
        .vectorize(x, cut.lanes);
    blur_dy.compute_at(out, tx).reorder(y, x).vectorize(x, cut.lanes);
    d.compute_at(out, tx).vectorize(x, cut.lanes);
    sum.compute_at(out, x).reorder(c, x, y).bound(c, 0, 4).unroll(c).vectorize(x, cut.lanes);
    sum.update(0).reorder(c, x, y, around.x, around.y).unroll(c).vectorize(x, cut.lanes);
    blur_d.compute_at(sum, x).vectorize(x, cut.lanes);
  };
  return a;
}

std::vector<Cut> expert_cuts(std::initializer_list<int> strips) {
  std::vector<Cut> cuts;
  for (int strip : strips)
    for (int lanes : {8, 16}) cuts.push_back({lanes, strip, 1, 1, false, true});
  return cuts;
}

}  // namespace

Recipe halide_expert_recipe(const std::string& job) {
  if (job == "local_laplacian_u16") return {local_laplacian, expert_cuts({32, 64}), false};
  if (job == "bilateral_grid_f32") return {bilateral_grid, expert_cuts({8}), false};
  if (job == "interpolate_f32") return {interpolate, expert_cuts({8, 32}), false};
  if (job == "nl_means_f32") return {nl_means, expert_cuts({8, 16}), false};
  return {};
}

}  // namespace tessera::bench
