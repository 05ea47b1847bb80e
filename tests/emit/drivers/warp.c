// Absolute reads at computed places, and a table.
#include "warp.h"

#include "check.h"

int main(void) {
  const int lut[4] = {9, -3, 100, 7};
  int bad = 0;
  FOR_SIZES(M, N) {
    float *a = room(M * N, 4), *out = room(M * N, 4), *expected = room(M * N, 4);
    int *dy = room(M * N, 4), *dx = room(M * N, 4);
    for (int k = 0; k < M * N; ++k) {
      a[k] = draw_float();
      dy[k] = (int)(draw() % 41) - 20;
      dx[k] = (int)(draw() % 41) - 20;
    }
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        const int k = i * N + j;
        expected[k] = a[clamped(i + dy[k], M) * N + clamped(j + dx[k], N)] * (float)lut[dx[k] & 3];
      }
    warp(a, dy, dx, M, N, out);
    bad |= differs("warp", out, expected, M, N, 4);
    free(a), free(out), free(expected), free(dy), free(dx);
  }
  return bad;
}
