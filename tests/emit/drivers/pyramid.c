// One level of a Laplacian pyramid: sampling, and composing an image from four strided pieces.
#include "pyramid.h"

#include "check.h"

int main(void) {
  int bad = 0;
  FOR_SIZES(M, N) {
    const int H = 2 * M, W = 2 * N;
    float *X = room(H * W, 4), *detail = room(H * W, 4), *small = room(M * N, 4), *expected = room(H * W, 4),
          *level = room(M * N, 4);
    for (int k = 0; k < H * W; ++k) X[k] = draw_float();
#define AT(di, dj) X[mirrored(2 * i + (di), H) * W + mirrored(2 * j + (dj), W)]
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j)
        level[i * N + j] = (AT(-1, -1) + 2 * AT(-1, 0) + AT(-1, 1) + 2 * AT(0, -1) + 4 * AT(0, 0) + 2 * AT(0, 1) +
                            AT(1, -1) + 2 * AT(1, 0) + AT(1, 1)) /
                           16;
    for (int i = 0; i < H; ++i)
      for (int j = 0; j < W; ++j) {
        const int y = i / 2, x = j / 2, below = clamped(y + 1, M), right = clamped(x + 1, N);
        float a = level[y * N + x], b = level[y * N + right], c = level[below * N + x], d = level[below * N + right];
        float up = i % 2 == 0 ? (j % 2 == 0 ? a : (a + b) / 2) : j % 2 == 0 ? (a + c) / 2 : (a + b + c + d) / 4;
        expected[i * W + j] = X[i * W + j] - up;
      }
    pyramid(X, M, N, detail, small);
    bad |= differs("small", small, level, M, N, 4);
    bad |= differs("detail", detail, expected, H, W, 4);
    free(X), free(detail), free(small), free(expected), free(level);
  }
  return bad;
}
