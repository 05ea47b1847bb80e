// A volume of double with extents in the text: no parameters. Four steps of diffusion.
#include "heat.h"

#include "check.h"

enum { D = 9, H = 20, W = 37 };

int main(void) {
  double *u = room(D * H * W, 8), *out = room(D * H * W, 8), *now = room(D * H * W, 8), *next = room(D * H * W, 8);
  const double rate = 0.11;
  for (int k = 0; k < D * H * W; ++k) u[k] = now[k] = draw_float() / 3.0;
#define U(di, dj, dk) now[(clamped(i + (di), D) * H + clamped(j + (dj), H)) * W + clamped(k + (dk), W)]
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < H; ++j)
        for (int k = 0; k < W; ++k)
          next[(i * H + j) * W + k] = U(0, 0, 0) + rate * (U(-1, 0, 0) + U(1, 0, 0) + U(0, -1, 0) + U(0, 1, 0) +
                                                           U(0, 0, -1) + U(0, 0, 1) - 6 * U(0, 0, 0));
    double* old = now;
    now = next, next = old;
  }
  heat(u, rate, out);
  int bad = differs("heat", out, now, D * H, W, 8);
  free(u), free(out), free(now), free(next);
  return bad;
}
