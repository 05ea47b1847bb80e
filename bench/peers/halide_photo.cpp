// The two pipelines of cameras in Halide: the mosaic of a sensor developed, four exposures fused. The arithmetic is
// that of bench/jobs/; the camera's schedules are those of Halide's demo program (apps/camera_pipe, MIT licence):
// strips in parallel, the planes of the Bayer pattern in rings of lines, all channels of a block of 2x2 points at once;
// on a GPU the planes lie in shared memory.
#include <algorithm>
#include <array>
#include <cmath>

#include "peers/halide.hpp"

namespace tessera::bench {

using namespace Halide;

namespace {

const Var c("c"), k("k"), xo("xo"), xv("xv");

Func mirrored(Algorithm& a, Type type) {
  a.inputs.emplace_back(type, 2, "in" + std::to_string(a.inputs.size()));
  return BoundaryConditions::mirror_interior(a.inputs.back());
}

// Points in pairs of columns and of rows, so that every parity is a case of its own and a pair of vectors is stored
// interleaved.
void in_pairs(Func& f, const Cut& cut) {
  f.split(y, yo, y, cut.strip, TailStrategy::GuardWithIf)
      .split(y, y, yi, 2, TailStrategy::GuardWithIf)
      .split(x, x, xv, 2 * cut.lanes, TailStrategy::GuardWithIf)
      .split(xv, xv, xi, 2)
      .vectorize(xv)
      .unroll(xi)
      .unroll(yi)
      .parallel(yo);
}

// ---- the camera --------------------------------------------------------------------------------------------------

Buffer<std::uint8_t> tone_curve() {
  Buffer<std::uint8_t> curve(1024);
  for (int i = 0; i < 1024; ++i) {
    const float v = float(i) / 1023.0f;
    const float s = v <= 0.0031308f ? 12.92f * v : 1.055f * std::pow(v, 1 / 2.4f) - 0.055f;
    curve(i) = std::uint8_t(std::clamp(std::nearbyint(255 * s), 0.0f, 255.0f));
  }
  return curve;
}

// Whichever of two pairs lies closer together.
Expr along(const Expr& a, const Expr& b, const Expr& p, const Expr& q, const Expr& near, const Expr& far) {
  return select(absd(a, b) < absd(p, q), near, far);
}

Expr mean(const Func& difference, int x0, int y0, int x1, int y1) {
  return (difference(x + x0, y + y0) + difference(x + x1, y + y1)) / 2.0f;
}

// Planes of half the extents, as in the mosaic: GR R / B GB.
Algorithm camera() {
  Algorithm a;
  a.edge(x, y) = mirrored(a, UInt(16))(x, y);
  const Func& e = a.edge;
  Func clean("clean"), gr("gr"), r("r"), b("b"), gb("gb"), g_r("g_r"), g_b("g_b"), rd("rd"), bd("bd"), out("out");
  clean(x, y) = clamp(e(x, y), min(min(e(x, y - 2), e(x, y + 2)), min(e(x - 2, y), e(x + 2, y))),
                      max(max(e(x, y - 2), e(x, y + 2)), max(e(x - 2, y), e(x + 2, y))));
  const auto balanced = [&](int i, int j, float gain) {
    return (cast<float>(clean(2 * x + i, 2 * y + j)) - 64.0f) * gain;
  };
  gr(x, y) = balanced(0, 0, 1);
  r(x, y) = balanced(1, 0, 2);
  b(x, y) = balanced(0, 1, 1.5f);
  gb(x, y) = balanced(1, 1, 1);
  g_r(x, y) = along(gr(x, y), gr(x + 1, y), gb(x, y - 1), gb(x, y), (gr(x, y) + gr(x + 1, y)) / 2.0f,
                    (gb(x, y - 1) + gb(x, y)) / 2.0f);
  g_b(x, y) = along(gb(x, y), gb(x - 1, y), gr(x, y + 1), gr(x, y), (gb(x, y) + gb(x - 1, y)) / 2.0f,
                    (gr(x, y + 1) + gr(x, y)) / 2.0f);
  rd(x, y) = r(x, y) - g_r(x, y);
  bd(x, y) = b(x, y) - g_b(x, y);

  // The colours at the four points of a block.
  const std::array<std::array<Expr, 3>, 4> colours{{
      {gr(x, y) + mean(rd, -1, 0, 0, 0), gr(x, y), gr(x, y) + mean(bd, 0, -1, 0, 0)},
      {r(x, y), g_r(x, y),
       g_r(x, y) +
           along(b(x, y), b(x + 1, y - 1), b(x + 1, y), b(x, y - 1), mean(bd, 0, 0, 1, -1), mean(bd, 1, 0, 0, -1))},
      {g_b(x, y) +
           along(r(x, y), r(x - 1, y + 1), r(x - 1, y), r(x, y + 1), mean(rd, 0, 0, -1, 1), mean(rd, -1, 0, 0, 1)),
       g_b(x, y), b(x, y)},
      {gb(x, y) + mean(rd, 0, 0, 0, 1), gb(x, y), gb(x, y) + mean(bd, 0, 0, 1, 0)},
  }};
  const Buffer<std::uint8_t> curve = tone_curve();
  std::vector<Func> points, shown;
  for (const auto& [red, green, blue] : colours) {
    Func point("point"), show("shown");
    point(x, y, c) = mux(c, {red, green, blue});
    const Expr value = mux(c, {1.6f, -0.3f, 0.0f}) * point(x, y, 0) + mux(c, {-0.4f, 1.5f, -0.5f}) * point(x, y, 1) +
                       mux(c, {-0.2f, -0.2f, 1.5f}) * point(x, y, 2);
    show(x, y, c) = curve(clamp(cast<int>(value * (1023.0f / 959) + 0.5f), 0, 1023));
    points.push_back(point);
    shown.push_back(show);
  }
  const auto half = [&](std::size_t i) { return Expr(shown[i](x / 2, y / 2, c)); };
  out(x, y, c) = select(y % 2 == 0, select(x % 2 == 0, half(0), half(1)), select(x % 2 == 0, half(2), half(3)));
  out.output_buffer().dim(0).set_min(0);
  out.output_buffer().dim(1).set_min(0);
  a.out = out;
  // In lines: the mosaic without hot points (or straight from the input, where `lines` is false) and the planes; the
  // differences of two of them are computed where they are read. The columns are cut in pieces of `wide`.
  a.lines = {gr, r, b, gb, g_r, g_b};
  a.schedule = [=](Algorithm& g, const Cut& cut) mutable {
    out.bound(c, 0, 3).split(x, xo, x, cut.wide, TailStrategy::GuardWithIf);
    in_pairs(out, cut);
    out.reorder(xv, xi, c, yi, x, y, xo, yo).unroll(c);
    const auto in_lines = [&](Func& f, int lanes) { f.store_at(out, xo).compute_at(out, y).vectorize(x, lanes); };
    for (Func& f : g.lines) in_lines(f, cut.lanes);
    if (cut.lines) in_lines(clean, 2 * cut.lanes);
    if (cut.pad) in_lines(g.edge, 2 * cut.lanes);
    if (cut.high == 2)
      for (Func& f : points) f.compute_at(out, x).vectorize(x, cut.lanes).bound(c, 0, 3).unroll(c);
  };
  // A thread computes a point of every plane, halo included, and colours of 2x2 points. The program's own keeps those
  // in shared memory as well; of the others some compute the points without their neighbours' hot ones where they are
  // read.
  a.on_gpu = [=](Algorithm& g, const Plan& p) mutable {
    const auto buffer = out.output_buffer();
    out.bound(c, 0, 3).bound(x, 0, buffer.width() / 2 * 2).bound(y, 0, buffer.height() / 2 * 2);
    out.compute_root().reorder(c, x, y).unroll(c);
    tile_on_gpu(out, p);
    for (Func& f : g.lines) put_on_gpu(f, out, p, Place::shared);
    if (p.edge == Place::shared)
      clean.compute_at(out, gpu_block).tile(x, y, xi, yi, 2, 2).unroll(xi).unroll(yi).gpu_threads(x, y);
    for (Func& f : points) {
      if (p.lines == Place::inlined) break;
      f.bound(c, 0, 3).reorder(c, x, y).unroll(c);
      put_on_gpu(f, out, p, p.lines);
    }
  };
  return a;
}

// Pieces of whole rows are four times as slow as pieces of 864 columns; vectors of 32 floats take a minute to compile.
std::vector<Cut> camera_cuts() {
  std::vector<Cut> cuts;
  for (int wide : {288, 864})
    for (int strip : {32, 96})
      for (int lanes : {8, 16}) cuts.push_back({lanes, strip, wide, 1, true, true});
  cuts.push_back({8, 32, 864, 2, true, true});
  cuts.push_back({8, 32, 864, 1, true, false});
  return cuts;
}

// ---- exposure fusion ---------------------------------------------------------------------------------------------

constexpr int photographs = 4, levels = 4;

Expr burt(const Expr& p, const Expr& q, const Expr& r, const Expr& s, const Expr& t) {
  return (p + 4.0f * q + 6.0f * r + 4.0f * s + t) * (1.0f / 16);
}

struct Passes {
  Func rows, all;
};

// f at a point of the plane that the other dimensions choose.
Expr at(const Func& f, const Expr& i, const Expr& j, const std::vector<Var>& rest) {
  std::vector<Expr> arguments{i, j};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return f(arguments);
}
FuncRef define(Func& f, const std::vector<Var>& rest) {
  std::vector<Var> arguments{x, y};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return f(arguments);
}

// Half the extents.
Passes reduced(const Func& f, const std::vector<Var>& rest) {
  Passes p{Func("reduced_down"), Func("reduced")};
  const auto down = [&](int i) { return at(f, x, 2 * y + i, rest); };
  const auto across = [&](int i) { return at(p.rows, 2 * x + i, y, rest); };
  define(p.rows, rest) = burt(down(-2), down(-1), down(0), down(1), down(2));
  define(p.all, rest) = burt(across(-2), across(-1), across(0), across(1), across(2));
  return p;
}

Passes expanded(const Func& f, const std::vector<Var>& rest) {
  Passes p{Func("expanded_down"), Func("expanded")};
  const auto down = [&](int i) { return at(f, x, y / 2 + i, rest); };
  const auto across = [&](int i) { return at(p.rows, x / 2 + i, y, rest); };
  define(p.rows, rest) = select(y % 2 == 0, (down(-1) + 6.0f * down(0) + down(1)) * 0.125f, (down(0) + down(1)) * 0.5f);
  define(p.all, rest) =
      select(x % 2 == 0, (across(-1) + 6.0f * across(0) + across(1)) * 0.125f, (across(0) + across(1)) * 0.5f);
  return p;
}

Expr exposed(const Expr& v) {
  return exp(-(v - 0.5f) * (v - 0.5f) / (2 * 0.2f * 0.2f));
}

// Grey and worth of every photograph and the shares of all.
struct Weights {
  std::vector<Func> grey, worth;
  Func share{"share"};
};

// Only the contrast sees beyond the edges, so only grey reads mirrored points.
Weights weights(const std::vector<ImageParam>& inputs, const std::vector<Func>& mirrors) {
  Weights w;
  Expr total = 0.0f;
  std::vector<Expr> each;
  for (std::size_t i = 0; i < photographs; ++i) {
    const auto colour = [&](std::size_t j) { return cast<float>(inputs[3 * i + j](x, y)); };
    const auto seen = [&](std::size_t j) { return cast<float>(mirrors[3 * i + j](x, y)); };
    Func g("grey"), worth("worth");
    g(x, y) = (0.299f * seen(0) + 0.587f * seen(1) + 0.114f * seen(2)) / 255.0f;
    const Expr contrast = abs(g(x, y - 1) + g(x, y + 1) + g(x - 1, y) + g(x + 1, y) - 4.0f * g(x, y));
    const Expr red = colour(0) / 255.0f, green = colour(1) / 255.0f, blue = colour(2) / 255.0f;
    const Expr middle = (red + green + blue) / 3.0f, p = red - middle, q = green - middle, r = blue - middle;
    const Expr saturation = sqrt((p * p + q * q + r * r) / 3.0f);
    worth(x, y) = contrast * saturation * exposed(red) * exposed(green) * exposed(blue) + 1e-6f;
    w.grey.push_back(g);
    w.worth.push_back(worth);
    each.emplace_back(worth(x, y));
    total = i == 0 ? each[0] : total + each[i];
  }
  w.share(x, y, k) = mux(k, each) / total;
  return w;
}

Algorithm exposure_fusion() {
  Algorithm a;
  std::vector<Func> mirrors;
  for (int i = 0; i < 3 * photographs; ++i) mirrors.push_back(mirrored(a, UInt(8)));
  Weights w = weights(a.inputs, mirrors);
  std::vector<Func> photos(levels + 1), shares{w.share}, sums(levels + 1);
  std::vector<Func> plane_rows, photo_rows(1), share_rows, wide_rows;
  // The first level comes from twelve arrays, one definition each.
  photos[1](x, y, c, k) = undef<float>();
  for (int i = 0; i < 3 * photographs; ++i) {
    Func plane("plane");
    plane(x, y) = cast<float>(mirrors[std::size_t(i)](x, y));
    const Passes p = reduced(plane, {});
    photos[1](x, y, i % 3, i / 3) = p.all(x, y);
    plane_rows.push_back(p.rows);
  }
  const Func edged = BoundaryConditions::mirror_interior(
      w.share, {{0, a.inputs[0].width()}, {0, a.inputs[0].height()}, {Expr(), Expr()}});
  for (std::size_t l = 0; l < levels; ++l) {
    const Passes s = reduced(l == 0 ? edged : shares[l], {k});
    share_rows.push_back(s.rows), shares.push_back(s.all);
    if (l == 0) continue;
    const Passes p = reduced(photos[l], {c, k});
    photo_rows.push_back(p.rows), photos[l + 1] = p.all;
  }
  const auto own = [&](std::size_t l, int i) {
    if (l > 0) return Expr(photos[l](x, y, c, i));
    const std::size_t j = 3 * std::size_t(i);
    return cast<float>(mux(c, {a.inputs[j](x, y), a.inputs[j + 1](x, y), a.inputs[j + 2](x, y)}));
  };
  const auto mixed = [&](std::size_t l, const Func& coarse) {
    Expr sum;
    for (int i = 0; i < photographs; ++i) {
      const Expr fine = own(l, i);
      const Expr term = (coarse.defined() ? fine - coarse(x, y, c, i) : fine) * shares[l](x, y, i);
      sum = i == 0 ? term : sum + term;
    }
    return sum;
  };
  sums[levels](x, y, c) = mixed(levels, Func());
  for (std::size_t l = levels; l-- > 0;) {
    const Passes detail = expanded(photos[l + 1], {c, k}), rest = expanded(sums[l + 1], {c});
    const Expr sum = mixed(l, detail.all) + rest.all(x, y, c);
    sums[l](x, y, c) = l > 0 ? sum : cast<std::uint8_t>(clamp(round(sum), 0.0f, 255.0f));
    wide_rows.insert(wide_rows.begin(), {detail.rows, rest.rows});
  }
  a.out = sums[0];
  a.out.output_buffer().dim(0).set_min(0);
  a.out.output_buffer().dim(1).set_min(0);
  // Levels in memory, the passes along columns in lines.
  a.schedule = [=](Algorithm&, const Cut& cut) mutable {
    const auto strips = [&](auto stage) {
      stage.split(y, yo, y, cut.strip, TailStrategy::GuardWithIf).vectorize(x, cut.lanes).parallel(yo);
    };
    Func& share = w.share;
    strips(share.compute_root());
    share.bound(k, 0, photographs).reorder(k, x, y, yo).unroll(k);
    for (std::size_t i = 0; i < photographs; ++i) {
      w.grey[i].store_at(share, yo).compute_at(share, y).vectorize(x, cut.lanes);
      w.worth[i].compute_at(share, x).vectorize(x, cut.lanes);
    }
    photos[1].compute_root().bound(c, 0, 3).bound(k, 0, photographs);
    for (int i = 0; i < 3 * photographs; ++i) {
      strips(photos[1].update(i));
      plane_rows[std::size_t(i)].compute_at(photos[1], y).vectorize(x, cut.lanes);
    }
    for (std::size_t l = 1; l <= levels; ++l) {
      Func &photo = photos[l], &weight = shares[l];
      strips(weight.compute_root());
      weight.bound(k, 0, photographs).reorder(x, y, k, yo);
      share_rows[l - 1].compute_at(weight, y).vectorize(x, cut.lanes);
      if (l == 1) continue;
      strips(photo.compute_root());
      photo.bound(c, 0, 3).bound(k, 0, photographs).reorder(x, y, c, k, yo);
      photo_rows[l - 1].compute_at(photo, y).vectorize(x, cut.lanes);
    }
    for (std::size_t l = 0; l < levels; ++l) {
      Func& sum = sums[l];
      if (l > 0) sum.compute_root().align_bounds(x, 2).align_bounds(y, 2);
      in_pairs(sum, cut);
      sum.bound(c, 0, 3).reorder(xv, xi, x, yi, c, y, yo);
      if (l == 0) sum.unroll(c);
      for (Func rows : {wide_rows[2 * l], wide_rows[2 * l + 1]})
        rows.compute_at(sum, c).align_bounds(y, 2).vectorize(x, cut.lanes).unroll(y, 2);
    }
    sums[levels].compute_root().bound(c, 0, 3).vectorize(x, cut.lanes);
  };
  // Every level a kernel, all planes of it at once; the passes along columns where the plan puts them.
  a.on_gpu = [=](Algorithm&, const Plan& p) mutable {
    const Var plane("plane");
    Func& share = w.share;
    tile_on_gpu(share.compute_root().bound(k, 0, photographs).reorder(k, x, y).unroll(k), p);
    for (std::size_t i = 0; i < photographs; ++i) {
      put_on_gpu(w.grey[i], share, p, p.lines);
      put_on_gpu(w.worth[i], share, p, Place::registers);
    }
    photos[1].compute_root().bound(c, 0, 3).bound(k, 0, photographs);
    for (int i = 0; i < 3 * photographs; ++i) tile_on_gpu(photos[1].update(i), p);
    for (std::size_t l = 1; l <= levels; ++l) {
      tile_on_gpu(shares[l].compute_root().bound(k, 0, photographs).gpu_blocks(k), p);
      put_on_gpu(share_rows[l - 1], shares[l], p, p.lines);
      if (l == 1) continue;
      tile_on_gpu(photos[l].compute_root().bound(c, 0, 3).bound(k, 0, photographs).fuse(c, k, plane).gpu_blocks(plane),
                  p);
      put_on_gpu(photo_rows[l - 1], photos[l], p, p.lines);
    }
    for (std::size_t l = 0; l <= levels; ++l) {
      sums[l].compute_root().bound(c, 0, 3).reorder(c, x, y).unroll(c);
      tile_on_gpu(sums[l], p);
      if (l == levels) continue;
      for (Func rows : {wide_rows[2 * l], wide_rows[2 * l + 1]}) put_on_gpu(rows, sums[l], p, p.lines);
    }
  };
  return a;
}

std::vector<Cut> fusion_cuts() {
  std::vector<Cut> cuts;
  for (int strip : {8, 16, 32, 64})
    for (int lanes : {8, 16}) cuts.push_back({lanes, strip, 1, 1, false, true});
  return cuts;
}

}  // namespace

Recipe halide_photo_recipe(const std::string& job) {
  if (job == "camera_u16") return {camera, camera_cuts()};
  if (job == "exposure_fusion_u8") return {exposure_fusion, fusion_cuts(), false};
  return {};
}

}  // namespace tessera::bench
