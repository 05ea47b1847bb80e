// The filters in Halide, each with the best of a grid of schedules: strips of rows whose intermediate stages stay in
// rings of lines, or blocks of registers for a single stencil. Halide's own demo programs use the same two shapes.
#include <algorithm>

#include "peers/halide.hpp"
#include "random.hpp"

namespace tessera::bench {

using namespace Halide;

const Var x("x"), y("y"), xi("xi"), yi("yi"), yo("yo");

std::string Cut::text() const {
  return "vectors of " + std::to_string(lanes) + ", strips of " + std::to_string(strip) + ", block " +
         std::to_string(wide) + "x" + std::to_string(high) + (pad ? ", padded input" : "") + (lines ? "" : ", inlined");
}

Algorithm::Algorithm(Type type) {
  inputs.emplace_back(type, 2, "in");
  edge(x, y) = BoundaryConditions::repeat_edge(inputs[0])(x, y);
}

// Strips of rows per task; inside, a few rows at a time, each vector column in registers; stages in rings of lines.
void schedule_strips(Algorithm& a, const Cut& c) {
  a.out.split(y, yo, y, c.strip, TailStrategy::GuardWithIf).parallel(yo);
  a.out.tile(x, y, xi, yi, c.lanes, c.high, TailStrategy::GuardWithIf).vectorize(xi).unroll(yi);
  if (c.lines)
    for (Func& f : a.lines) f.store_at(a.out, yo).compute_at(a.out, y).vectorize(x, c.lanes);
  if (c.pad) a.edge.store_at(a.out, yo).compute_at(a.out, y).vectorize(x, c.lanes);
}

// One stencil in registers: a block of vectors and rows per iteration, loads shared by LLVM.
void schedule_blocks(Algorithm& a, const Cut& c) {
  a.out.split(y, yo, y, c.strip, TailStrategy::GuardWithIf).parallel(yo);
  a.out.tile(x, y, xi, yi, c.lanes * c.wide, c.high, TailStrategy::GuardWithIf)
      .vectorize(xi, c.lanes)
      .unroll(xi)
      .unroll(yi);
  if (c.pad) a.edge.compute_at(a.out, yo).vectorize(x, c.lanes);
}

namespace {

std::vector<Cut> strip_cuts(int lanes, bool can_inline) {
  std::vector<Cut> cuts;
  for (int strip : {16, 64})
    for (int l : {lanes, 2 * lanes})
      for (int high : {1, 2, 4})
        for (bool pad : {false, true}) cuts.push_back({l, strip, 1, high, pad, true});
  if (can_inline)
    for (int l : {lanes, 2 * lanes})
      for (int high : {1, 2, 4}) cuts.push_back({l, 32, 1, high, true, false});
  return cuts;
}

std::vector<Cut> block_cuts() {
  std::vector<Cut> cuts;
  for (int strip : {32, 128})
    for (auto [wide, high] : {std::pair{1, 1}, {1, 2}, {1, 4}, {2, 2}, {2, 4}, {4, 1}, {4, 2}})
      cuts.push_back({16, strip, wide, high, true, true});
  for (auto [wide, high] : {std::pair{1, 1}, {1, 2}, {2, 2}}) cuts.push_back({16, 32, wide, high, false, true});
  return cuts;
}

std::vector<Cut> large_cuts() {
  std::vector<Cut> cuts;
  for (auto [wide, high] : {std::pair{1, 8}, {2, 4}, {2, 8}, {4, 4}, {3, 6}})
    cuts.push_back({16, 10 * high, wide, high, true, true});
  return cuts;
}

const std::vector<float> binomial5{1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};

Algorithm separable(const std::vector<float>& k) {
  Algorithm a(Float(32));
  const int n = int(k.size()), r = n / 2;
  Func rows("rows"), out("out");
  Expr along = 0.0f, across = 0.0f;
  for (int i = 0; i < n; i++) along += k[std::size_t(i)] * a.edge(x + i - r, y);
  rows(x, y) = along;
  for (int i = 0; i < n; i++) across += k[std::size_t(i)] * rows(x, y + i - r);
  out(x, y) = across;
  a.out = out;
  a.lines = {rows};
  return a;
}

Algorithm dense_large(int n) {  // a reduction, weights in a buffer, accumulators in registers
  Algorithm a(Float(32));
  const std::vector<float> k = random_weights(n * n, 7);
  Buffer<float> weights(n, n);
  std::copy(k.begin(), k.end(), weights.begin());
  Func sum("sum"), out("out");
  RDom r(0, n, 0, n);
  sum(x, y) = 0.0f;
  sum(x, y) += weights(r.x, r.y) * a.edge(x + r.x - n / 2, y + r.y - n / 2);
  out(x, y) = sum(x, y);
  a.out = out;
  a.schedule = [sum, out, r](Algorithm& g, const Cut& c) mutable {
    schedule_blocks(g, c);
    sum.compute_at(out, x).vectorize(x, c.lanes).unroll(x).unroll(y);
    sum.update().reorder(x, y, r.x, r.y).vectorize(x, c.lanes).unroll(x).unroll(y);
  };
  return a;
}

Algorithm box_floats() {
  Algorithm a(Float(32));
  Func rows("rows"), out("out");
  rows(x, y) = a.edge(x - 1, y) + a.edge(x, y) + a.edge(x + 1, y);
  out(x, y) = (rows(x, y - 1) + rows(x, y) + rows(x, y + 1)) * (1.0f / 9);
  a.out = out;
  a.lines = {rows};
  return a;
}

Algorithm box_bytes() {  // sums in 16 bits, rounded
  Algorithm a(UInt(8));
  Func rows("rows"), out("out");
  rows(x, y) = cast<uint16_t>(a.edge(x - 1, y)) + a.edge(x, y) + a.edge(x + 1, y);
  out(x, y) = cast<uint8_t>((rows(x, y - 1) + rows(x, y) + rows(x, y + 1) + 4) / 9);
  a.out = out;
  a.lines = {rows};
  return a;
}

Algorithm gauss_bytes(int n) {
  Algorithm a(UInt(8));
  const std::vector<int> k = n == 3 ? std::vector<int>{1, 2, 1} : std::vector<int>{1, 4, 6, 4, 1};
  const int r = n / 2, total = n == 3 ? 16 : 256;
  Func rows("rows"), out("out");
  Expr along = cast<uint16_t>(0), across = cast<uint16_t>(total / 2);
  for (int i = 0; i < n; i++) along += cast<uint16_t>(k[std::size_t(i)]) * a.edge(x + i - r, y);
  rows(x, y) = along;
  for (int i = 0; i < n; i++) across += cast<uint16_t>(k[std::size_t(i)]) * rows(x, y + i - r);
  out(x, y) = cast<uint8_t>(across / cast<uint16_t>(total));
  a.out = out;
  a.lines = {rows};
  return a;
}

Expr slope_x(const Func& e) {
  return (e(x + 1, y - 1) - e(x - 1, y - 1)) + 2 * (e(x + 1, y) - e(x - 1, y)) + (e(x + 1, y + 1) - e(x - 1, y + 1));
}
Expr slope_y(const Func& e) {
  return (e(x - 1, y + 1) - e(x - 1, y - 1)) + 2 * (e(x, y + 1) - e(x, y - 1)) + (e(x + 1, y + 1) - e(x + 1, y - 1));
}
Expr sum3x3(const Func& f) {
  Expr sum = 0.0f;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) sum += f(x + i, y + j);
  return sum;
}

Algorithm sobel_floats() {
  Algorithm a(Float(32));
  a.out(x, y) = slope_x(a.edge);
  a.schedule = schedule_blocks;
  return a;
}

Algorithm sobel_bytes() {
  Algorithm a(UInt(8));
  Func wide("wide");
  wide(x, y) = cast<int16_t>(a.edge(x, y));
  a.out(x, y) = slope_x(wide);
  a.schedule = schedule_blocks;
  return a;
}

Algorithm harris() {
  Algorithm a(Float(32));
  Func ix("ix"), iy("iy"), xx("xx"), xy("xy"), yy("yy"), out("out");
  const float scale = 1.0f / 12;  // as OpenCV: 1 / (2^(3 - 1) * 3)
  ix(x, y) = scale * slope_x(a.edge);
  iy(x, y) = scale * slope_y(a.edge);
  xx(x, y) = ix(x, y) * ix(x, y);
  xy(x, y) = ix(x, y) * iy(x, y);
  yy(x, y) = iy(x, y) * iy(x, y);
  const Expr sxx = sum3x3(xx), sxy = sum3x3(xy), syy = sum3x3(yy), trace = sxx + syy;
  out(x, y) = sxx * syy - sxy * sxy - 0.04f * trace * trace;
  a.out = out;
  a.lines = {ix, iy};
  return a;
}

Algorithm unsharp() {
  Algorithm a = separable({0.120078f, 0.233881f, 0.292082f, 0.233881f, 0.120078f});  // sigma 1.5
  Func out("sharp");
  out(x, y) = 1.7f * a.edge(x, y) - 0.7f * a.out(x, y);
  a.out = out;
  return a;
}

Algorithm chain() {
  Algorithm a = separable(binomial5);
  Func smooth = a.out, slope("slope"), out("boxed");
  slope(x, y) = slope_x(smooth);
  out(x, y) = sum3x3(slope) * (1.0f / 9);
  a.out = out;
  a.lines.push_back(smooth);
  a.lines.push_back(slope);
  return a;
}

Algorithm canny() {
  Algorithm a = separable(binomial5);
  Func smooth = a.out, gx("gx"), gy("gy"), size("size"), out("thin");
  gx(x, y) = slope_x(smooth);
  gy(x, y) = slope_y(smooth);
  size(x, y) = sqrt(gx(x, y) * gx(x, y) + gy(x, y) * gy(x, y));
  const Expr ax = abs(gx(x, y)), ay = abs(gy(x, y)), falling = gx(x, y) * gy(x, y) < 0;
  const Expr along = max(size(x - 1, y), size(x + 1, y)), across = max(size(x, y - 1), size(x, y + 1));
  const Expr down = max(size(x - 1, y - 1), size(x + 1, y + 1)), up = max(size(x + 1, y - 1), size(x - 1, y + 1));
  const Expr beside =
      select(ay < 0.41421356f * ax, along, select(ay > 2.41421356f * ax, across, select(falling, up, down)));
  out(x, y) = select(size(x, y) >= beside, size(x, y), 0.0f);
  a.out = out;
  a.lines.insert(a.lines.end(), {smooth, gx, gy, size});
  return a;
}

Algorithm median3(Type type) {
  Algorithm a(type);
  Func lo("lo"), mid("mid"), hi("hi"), out("out");
  const auto middle = [](Expr p, Expr q, Expr r) { return max(min(p, q), min(max(p, q), r)); };
  const Expr p = a.edge(x, y - 1), q = a.edge(x, y), r = a.edge(x, y + 1);  // sorted columns, then the classic merge
  lo(x, y) = min(min(p, q), r);
  mid(x, y) = middle(p, q, r);
  hi(x, y) = max(max(p, q), r);
  const Expr low = max(max(lo(x - 1, y), lo(x, y)), lo(x + 1, y)),
             high = min(min(hi(x - 1, y), hi(x, y)), hi(x + 1, y));
  out(x, y) = middle(low, middle(mid(x - 1, y), mid(x, y), mid(x + 1, y)), high);
  a.out = out;
  a.lines = {lo, mid, hi};
  return a;
}

Algorithm dilate3() {
  Algorithm a(UInt(8));
  Func rows("rows"), out("out");
  rows(x, y) = max(max(a.edge(x - 1, y), a.edge(x, y)), a.edge(x + 1, y));
  out(x, y) = max(max(rows(x, y - 1), rows(x, y)), rows(x, y + 1));
  a.out = out;
  a.lines = {rows};
  return a;
}

// Maxima of 2, 4, 8 and then 15 points, along rows and then along columns.
Algorithm dilate15() {
  Algorithm a(UInt(8));
  std::vector<Func> steps;
  Func last = a.edge;
  const auto step = [&](const char* name, int dx, int dy) {
    Func f(name);
    f(x, y) = max(last(x, y), last(x + dx, y + dy));
    steps.push_back(f);
    last = f;
  };
  for (int d : {1, 2, 4, 7}) step("row", d, 0);
  for (int d : {1, 2, 4}) step("column", 0, d);
  Func out("out");
  out(x, y) = max(last(x - 7, y - 7), last(x - 7, y));
  a.out = out;
  a.lines = steps;
  return a;
}

Algorithm pyrdown() {
  Algorithm a(Float(32));
  const Func& e = a.edge;
  Func rows("rows"), out("out");
  rows(x, y) =
      (e(x, 2 * y - 2) + 4.0f * e(x, 2 * y - 1) + 6.0f * e(x, 2 * y) + 4.0f * e(x, 2 * y + 1) + e(x, 2 * y + 2)) *
      (1.0f / 16);
  out(x, y) = (rows(2 * x - 2, y) + 4.0f * rows(2 * x - 1, y) + 6.0f * rows(2 * x, y) + 4.0f * rows(2 * x + 1, y) +
               rows(2 * x + 2, y)) *
              (1.0f / 16);
  a.out = out;
  a.lines = {rows};
  return a;
}

}  // namespace

