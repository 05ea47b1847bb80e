/* spectrum.forma against the definition, for extents with small and with large prime factors. */
#include "spectrum.h"

#include <math.h>
#include <stdio.h>

static double frequency(int k, int n) {
  return (double)(2 * k > n ? k - n : k) / n;
}

static void definition(const double* re, const double* im, double* fre, double* fim, int M, int N, int sign) {
  for (int p = 0; p < M; ++p)
    for (int q = 0; q < N; ++q) {
      double x = 0, y = 0;
      for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
          const double turn = (double)(p * i % M) / M + (double)(q * j % N) / N, angle = sign * 6.283185307179586 * turn;
          x += re[i * N + j] * cos(angle) - im[i * N + j] * sin(angle);
          y += re[i * N + j] * sin(angle) + im[i * N + j] * cos(angle);
        }
      fre[p * N + q] = x, fim[p * N + q] = y;
    }
}

int main(void) {
  const int extents[][2] = {{1, 1}, {1, 5}, {8, 12}, {37, 41}, {30, 7}, {17, 2}};
  for (int e = 0; e < 6; ++e) {
    const int M = extents[e][0], N = extents[e][1], count = M * N;
    const float width = 0.15f;
    unsigned char image[37 * 41];
    double re[37 * 41], im[37 * 41], fre[37 * 41], fim[37 * 41], slow[37 * 41], none[37 * 41];
    struct complex F[37 * 41];
    float sharp[37 * 41];
    for (int k = 0; k < count; ++k) image[k] = (unsigned char)(k * 37 % 251), re[k] = image[k], im[k] = 0;
    definition(re, im, fre, fim, M, N, -1);
    for (int p = 0; p < M; ++p)
      for (int q = 0; q < N; ++q) {
        const double y = frequency(p, M), x = frequency(q, N), g = exp(-(y * y + x * x) / (2.0 * 0.15 * 0.15));
        re[p * N + q] = g * fre[p * N + q] / count, im[p * N + q] = g * fim[p * N + q] / count;
      }
    definition(re, im, slow, none, M, N, 1);
    spectrum(image, width, M, N, F, sharp);
    for (int k = 0; k < count; ++k) {
      const double sharpened = image[k] + 2 * (image[k] - slow[k]);
      if (fabs((double)F[k].re - fre[k]) < 0.05 && fabs((double)F[k].im - fim[k]) < 0.05 &&
          fabs((double)sharp[k] - sharpened) < 1e-2)
        continue;
      printf("%d x %d differs first at %d: %g %g, expected %g %g; %g, expected %g\n", M, N, k, (double)F[k].re,
             (double)F[k].im, fre[k], fim[k], (double)sharp[k], sharpened);
      return 1;
    }
  }
  return 0;
}
