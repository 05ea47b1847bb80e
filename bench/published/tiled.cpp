// Tiled separable convolution: the sample of the document, its timing statistics and its verification pixel by pixel.
//
// Every picture is read from a BMP file of its own resolution. Its intensity plane is filtered 3 x 3 and 5 x 5, whole
// and with regions as the sample's "-sL 3 -sT 3 -tL 2 -tT 2" sets them; then the colour case that the document leaves
// to its reader: intensity 5 x 5, both colour planes 3 x 3. Targets are filled ahead, and what lies outside of the
// target's region must keep that. The weights differ from each other, so that no exchange of axes or ends goes unseen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "published/common.hpp"

namespace tessera::published {
namespace {

const std::vector<std::string> versions{"naive", "two passes", "one pass", "tiled"};
constexpr float untouched = -12345;  // in targets ahead of a run

const std::vector<double>& weights_of(i64 radius) {
  static const std::vector<double> three{0.3, 0.5, 0.2}, five{0.1, 0.2, 0.4, 0.25, 0.05};
  return radius == 1 ? three : five;
}

struct Region {
  i64 top = 0, left = 0, bottom = 0, right = 0;  // included
};

struct Regions {
  std::string name;
  Region source, target;
  i64 rows() const { return source.bottom - source.top + 1; }
  i64 columns() const { return source.right - source.left + 1; }
};

Regions whole(i64 rows, i64 columns) {
  return {"whole", {0, 0, rows - 1, columns - 1}, {0, 0, rows - 1, columns - 1}};
}

// From the offsets on as far as both pictures go.
Regions offset(i64 rows, i64 columns, const std::vector<i64>& at) {
  const i64 h = rows - std::max(at[0], at[2]), w = columns - std::max(at[1], at[3]);
  return {"offset", {at[0], at[1], at[0] + h - 1, at[1] + w - 1}, {at[2], at[3], at[2] + h - 1, at[3] + w - 1}};
}

std::vector<i64> integers(i64 pitch, const Region& s, i64 target_pitch, const Region& t) {
  return {pitch, s.top, s.left, s.bottom, s.right, target_pitch, t.top, t.left, t.bottom, t.right};
}

// Of the four classes how many groups, by the document's conditions.
std::array<i64, 4> classes(const Regions& r, i64 radius) {
  std::array<i64, 4> found{};
  for (i64 y = 0; y < r.rows(); y += 32)
    for (i64 x = 0; x < r.columns(); x += 32) {
      const i64 t = r.source.top + y, l = r.source.left + x;
      const bool reads = r.source.left <= l - radius && r.source.top <= t - radius &&
                         l + 32 <= r.source.right - radius && t + 32 <= r.source.bottom - radius;
      const bool writes = r.target.left + x + 32 <= r.target.right && r.target.top + y + 32 <= r.target.bottom;
      ++found[reads ? 0 : 1];
      ++found[writes ? 2 : 3];
    }
  return found;
}

// ---- the reference -------------------------------------------------------------------------------------------------

std::vector<double> reference(const std::vector<double>& plane, i64 columns, const Region& s, i64 radius) {
  const i64 h = s.bottom - s.top + 1, w = s.right - s.left + 1;
  const std::vector<double>& k = weights_of(radius);
  std::vector<double> across(static_cast<std::size_t>(h * w)), result(across.size());
  for (i64 y = 0; y < h; ++y)
    for (i64 x = 0; x < w; ++x)
      for (i64 j = -radius; j <= radius; ++j)
        across[static_cast<std::size_t>(y * w + x)] +=
            k[static_cast<std::size_t>(j + radius)] *
            plane[static_cast<std::size_t>((s.top + y) * columns + s.left + std::clamp<i64>(x + j, 0, w - 1))];
  for (i64 y = 0; y < h; ++y)
    for (i64 i = -radius; i <= radius; ++i)
      for (i64 x = 0; x < w; ++x)
        result[static_cast<std::size_t>(y * w + x)] +=
            k[static_cast<std::size_t>(i + radius)] *
            across[static_cast<std::size_t>(std::clamp<i64>(y + i, 0, h - 1) * w + x)];
  return result;
}

// Puts the comparison into the row: the largest difference inside, and whether everything outside is as it was.
bool compare(const std::vector<float>& got, i64 pitch, const Regions& r, const std::vector<double>& wanted, Json& row,
             bool filled) {
  double largest = 0;
  bool kept = true;
  for (i64 k = 0; k < static_cast<i64>(got.size()); ++k) {
    const i64 y = k / pitch - r.target.top, x = k % pitch - r.target.left;
    const float value = got[static_cast<std::size_t>(k)];
    if (y >= 0 && y < r.rows() && x >= 0 && x < r.columns()) {
      const double d = std::abs(value - wanted[static_cast<std::size_t>(y * r.columns() + x)]);
      largest = d <= largest ? largest : d;  // not a number stays
    } else {
      kept = kept && value == (filled ? untouched : 0);
    }
  }
  const bool good = largest <= 255e-5 && kept;
  row["largest_difference"] = largest;
  row["verdict"] = good ? "same" : "DIFFERENT";
  return good;
}

// ---- our kernels ---------------------------------------------------------------------------------------------------

struct Kernels {
  Machine& machine;
  std::array<Module, 2> of_radius;

