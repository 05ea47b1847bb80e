// An image and a row, whose ranks differ: contiguous, and rows with gaps.
#include "ranks.h"

#include "check.h"

int main(void) {
  int bad = 0;
  FOR_SIZES(M, N) {
    const int pitch = N + 3;
    float *a = room(M * pitch, 4), *r = room(N, 4), *out = room(M * pitch, 4), *row = room(N, 4);
    float *dense = room(M * N, 4), *got = room(M * N, 4), *expected = room(M * N, 4), *twice = room(N, 4);
    for (int k = 0; k < M * pitch; ++k) a[k] = draw_float(), out[k] = -1;
    for (int k = 0; k < N; ++k) r[k] = draw_float(), twice[k] = 2 * r[k];
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        dense[i * N + j] = a[i * pitch + j];
        expected[i * N + j] = a[clamped(i + 1, M) * pitch + j] + r[j];
      }
    ranks(dense, r, M, N, got, row);
    bad |= differs("ranks", got, expected, M, N, 4) | differs("row", row, twice, 1, N, 4);
    const long long rows[] = {pitch * 4LL, 4}, elements[] = {4};
    bad |= ranks_strided(a, rows, r, elements, M, N, out, rows, row, elements, NULL, 0) != 0;
    for (int i = 0; i < M; ++i) {
      memcpy(got + i * N, out + i * pitch, 4 * (size_t)N);
      for (int j = N; j < pitch; ++j) bad |= out[i * pitch + j] != -1;
    }
    bad |= differs("rows with gaps", got, expected, M, N, 4) | differs("row", row, twice, 1, N, 4);
    /* One array in another: both are an image's size. */
    bad |= ranks_status(dense, r, M, N, dense, row) != 3;
    free(a), free(r), free(out), free(row), free(dense), free(got), free(expected), free(twice);
  }
  return bad;
}
