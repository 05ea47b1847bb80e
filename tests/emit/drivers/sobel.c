// uint8 in, int16 out, and the same image read with two borders.
#include "sobel.h"

#include "check.h"

int main(void) {
  int bad = 0;
  FOR_SIZES(M, N) {
    unsigned char* a = room(M * N, 1);
    short *out = room(M * N, 2), *expected = room(M * N, 2);
    for (int k = 0; k < M * N; ++k) a[k] = (unsigned char)draw();
#define MIRROR(di, dj) a[mirrored(i + (di), M) * N + mirrored(j + (dj), N)]
#define CLAMP(di, dj) a[clamped(i + (di), M) * N + clamped(j + (dj), N)]
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        int x = MIRROR(-1, 1) + 2 * MIRROR(0, 1) + MIRROR(1, 1) - MIRROR(-1, -1) - 2 * MIRROR(0, -1) - MIRROR(1, -1);
        int y = CLAMP(1, -1) + 2 * CLAMP(1, 0) + CLAMP(1, 1) - CLAMP(-1, -1) - 2 * CLAMP(-1, 0) - CLAMP(-1, 1);
        expected[i * N + j] = (short)(abs(x) + abs(y));
      }
    sobel(a, M, N, out);
    bad |= differs("sobel", out, expected, M, N, 2);
    free(a), free(out), free(expected);
  }
  return bad;
}