  // From plane to plane; `between` holds the half-done plane of two passes.
  void filter(const std::string& version, i64 radius, const Block& source, const Block& between, const Block& target,
              i64 columns, const Regions& r) const {
    const Module& module = of_radius[static_cast<std::size_t>(radius - 1)];
    const i64 h = r.rows(), w = r.columns();
    const auto run = [&](const char* kernel, std::array<i64, 3> items, std::array<int, 3> group, const Block& from,
                         const Block& to, const std::vector<i64>& numbers) {
      const std::array<Block, 2> blocks{from, to};
      machine.launch(module, kernel, items, group, blocks, numbers);
    };
    const std::vector<i64> numbers = integers(columns, r.source, columns, r.target);
    if (version == "naive") {
      run("naive", {w, h, 1}, {16, 16, 1}, source, target, numbers);
    } else if (version == "one pass") {
      run("one_pass", {w, h, 1}, {16, 16, 1}, source, target, numbers);
    } else if (version == "tiled") {
      run("tiled", {(w + 31) / 32 * 8, (h + 31) / 32 * 8, 1}, {8, 8, 1}, source, target, numbers);
    } else {
      const Region middle{0, 0, w - 1, h - 1};
      run("pass", {w, h, 1}, {16, 16, 1}, source, between, integers(columns, r.source, h, middle));
      run("pass", {h, w, 1}, {16, 16, 1}, between, target, integers(h, middle, columns, r.target));
    }
  }
};

std::string stencils(i64 radius) {
  std::string sum_across, sum_down;
  for (i64 k = -radius; k <= radius; ++k) {
    const double w = weights_of(radius)[static_cast<std::size_t>(k + radius)];
    sum_across += fmt::format("{}{}f * X@[0,{}]", k == -radius ? "" : " + ", w, k);
    sum_down += fmt::format("{}{}f * X@[{},0]", k == -radius ? "" : " + ", w, k);
  }
  return fmt::format(
      "stencil across{0}(vector#2 float X) {{ return {1}; }}\nstencil down{0}(vector#2 float X) {{ return {2}; }}\n",
      2 * radius + 1, sum_across, sum_down);
}

Program plane_program(i64 radius, const Regions& r) {
  if (r.name == "whole")
    return Program::from_text(
        stencils(radius) +
        fmt::format("parameter M, N;\nvector#2 float image[M,N];\nreturn down{0}(across{0}(image:clamped):clamped);\n",
                    2 * radius + 1));
  return Program::from_text(stencils(radius) +
                            fmt::format("parameter M, N;\nvector#2 float image[M,N];\n"
                                        "part = image[{}..{},{}..{}];\n"
                                        "result[{}..,{}..] = down{}(across{}(part:clamped):clamped);\nreturn result;\n",
                                        r.source.top, r.source.bottom, r.source.left, r.source.right, r.target.top,
                                        r.target.left, 2 * radius + 1, 2 * radius + 1));
}

// The sample's picture of what came out.
void write_grey(const std::string& path, const Array& plane) {
  Picture picture{plane.shape()[0], plane.shape()[1], {}};
  for (i64 k = 0; k < plane.count(); ++k)
    picture.rgb.insert(picture.rgb.end(), 3,
                       static_cast<unsigned char>(std::clamp(plane.as<float>()[k] + 0.5F, 0.0F, 255.0F)));
  write_bmp(path, picture);
}

bool measure_plane(const Kernels& kernels, const Options& options, const Json& head, const std::vector<float>& plane,
                   i64 columns, i64 radius, const Regions& r, int repeat) {
  const i64 bytes = static_cast<i64>(plane.size() * sizeof(float)), rows = static_cast<i64>(plane.size()) / columns;
  const std::vector<double> wanted =
      reference(std::vector<double>(plane.begin(), plane.end()), columns, r.source, radius);
  const Block source = kernels.machine.block(plane.data(), bytes), between = kernels.machine.block(bytes);
  std::vector<float> got;
  std::vector<Json> found;
  std::vector<Timer> timers;
  bool good = true;
  for (const std::string& version : versions) {
    Json row = head;
    row.update({{"job", fmt::format("{0} x {0}", 2 * radius + 1)}, {"region", r.name}, {"version", version}});
    got.assign(plane.size(), untouched);
    const Block target = kernels.machine.block(got.data(), bytes);
    const auto run = [&, target, version] { kernels.filter(version, radius, source, between, target, columns, r); };
    run();
    kernels.machine.read(target, got.data(), bytes);
    good &= compare(got, columns, r, wanted, row, true);
    if (version == "tiled") row["classes"] = classes(r, radius);
    found.push_back(row);
    timers.push_back(kernels.machine.timer(run));
  }
  const Array image = Array::from<float>(plane, {rows, columns});
  const Program program = plane_program(radius, r);
  const Array result(ElementType::f32, program.output_shapes({image}).at(0));
  Json row = head;
  row.update({{"job", fmt::format("{0} x {0}", 2 * radius + 1)}, {"region", r.name}, {"version", "tessera"}});
  timers.push_back(run_tessera(program, {image}, {result}, options));
  got.assign(result.as<float>(), result.as<float>() + result.count());
  good &= compare(got, result.shape()[1], r, wanted, row, false);
  found.push_back(row);
  finish(repeat, timers, found);
  write_grey(fmt::format("{}/tiled-output-{}x{}-radius{}-{}.bmp", options.work, rows, columns, radius, r.name), result);
  return good;
}

// ---- colour --------------------------------------------------------------------------------------------------------

const char* const colour_text = R"(
struct rgb { uint8 r; uint8 g; uint8 b; }
stencil luma(vector#2 rgb X) { return 0.299f * X.r + 0.587f * X.g + 0.114f * X.b; }
stencil blue(vector#2 rgb X) { return -0.168736f * X.r - 0.331264f * X.g + 0.5f * X.b; }
stencil red(vector#2 rgb X) { return 0.5f * X.r - 0.418688f * X.g - 0.081312f * X.b; }
stencil joined(vector#2 float Y, vector#2 float B, vector#2 float R) {
  return struct rgb(saturate<uint8>(Y + 1.402f * R), saturate<uint8>(Y - 0.344136f * B - 0.714136f * R),
                    saturate<uint8>(Y + 1.772f * B));
}
parameter M, N;
vector#2 rgb image[M,N];
y = down5(across5(luma(image):clamped):clamped);
b = down3(across3(blue(image):clamped):clamped);
r = down3(across3(red(image):clamped):clamped);
return joined(y, b, r);
)";

// The struct stands ahead of the stencils that need none.
Program colour_program() {
  return Program::from_text(stencils(1) + stencils(2) + colour_text);
}

std::vector<double> colour_reference(const Picture& p) {
  std::array<std::vector<double>, 3> planes;
  for (std::size_t k = 0; k < p.rgb.size(); k += 3) {
    const double r = p.rgb[k], g = p.rgb[k + 1], b = p.rgb[k + 2];
    planes[0].push_back(0.299 * r + 0.587 * g + 0.114 * b);
    planes[1].push_back(-0.168736 * r - 0.331264 * g + 0.5 * b);
    planes[2].push_back(0.5 * r - 0.418688 * g - 0.081312 * b);
  }
  const Region all{0, 0, p.rows - 1, p.columns - 1};
  for (std::size_t c = 0; c < 3; ++c) planes[c] = reference(planes[c], p.columns, all, c == 0 ? 2 : 1);
  std::vector<double> result;
  for (std::size_t k = 0; k < planes[0].size(); ++k) {
    const double y = planes[0][k], b = planes[1][k], r = planes[2][k];
    for (const double v : {y + 1.402 * r, y - 0.344136 * b - 0.714136 * r, y + 1.772 * b})
      result.push_back(std::clamp(v, 0.0, 255.0));
  }
  return result;
}

// A byte may be the other neighbour of a number that lies between two: never further than half and a little.
bool compare_bytes(const unsigned char* got, const std::vector<double>& wanted, Json& row) {
  double largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) largest = std::max(largest, std::abs(got[k] - wanted[k]));
  const bool good = largest <= 0.5 + 255e-5;
  row["largest_difference"] = largest;
  row["verdict"] = good ? "same" : "DIFFERENT";
  return good;
}

bool measure_colour(const Kernels& kernels, const Options& options, const Json& head, const Picture& picture,
                    int repeat) {
  Machine& m = kernels.machine;
  const i64 points = picture.rows * picture.columns, bytes = 4 * points;
  const std::vector<double> wanted = colour_reference(picture);
  const Block rgb = m.block(picture.rgb.data(), 3 * points), out = m.block(3 * points), between = m.block(bytes);
  std::array<Block, 3> planes, filtered;
  for (auto* set : {&planes, &filtered})
    for (Block& b : *set) b = m.block(bytes);
  const Regions all = whole(picture.rows, picture.columns);
  const std::vector<i64> count{points};
  std::vector<unsigned char> got(picture.rgb.size());
  std::vector<Json> found;
  std::vector<Timer> timers;
  bool good = true;
  for (const std::string& version : versions) {
    Json row = head;
    row.update({{"job", "colour"}, {"region", "whole"}, {"version", version}});
    const auto run = [&, version] {
      m.launch(kernels.of_radius[0], "split", {points, 1, 1}, {256, 1, 1},
               std::array<Block, 4>{rgb, planes[0], planes[1], planes[2]}, count);
      for (std::size_t c = 0; c < 3; ++c)
        kernels.filter(version, c == 0 ? 2 : 1, planes[c], between, filtered[c], picture.columns, all);
      m.launch(kernels.of_radius[0], "join", {points, 1, 1}, {256, 1, 1},
               std::array<Block, 4>{filtered[0], filtered[1], filtered[2], out}, count);
    };
    for (const Block& b : filtered) m.fill(b, 0);
    m.fill(out, 0);
    run();
    m.read(out, got.data(), 3 * points);
    good &= compare_bytes(got.data(), wanted, row);
    found.push_back(row);
    timers.push_back(m.timer(run));
  }
  Json row = head;
  row.update({{"job", "colour"}, {"region", "whole"}, {"version", "tessera"}});
  const Program program = colour_program();
  const Format format = program.inputs().at(0).format;
  const Array image =
      Array::borrow(const_cast<unsigned char*>(picture.rgb.data()), format, {picture.rows, picture.columns});
  const Array result(format, {picture.rows, picture.columns});
  timers.push_back(run_tessera(program, {image}, {result}, options));
  const auto* bytes_of = result.as<unsigned char>();
  good &= compare_bytes(bytes_of, wanted, row);
  found.push_back(row);
  finish(repeat, timers, found);
  write_bmp(fmt::format("{}/tiled-colour-{}x{}.bmp", options.work, picture.rows, picture.columns),
            {picture.rows, picture.columns, {bytes_of, bytes_of + 3 * points}});
  return good;
}

}  // namespace

bool tiled_convolution(const Options& options) {
  Machine machine(options);
  const Kernels kernels{
      machine, {machine.load("tiled.cl", "#define RADIUS 1\n"), machine.load("tiled.cl", "#define RADIUS 2\n")}};
  using Extents = std::pair<i64, i64>;
  const std::vector<Extents> sizes = options.quick ? std::vector<Extents>{{96, 128}, {130, 201}}
                                                   : std::vector<Extents>{{512, 512}, {1080, 1920}, {4096, 4096}};
  const int repeat = options.repeat > 0 ? options.repeat : options.quick ? 3 : 10;  // the sample's "-i 10"
  print({{"machine", machine.limits().name}, {"driver", machine.limits().driver}});
  const Picture photograph = read_picture(options.photograph);
  bool good = true;
  for (const auto& [rows, columns] : sizes) {
    const std::string path = fmt::format("{}/tiled-input-{}x{}.bmp", options.work, rows, columns);
    write_bmp(path, scaled(photograph, rows, columns));
    const Picture picture = read_picture(path);
    const std::vector<float> plane = intensities(picture);
    const Json head{{"rows", rows}, {"columns", columns}};
    for (const i64 radius : {1, 2})
      for (const Regions& r : {whole(rows, columns), offset(rows, columns, options.offsets)})
        good &= measure_plane(kernels, options, head, plane, columns, radius, r, repeat);
    good &= measure_colour(kernels, options, head, picture, repeat);
  }
  return good;
}

}  // namespace tessera::published
