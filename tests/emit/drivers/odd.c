// Extents that are sums of parameters, a row for every line, a border of a constant, offsets wider than the image.
#include "odd.h"

#include "check.h"

int main(void) {
  int bad = 0;
  FOR_SIZES(M, N) {
    const int H = 2 * M + 1;
    short* a = room(H * N, 2);
    float *w = room(N, 4), *out = room(H * N, 4), *expected = room(H * N, 4);
    for (int k = 0; k < H * N; ++k) a[k] = (short)draw();
    for (int k = 0; k < N; ++k) w[k] = draw_float();
#define READ(di, dj) \
  (i + (di) < 0 || i + (di) >= H || j + (dj) < 0 || j + (dj) >= N ? -7 : a[(i + (di)) * N + j + (dj)])
    for (int i = 0; i < H; ++i)
      for (int j = 0; j < N; ++j)
        expected[i * N + j] = w[j] * (float)(READ(0, 3) - READ(0, -3)) + (float)READ(2, 0) - (float)READ(-2, 0);
    odd(a, w, M, N, out);
    bad |= differs("odd", out, expected, H, N, 4);
    free(a), free(w), free(out), free(expected);
  }
  return bad;
}
