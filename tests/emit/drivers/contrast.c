// Reductions of a whole image: in pieces of 4096 elements, of which 64 sums take every 64th.
#include "contrast.h"

#include "check.h"

enum { H = 63, W = 211 };

static double in_lanes(const double* v, long count) {
  double total = 0;
  for (long l = 0; l < 64; ++l) {
    double lane = 0;
    for (long k = l; k < count; k += 64) lane += v[k];
    total += lane;
  }
  return total;
}

static double sum(const double* v, long count) {
  static double pieces[H * W / 4096 + 1];
  long n = 0;
  for (long first = 0; first < count; first += 4096)
    pieces[n++] = in_lanes(v + first, count - first < 4096 ? count - first : 4096);
  return in_lanes(pieces, n);
}

int main(void) {
  float *photo = room(H * W, 4), *out = room(H * W, 4), *expected = room(H * W, 4);
  double* wide = room(H * W, 8);
  float lo = 1e30f, hi = -1e30f;
  for (int k = 0; k < H * W; ++k) {
    photo[k] = draw_float() / 3.0f;
    lo = photo[k] < lo ? photo[k] : lo;
    hi = photo[k] > hi ? photo[k] : hi;
    wide[k] = photo[k];
  }
  double *middle = room(1, 8), *count = room(1, 8);
  contrast(photo, H, W, out, middle, count);
  const double mean = sum(wide, H * W) / (H * W);
  double more = 0;
  for (int k = 0; k < H * W; ++k) {
    expected[k] = (photo[k] - lo) / (hi - lo);
    more += photo[k] > mean;
  }
  int bad = differs("stretched", out, expected, H, W, 4) | differs("middle", middle, &mean, 1, 1, 8) |
            differs("count", count, &more, 1, 1, 8);
  free(photo), free(out), free(expected), free(wide), free(middle), free(count);
  return bad;
}