Algorithm halide_dense(int n) {
  Algorithm a(Float(32));
  const std::vector<float> k = random_weights(n * n, 7);
  Expr sum = 0.0f;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) sum += k[std::size_t(j * n + i)] * a.edge(x + i - n / 2, y + j - n / 2);
  a.out(x, y) = sum;
  a.schedule = schedule_blocks;
  return a;
}

Algorithm halide_bilateral(const std::function<Expr(const Expr&)>& exponential) {
  Algorithm a(Float(32));
  Expr total = 0.0f, weight = 0.0f;
  const Expr centre = a.edge(x, y);
  for (int j = -2; j <= 2; j++)
    for (int i = -2; i <= 2; i++) {
      if (i * i + j * j > 4) continue;  // OpenCV's round window
      const Expr v = a.edge(x + i, y + j), d = v - centre;
      const Expr w = exponential(d * d * -50.0f - float(i * i + j * j) * 0.125f);
      total += w * v;
      weight += w;
    }
  a.out(x, y) = total / weight;
  a.schedule = schedule_blocks;
  return a;
}

Recipe halide_recipe(const std::string& job) {
  const Type f32 = Float(32), u8 = UInt(8);
  const auto floats = strip_cuts(16, true), whole = strip_cuts(16, false), bytes = strip_cuts(32, true);
  if (job == "blur3_f32") return {box_floats, floats};
  if (job == "conv3_f32") return {[] { return halide_dense(3); }, block_cuts()};
  if (job == "conv5_f32") return {[] { return halide_dense(5); }, block_cuts()};
  if (job == "conv7_f32") return {[] { return dense_large(7); }, large_cuts()};
  if (job == "sobel_f32") return {sobel_floats, block_cuts()};
  if (job == "sobel_u8") return {sobel_bytes, block_cuts()};
  if (job == "gauss3_u8" || job == "tiny_u8") return {[] { return gauss_bytes(3); }, bytes};
  if (job == "gauss5_u8") return {[] { return gauss_bytes(5); }, bytes};
  if (job == "box3_u8") return {box_bytes, bytes};
  if (job == "median3_u8") return {[=] { return median3(u8); }, strip_cuts(64, true)};
  if (job == "median3_f32") return {[=] { return median3(f32); }, floats};
  if (job == "dilate3_u8") return {dilate3, strip_cuts(64, true)};
  if (job == "dilate15_u8") return {dilate15, strip_cuts(64, false)};
  if (job == "bilateral5_f32") return {[] { return halide_bilateral(fast_exp); }, block_cuts()};
  if (job == "unsharp5_f32") return {unsharp, floats};
  if (job == "chain_f32") return {chain, whole};
  if (job == "canny_f32") return {canny, whole};
  if (job == "harris_f32") return {harris, whole};
  if (job == "pyrdown_f32") return {pyrdown, floats};
  return {};
}

}  // namespace tessera::bench
