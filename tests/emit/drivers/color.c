// Structs in memory with padding and without, a scalar by value, two outputs.
#include "color.h"

#include "check.h"

int main(void) {
  int bad = 0;
  FOR_SIZES(M, N) {
    struct rgb *p = room(M * N, 3), *soft = room(M * N, 3), *expected = room(M * N, 3);
    struct pair *parts = room(M * N, sizeof *parts), *wanted = room(M * N, sizeof *wanted);
    for (int k = 0; k < M * N; ++k) {
      p[k].r = (unsigned char)draw();
      p[k].g = (unsigned char)draw();
      p[k].b = (unsigned char)draw();
    }
    const float gain = 1.25f;
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        const struct rgb* q = p + i * N + j;
        struct pair* w = wanted + i * N + j;
        w->y = gain * (0.299f * q->r + 0.587f * q->g + 0.114f * q->b);
        w->d = (short)(p[i * N + wrapped(j - 1, N)].r - p[i * N + wrapped(j + 1, N)].b);
        w->e = (double)q->g / 3;
        struct rgb* s = expected + i * N + j;
        s->r = (unsigned char)((p[i * N + clamped(j - 1, N)].r + 2 * q->r + p[i * N + clamped(j + 1, N)].r) / 4);
        s->g = (unsigned char)((p[clamped(i - 1, M) * N + j].g + 2 * q->g + p[clamped(i + 1, M) * N + j].g) / 4);
        s->b = q->b;
      }
    color(p, gain, M, N, parts, soft);
    bad |= differs("soft", soft, expected, M, N, 3);
    bad |= differs("parts", parts, wanted, M, N, (int)sizeof(struct pair));  // the padding stays as it was
    free(p), free(soft), free(expected), free(parts), free(wanted);
  }
  return bad;
}
