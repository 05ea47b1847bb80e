// Index maps of the border modes. Mirror repeats with period 2(n-1), symmetric with 2n, wrap with n: one modulo brings
// any index into the first period, a reflection into the array.
#include "data/border.hpp"

namespace tessera {
namespace {

// i modulo n in [0, n), for any sign of i.
i64 floor_mod(i64 i, i64 n) {
  const i64 r = i % n;
  return r < 0 ? r + n : r;
}

}  // namespace

std::string_view name_of(BorderMode mode) {
  switch (mode) {
    case BorderMode::none:
      return "none";
    case BorderMode::clamp:
      return "clamped";
    case BorderMode::mirror:
      return "mirror";
    case BorderMode::symmetric:
      return "symmetric";
    case BorderMode::wrap:
      return "wrap";
    case BorderMode::constant:
      return "constant";
  }
  return "none";
}

i64 map_index(BorderMode mode, i64 i, i64 n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case BorderMode::none:
    case BorderMode::constant:
      return -1;
    case BorderMode::clamp:
      return i < 0 ? 0 : n - 1;
    case BorderMode::wrap:
      return floor_mod(i, n);
    case BorderMode::mirror: {
      if (n == 1) return 0;
      const i64 period = 2 * (n - 1);
      const i64 k = floor_mod(i, period);
      return k < n ? k : period - k;
    }
    case BorderMode::symmetric: {
      const i64 k = floor_mod(i, 2 * n);
      return k < n ? k : 2 * n - 1 - k;
    }
  }
  return -1;
}

}  // namespace tessera
