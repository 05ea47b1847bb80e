// A statement after the other, each reading earlier images. Beside every image stands how large its numbers may be: a
// level, times a power of the number of points, which a transform adds or takes away.
#include "differential/random/spectra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lang/compile.hpp"

namespace tessera::differential {
namespace {

constexpr double of_points = 3e-6;  // of the largest number: some ten times what transforms of single numbers lose

class SpectraGenerator {
 public:
  explicit SpectraGenerator(std::uint64_t seed) : r_(seed ^ 0x5eed0f), seed_(seed) {}

  Case run() {
    declare();
    const i64 before = r_.between(0, 2);
    for (i64 k = 0; k < before; ++k) statement();
    if (r_.chance(40)) loop();
    const i64 behind = r_.between(1, 4);
    for (i64 k = 0; k < behind; ++k) statement();
    Case c;
    c.seed = seed_;
    c.name = fmt::format("seed {}, spectra", seed_);
    c.data = Data::plain;
    sizes(c);
    results(c);
    c.source = stencils_ + head_ + body_;
    lang::CompileInput input;
    input.text = c.source;
    input.file_name = c.name;
    try {
      c.graph = lang::compile(input).graph;
    } catch (const Error& e) {
      throw Error(ErrorClass::internal, fmt::format("{}\n{}", e.what(), c.source));
    }
    ways(c);
    return c;
  }

 private:
  struct Image {
    std::string name;
    double level = 8;
    int power = 0;
  };

  std::string fresh(const char* stem) { return fmt::format("{}{}", stem, ++count_); }

  void declare() {
    rank_ = r_.pick(std::array{1, 2, 2, 2, 3, 4});
    const auto type = r_.pick(std::array<const char*, 5>{"float", "float", "float", "double", "uint8"});
    type_ = std::string(type) == "double" ? "double" : "float";
    static constexpr std::array names = {"L", "K", "M", "N"};
    for (int d = 0; d < rank_; ++d) {
      const char* name = names[static_cast<std::size_t>(4 - rank_ + d)];
      extents_ += fmt::format("{}{}", d ? "," : "", name);
    }
    head_ = fmt::format("parameter {};\n", extents_);
    const i64 arrays = r_.between(1, 2);
    for (i64 k = 0; k < arrays; ++k) {
      head_ += fmt::format("vector#{} {} a{}[{}];\n", rank_, type, k, extents_);
      const std::string name = fmt::format("a{}", k);
      if (std::string(type) != "uint8") {
        real_.push_back({name, 8, 0});
        continue;
      }
      // Stencils are of floats; transforms take bytes as they are.
      const std::string opened = fresh("opened");
      stencils_ += fmt::format("stencil {}(vector#{} uint8 X) {{ return 0.25f * X; }}\n", opened, rank_);
      put(real_, "r", fmt::format("{}({})", opened, name), 64, 0);
      if (k == 0) put(complex_, "F", fmt::format("fft({}{})", name, dimensions()), 255, 1);
    }
  }

  // "X@[0,-1]": a neighbour.
  std::string neighbour(const char* name) {
    std::string at;
    for (int d = 0; d < rank_; ++d) at += fmt::format("{}{}", d ? "," : "", r_.between(-2, 2));
    return fmt::format("{}@[{}]", name, at);
  }

  std::string border() {
    return r_.pick(std::array<const char*, 5>{":clamped", ":mirror", ":wrap", ":symmetric", ":constant(2)"});
  }

  // Of real images, the second one as it is.
  std::string near(int images) {
    const std::string name = fresh("near");
    stencils_ += fmt::format("stencil {}(vector#{} {} X{}) {{ return {} * {} - {} * X{}; }}\n", name, rank_, type_,
                             images > 1 ? fmt::format(", vector#{} {} Y", rank_, type_) : "", neighbour("X"),
                             r_.pick(std::array<const char*, 3>{"0.5f", "0.25f", "1"}),
                             r_.pick(std::array<const char*, 2>{"0.5f", "0.25f"}), images > 1 ? " + Y" : "");
    return name;
  }

  // A factor for every frequency, no larger than one.
  std::string gain() {
    const std::string name = fresh("gain");
    const std::string g =
        r_.chance(50) ? "0.5f" : fmt::format("1.0f / (1 + coord({}))", r_.below(static_cast<std::size_t>(rank_)));
    stencils_ += fmt::format(
        "stencil {}(vector#{} complex F) {{ g = {}; return struct complex(g * F.re - 0.25f * F.im, g * F.im + 0.25f * "
        "F.re); }}\n",
        name, rank_, g);
    return name;
  }

  std::string times() {
    const std::string name = fresh("times");
    std::string points;
    for (int d = 0; d < rank_; ++d) points += fmt::format("{}extent({})", d ? " * " : "", d);
    stencils_ += fmt::format(
        "stencil {0}(vector#{1} complex F, vector#{1} complex G) {{ s = 1.0f / ({2}); return struct complex((F.re * "
        "G.re - F.im * G.im) * s, (F.re * G.im + F.im * G.re) * s); }}\n",
        name, rank_, points);
    return name;
  }

  std::string dimensions() {
    if (rank_ == 1 || r_.chance(60)) return "";
    std::string list;
    for (int d = 0; d < rank_; ++d)
      if (r_.chance(50)) list += fmt::format(", {}", d);
    return list;
  }

