// A loop with a test: it ends by itself, at its test for a number, or at its bound, as images are small or large. Two
// versions before, and a number that goes from iteration to iteration.
#include "flood.h"

#include "check.h"

static int grown(const int* u, const int* x, int i, int j, int m, int n, int wraps) {
  int most = -32768;
  for (int a = i - 1; a <= i + 1; ++a)
    for (int b = j - 1; b <= j + 1; ++b) {
      const int value = wraps ? u[wrapped(a, m) * n + wrapped(b, n)] : u[clamped(a, m) * n + clamped(b, n)];
      if (value > most) most = value;
    }
  return most < x[i * n + j] ? most : x[i * n + j];
}

int main(void) {
  int bad = 0;
  FOR_SIZES(m, n) {
    const int all = m * n, depth = 100 + m;
    int *x = room(all, 4), *u = room(all, 4), *next = room(all, 4), *grown_out = room(all, 4);
    int *v = room(all, 4), *before = room(all, 4), *spare = room(all, 4);
    int *sum = room(all, 4), *expected = room(all, 4), number = -32768;
    for (int k = 0; k < all; ++k) {
      x[k] = (int)(draw() % 400u) + (k % 7 == 0 ? 300 : 0);
      u[k] = v[k] = x[k] - depth;
      before[k] = x[k];
      if (u[k] > number) number = u[k];
    }
    for (int t = 1; t <= 40; ++t) {
      int changed = 0;
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          next[i * n + j] = grown(u, x, i, j, m, n, 0);
          spare[i * n + j] = grown(before, x, i, j, m, n, 1);
          changed |= next[i * n + j] != u[i * n + j];
        }
      int* old = u;
      u = next, next = old;
      old = before, before = v, v = spare, spare = old;
      number += 2;
      if (!changed || t == 37) break;
    }
    for (int k = 0; k < all; ++k) expected[k] = (x[k] - u[k]) + 1000 * (x[k] - v[k]) + number;
    flood(x, depth, m, n, sum, grown_out);
    bad |= differs("sum", sum, expected, m, n, 4) | differs("grown", grown_out, u, m, n, 4);
    free(x), free(u), free(next), free(grown_out), free(v), free(before), free(spare), free(sum), free(expected);
  }
  return bad;
}
