/* Every entry point of one file: arrays with gaps, turned round and interleaved against arrays without, each status,
   memory of the caller. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"

#define M 37
#define N 53

static int failures;
static void expect(int good, const char* what, long long got) {
  if (good) return;
  printf("%s: %lld\n", what, got);
  ++failures;
}

static float x[M][N], y[M][N];
static unsigned char mask[M][N], z[M][N];

/* The same through views: `sx` and so on are bytes between rows and between columns. */
static void through(const char* what, long long ax, long long bx, long long am, long long bm, long long ay, long long by,
                    long long az, long long bz, int own_memory) {
  const long long sx[2] = {ax, bx}, sm[2] = {am, bm}, sy[2] = {ay, by}, sz[2] = {az, bz};
  const long long room = 1 << 20, bytes = own_memory ? entries_scratch_size(M, N, 1) : 0;
  char *bufx = (char*)calloc(1, 2 * room) + room, *bufm = (char*)calloc(1, 2 * room) + room;
  char *bufy = (char*)malloc(2 * room) + room, *bufz = (char*)malloc(2 * room) + room;
  char* scratch = own_memory ? (char*)malloc(bytes + 8) : 0;
  long long changed = 0, wrong = 0;
  int status;
  memset(bufy - room, 0x5a, 2 * room), memset(bufz - room, 0x5a, 2 * room);
  if (scratch) memset(scratch + bytes, 0x5a, 8);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j)
      memcpy(bufx + i * ax + j * bx, &x[i][j], 4), memcpy(bufm + i * am + j * bm, &mask[i][j], 1);
  status = entries_strided((const float*)bufx, sx, (const unsigned char*)bufm, sm, 0.25f, M, N, (float*)bufy, sy,
                           (unsigned char*)bufz, sz, scratch, bytes);
  expect(status == 0, what, status);
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      wrong += memcmp(bufy + i * ay + j * by, &y[i][j], 4) != 0 || memcmp(bufz + i * az + j * bz, &z[i][j], 1) != 0;
      memset(bufy + i * ay + j * by, 0x5a, 4), memset(bufz + i * az + j * bz, 0x5a, 1);
    }
  for (long long k = -room; k < room; ++k) changed += bufy[k] != 0x5a || bufz[k] != 0x5a;
  for (int k = 0; scratch && k < 8; ++k) changed += scratch[bytes + k] != 0x5a;
  expect(wrong == 0, what, wrong);
  expect(changed == 0, what, -changed);
  free(bufx - room), free(bufm - room), free(bufy - room), free(bufz - room), free(scratch);
}

