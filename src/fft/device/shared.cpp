// See shared.hpp.
#include "fft/device/shared.hpp"

#include <algorithm>
#include <array>

namespace tessera::fft {

namespace {

constexpr i64 warp = 32;

// How often the threads of a block meet in a bank, in accesses of some of its warps.
class Conflicts {
 public:
  Conflicts(const DeviceLine& line, const SharedLayout& layout)
      : line_(line), layout_(layout), banks_(line.type == ElementType::f32 ? warp : warp / 2) {}

  i64 count() {
    i64 l = 1;
    for (std::size_t pass = 0; pass < line_.radices.size(); ++pass) {
      const i64 r = line_.radices[pass], butterflies = line_.points / r;
      const bool last = pass + 1 == line_.radices.size() && !line_.apart && line_.convolved == 0;
      for (i64 k = 0; k < r; ++k) {
        if (!last) access([&](i64 b) { return b / l * l * r + b % l + k * l; }, butterflies);
        if (pass > 0 || line_.convolved > 0) access([&](i64 b) { return b + k * butterflies; }, butterflies);
      }
      l *= r;
    }
    return total_;
  }

 private:
  template <class Position>
  void access(Position position, i64 butterflies) {
    const i64 threads = std::min<i64>(line_.threads * line_.lines, 4 * warp);
    for (i64 first = 0; first < threads; first += banks_) {
      std::array<i64, warp> met{};
      for (i64 k = first; k < std::min(first + banks_, threads); ++k) {
        const i64 line = layout_.beside ? k % line_.lines : k / line_.threads;
        const i64 t = layout_.beside ? k / line_.lines : k % line_.threads;
        if (t >= butterflies || line >= line_.lines) continue;
        ++met[static_cast<std::size_t>(layout_.number(position(t), line) % banks_)];
      }
      total_ += *std::max_element(met.begin(), met.end());
    }
  }

  const DeviceLine& line_;
  const SharedLayout& layout_;
  const i64 banks_;
  i64 total_ = 0;
};

}  // namespace

SharedLayout shared_layout(const DeviceLine& line) {
  SharedLayout best;
  i64 fewest = -1;
  for (const i64 shift : {0, 5, 4, 3, 2}) {
    for (const i64 more : {0, 1, 2, 4, 8, 16}) {
      SharedLayout layout{line.to.beside && line.lines > 1, line.lines, 0, shift, 0};
      layout.pitch = layout.gapped(line.points - 1) + 1 + more;
      layout.numbers = layout.number(line.points - 1, line.lines - 1) + 1;
      if (layout.numbers * (line.type == ElementType::f32 ? 4 : 8) > shared_of_line) break;
      const i64 conflicts = Conflicts(line, layout).count();
      // Gaps cost instructions.
      if (fewest < 0 || conflicts * 20 < fewest * 19) fewest = conflicts, best = layout;
      if (layout.beside || line.lines == 1) break;
    }
  }
  return best;
}

}  // namespace tessera::fft