  void put(std::vector<Image>& list, const char* stem, const std::string& value, double level, int power) {
    list.push_back({fresh(stem), level, power});
    body_ += fmt::format("{} = {};\n", list.back().name, value);
  }

  void statement() {
    const auto newest = [&](const std::vector<Image>& list) {
      return list[list.size() - 1 - r_.below(std::min<std::size_t>(list.size(), 2))];
    };
    const i64 what = r_.between(0, complex_.empty() ? 4 : 9);
    const Image x = newest(real_);
    if (what < 2) {
      const bool two = r_.chance(40) && real_.size() > 1;
      const Image y = two ? newest(real_) : x;
      put(real_, "r", fmt::format("{}({}{}{})", near(two ? 2 : 1), x.name, border(), two ? ", " + y.name : ""),
          std::max(x.level, y.level) * 2, std::max(x.power, y.power));
    } else if (what < 4) {
      put(complex_, "F", fmt::format("fft({}{})", x.name, dimensions()), x.level, x.power + 1);
    } else if (what < 5) {
      put(complex_, "B", fmt::format("ifft({}{})", x.name, dimensions()), x.level, x.power);
    } else {
      const Image f = newest(complex_), g = newest(complex_);
      if (what < 6)
        put(complex_, "G", fmt::format("{}({})", gain(), f.name), f.level * 1.5, f.power);
      else if (what < 7 && f.power == 1 && g.power == 1)
        put(complex_, "P", fmt::format("{}({}, {})", times(), f.name, g.name), f.level * g.level, 1);
      else if (what < 9)
        put(complex_, "B", fmt::format("ifft({}{})", f.name, dimensions()), f.level * 2, f.power);
      else
        put(real_, "r", fmt::format("{}.{}", f.name, r_.chance(70) ? "re" : "im"), f.level, f.power);
    }
  }

  // With a transform in its body or without. How often it runs hangs on no number that is rounded.
  void loop() {
    const Image x = real_.back();
    const std::string u = fresh("u"), t = fresh("t");
    const i64 most = r_.between(1, 4), stop = r_.between(1, 5);
    body_ += fmt::format("{}<0> = {};\ndo {} = 1..{}\n", u, x.name, t, most);
    Image last{fmt::format("{}<{}>", u, most), x.level * 16, x.power};
    if (r_.chance(50)) {
      const std::string b = fresh("b"), along = dimensions();
      body_ += fmt::format("  {0}<{1}> = ifft({2}(fft({3}<{1}-1>{4})){4});\n  {3}<{1}> = {0}<{1}>.re;\n", b, t, gain(),
                           u, along);
    } else {
      body_ += fmt::format("  {0}<{1}> = {2}({0}<{1}-1>{3});\n", u, t, near(1), border());
    }
    body_ += fmt::format("while ({} < {});\n", t, stop);
    real_.push_back(last);
  }

  void results(Case& c) {
    std::vector<Image> all = real_;
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(1));
    all.insert(all.end(), complex_.begin(), complex_.end());
    if (all.empty()) all = real_;
    const std::size_t wanted = std::min<std::size_t>(all.size(), 1 + r_.below(3));
    std::string list;
    double largest = 0, points = 1;
    for (const std::vector<i64>& set : c.parameters) {
      double n = 1;
      for (const i64 e : set) n *= static_cast<double>(e);
      points = std::max(points, n);
    }
    for (std::size_t k = 0; k < wanted; ++k) {
      const std::size_t at = k == 0 ? all.size() - 1 : r_.below(all.size());
      const Image image = all[at];
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      const bool whole = r_.chance(20) && image.name[0] == 'r';
      list += fmt::format("{}o{} = {}", k ? ", " : "", k, whole ? fmt::format("max({})", image.name) : image.name);
      largest = std::max(largest, image.level * std::pow(points, image.power));
    }
    body_ += fmt::format("return {};\n", list);
    c.relative = 1e-5;
    c.absolute = of_points * largest;
  }

  void sizes(Case& c) {
    static constexpr std::array few = {1, 2, 3, 5};
    static constexpr std::array some = {6, 9, 16, 17, 20};
    for (const bool small : {true, false}) {
      std::vector<i64> set;
      for (int d = 0; d < rank_; ++d)
        set.push_back(small || d + 2 < rank_ ? r_.pick(few) : rank_ == 1 ? r_.between(50, 300) : r_.pick(some));
      c.parameters.push_back(set);
    }
  }

  void ways(Case& c) {
    for (const Numbers numbers : {Numbers::fast, Numbers::exact}) {
      Way way;
      way.numbers = numbers;
      c.ways.push_back(way);
      way.threads = 3;
      way.rows = r_.pick(std::array{2, 5, 8});
      way.columns = 64;
      way.placement = r_.chance(50) ? Placement::view : Placement::flush_begin;
      c.ways.push_back(way);
    }
  }

  Random r_;
  std::uint64_t seed_;
  int rank_ = 2, count_ = 0;
  std::string type_, extents_, head_, stencils_, body_;
  std::vector<Image> real_, complex_;
};

}  // namespace

Case random_spectra_case(std::uint64_t seed) {
  return SpectraGenerator(seed).run();
}

}  // namespace tessera::differential