int main(void) {
  const float* fx = &x[0][0];
  const unsigned char* fm = &mask[0][0];
  float* fy = &y[0][0];
  unsigned char* fz = &z[0][0];
  unsigned seed = 7;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      seed = seed * 1664525u + 1013904223u;
      x[i][j] = (float)(seed >> 8) / 65536.0f - 100.0f, mask[i][j] = (unsigned char)(seed >> 20);
    }
  entries(fx, fm, 0.25f, M, N, fy, fz);
  for (int own = 0; own < 2; ++own) {
    through("no gaps", 4 * N, 4, N, 1, 4 * N, 4, N, 1, own);
    through("rows apart", 4 * N + 20, 4, N + 3, 1, 4 * N + 64, 4, N + 11, 1, own);
    through("one channel of three", 12 * N, 12, 3 * N, 3, 12 * N + 4, 12, 3 * N, 3, own);
    through("columns first", 4, 4 * M, 1, M, 4, 4 * M, 1, M, own);
    through("bottom up", -4 * N, 4, -N, 1, -4 * N - 8, 4, -N, 1, own);
    through("mirrored", 4 * N, -4, N, -1, 8 * N, -8, N, -1, own);
    for (int i = 1; i < M; ++i) memcpy(x[i], x[0], sizeof x[0]), memcpy(mask[i], mask[0], sizeof mask[0]);
    entries(fx, fm, 0.25f, M, N, fy, fz);
    through("one row for all", 0, 4, 0, 1, 4 * N, 4, N, 1, own);
  }

  static float y2[M][N];
  static unsigned char z2[M][N];
  float* fy2 = &y2[0][0];
  unsigned char* fz2 = &z2[0][0];
  expect(entries_status(fx, fm, 0.25f, M, N, fy2, fz2) == 0, "status", 0);
  expect(memcmp(y, y2, sizeof y) == 0 && memcmp(z, z2, sizeof z) == 0, "status computes", 0);
  memset(y2, 0, sizeof y2);
  expect(entries_status(fx, fm, 0.25f, 0, N, fy2, fz2) == 2, "no rows", 2);
  expect(entries_status(fx, fm, 0.25f, M, -5, fy2, fz2) == 2, "columns below 1", 2);
  expect(entries_status(fx, fm, 0.25f, 2147483647, 2147483647, fy2, fz2) == 2, "more than memory holds", 2);
  expect(entries_status((const float*)fy2, fm, 0.25f, M, N, fy2, fz2) == 3, "in place", 3);
  expect(entries_status(fx, fm, 0.25f, M, N, fy2, (unsigned char*)fy2 + 4 * M * N - 1) == 3, "results overlap", 3);
  expect(entries_status(fx, fm, 0.25f, M - 1, N, fy2 + N, fz2) == 0, "beside", 0);
  expect(entries_status(0, fm, 0.25f, M, N, fy2, fz2) == 7, "null", 7);
  expect(entries_status((const float*)((const char*)fx + 1), fm, 0.25f, M, N, fy2, fz2) == 7, "misaligned", 7);
  {
    const long long odd[2] = {4 * N + 2, 4}, small[2] = {4 * N - 4, 4}, same[2] = {0, 4};
    expect(entries_strided(fx, odd, fm, 0, 0.25f, M, N, fy2, 0, fz2, 0, 0, 0) == 4, "stride of half an element", 4);
    expect(entries_strided(fx, 0, fm, 0, 0.25f, M, N, fy2, small, fz2, 0, 0, 0) == 4, "rows of a result overlap", 4);
    expect(entries_strided(fx, 0, fm, 0, 0.25f, M, N, fy2, same, fz2, 0, 0, 0) == 4, "rows of a result are one", 4);
  }
  {
    /* Two channels of one image, and two halves of it, do not overlap. */
    static float both[M][2 * N];
    const long long channels[2] = {8 * N, 8}, halves[2] = {8 * N, 4};
    entries(fx, fm, 0.25f, M, N, fy, fz);
    for (int half = 0; half < 2; ++half) {
      const long long* strides = half ? halves : channels;
      const int second = half ? N : 1;
      for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) both[i][half ? j : 2 * j] = x[i][j];
      int status = entries_strided(&both[0][0], strides, fm, 0, 0.25f, M, N, &both[0][second], strides, fz2, 0, 0, 0);
      expect(status == 0, half ? "halves" : "channels", status);
      for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
          expect(both[i][half ? N + j : 2 * j + 1] == y[i][j] && both[i][half ? j : 2 * j] == x[i][j], "in one image", i);
      status = entries_strided(&both[0][0], strides, fm, 0, 0.25f, M, N, &both[0][second - 1], strides, fz2, 0, 0, 0);
      expect(status == 3, half ? "halves that overlap" : "one channel", status);
    }
  }
  {
    const long long bytes = entries_scratch_size(M, N, 0);
    char* scratch = (char*)malloc(bytes + 64);
    expect(bytes > 0, "scratch_size", bytes);
    expect(entries_scratch_size(0, N, 0) == 0, "scratch_size of nothing", 0);
    memset(y2, 0, sizeof y2), memset(z2, 0, sizeof z2), memset(scratch, 0x5a, bytes + 64);
    expect(entries_scratch(fx, fm, 0.25f, M, N, fy2, fz2, scratch, bytes) == 0, "scratch", 0);
    expect(memcmp(y, y2, sizeof y) == 0 && memcmp(z, z2, sizeof z) == 0, "scratch computes", 0);
    for (int k = 0; k < 64; ++k) expect(scratch[bytes + k] == 0x5a, "scratch is not left", k);
    expect(entries_scratch(fx, fm, 0.25f, M, N, fy2, fz2, scratch, 100) == 5, "too little scratch", 5);
    expect(entries_scratch(fx, fm, 0.25f, M, N, fy2, fz2, 0, bytes) == 5, "no scratch", 5);
    free(scratch);
  }
  return failures != 0;
}
