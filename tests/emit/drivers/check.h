// What the drivers share: images with every bit of their type in use, and a comparison that says where two differ.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned state = 12345u;

static inline unsigned draw(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static inline float draw_float(void) {
  return (float)(draw() % 20001u) / 64.0f - 150.0f;
}

static inline void* room(long count, long size) {
  void* p = malloc((size_t)(count * size + 1));
  if (!p) exit(2);
  memset(p, 0x5a, (size_t)(count * size + 1));
  return p;
}

static inline int clamped(int i, int n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}
static inline int wrapped(int i, int n) {
  return ((i % n) + n) % n;
}
static inline int mirrored(int i, int n) {
  int period = 2 * (n - 1), m = period ? wrapped(i, period) : 0;
  return m < n ? m : period - m;
}

// 0 when equal; `rows` x `columns` elements of `size` bytes.
static inline int differs(const char* what, const void* got, const void* expected, int rows, int columns, int size) {
  for (long k = 0; k < (long)rows * columns; ++k)
    if (memcmp((const char*)got + k * size, (const char*)expected + k * size, (size_t)size) != 0) {
      printf("%s of %d x %d differs first at [%ld, %ld]\n", what, rows, columns, k / columns, k % columns);
      return 1;
    }
  if (((const char*)got)[(long)rows * columns * size] != 0x5a) {
    printf("%s of %d x %d was written beyond its end\n", what, rows, columns);
    return 1;
  }
  return 0;
}

static const int heights[] = {1, 2, 3, 5, 17, 64, 130}, widths[] = {1, 2, 3, 7, 16, 33, 64, 200};
#define FOR_SIZES(m, n)                                                 \
  for (int tsr_m = 0, m; tsr_m < 7 && (m = heights[tsr_m], 1); ++tsr_m) \
    for (int tsr_n = 0, n; tsr_n < 8 && (n = widths[tsr_n], 1); ++tsr_n)

#endif
