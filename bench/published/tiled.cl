// Separable convolution of a region of a plane into a region of another, four ways, after the document "tiled convolution":
// every point on its own, in two passes that transpose, in one pass through local memory, and in tiles of 4 x 4 results
// an item whose groups fall into four classes. RADIUS is 1 or 2. The document leaves open what is read outside of the
// source's region: here the nearest element of the region.
#define TAPS (2 * RADIUS + 1)
#if RADIUS == 1
__constant float weights[3] = {0.3f, 0.5f, 0.2f};
#else
__constant float weights[5] = {0.1f, 0.2f, 0.4f, 0.25f, 0.05f};
#endif

// All values of a region are included, as in the document; pitches are elements from row to row.
typedef struct {
  long pitch, top, left, bottom, right;
  long target_pitch, target_top, target_left, target_bottom, target_right;
} Regions;

FUNCTION long within(long at, long first, long last) { return at < first ? first : at > last ? last : at; }

__kernel void naive(__global const float* source, __global float* target, Regions r) {
  const long x = get_global_id(0), y = get_global_id(1);
  if (r.target_left + x > r.target_right || r.target_top + y > r.target_bottom) return;
  float result = 0;
  for (int i = 0; i < TAPS; ++i) {
    __global const float* row = source + within(r.top + y + i - RADIUS, r.top, r.bottom) * r.pitch;
    float across = 0;
    for (int j = 0; j < TAPS; ++j) across += weights[j] * row[within(r.left + x + j - RADIUS, r.left, r.right)];
    result += weights[i] * across;
  }
  target[(r.target_top + y) * r.target_pitch + r.target_left + x] = result;
}

// One of two passes: along rows, the result transposed. Extents of the target are those of the source, exchanged.
__kernel void pass(__global const float* source, __global float* target, Regions r) {
  const long x = get_global_id(0), y = get_global_id(1);
  if (r.left + x > r.right || r.top + y > r.bottom) return;
  __global const float* row = source + (r.top + y) * r.pitch;
  float across = 0;
  for (int j = 0; j < TAPS; ++j) across += weights[j] * row[within(r.left + x + j - RADIUS, r.left, r.right)];
  target[(r.target_top + x) * r.target_pitch + r.target_left + y] = across;
}

// Groups of 16 x 16 items read what they need into local memory together; the document's 17 x 17 elements are 18 x 18.
#define EDGE (16 + 2 * RADIUS)
__kernel void one_pass(__global const float* source, __global float* target, Regions r) {
  __local float tile[EDGE * EDGE];
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
  const long tile_x = (long)get_group_id(0) * 16, tile_y = (long)get_group_id(1) * 16;
  for (int k = ly * 16 + lx; k < EDGE * EDGE; k += 256)
    tile[k] = source[within(r.top + tile_y + k / EDGE - RADIUS, r.top, r.bottom) * r.pitch +
                     within(r.left + tile_x + k % EDGE - RADIUS, r.left, r.right)];
  barrier(CLK_LOCAL_MEM_FENCE);
  const long x = tile_x + lx, y = tile_y + ly;
  if (r.target_left + x > r.target_right || r.target_top + y > r.target_bottom) return;
  float result = 0;
  for (int i = 0; i < TAPS; ++i) {
    float across = 0;
    for (int j = 0; j < TAPS; ++j) across += weights[j] * tile[(ly + i) * EDGE + lx + j];
    result += weights[i] * across;
  }
  target[(r.target_top + y) * r.target_pitch + r.target_left + x] = result;
}

// ---- tiles ---------------------------------------------------------------------------------------------------------

#define TILE 32
#define HALO (TILE + 2 * RADIUS)
#define KEPT (2 * RADIUS)  // rows of an item's four that the items above and below need

// Four neighbours of a row, each filtered along it, from 4 + 2 * RADIUS elements that are read once.
#define FILTER_ROW(name, where)                                             \
  FUNCTION void name(where const float* at, float* across) {                \
    float raw[4 + 2 * RADIUS];                                              \
    for (int j = 0; j < 4 + 2 * RADIUS; ++j) raw[j] = at[j - RADIUS];       \
    for (int c = 0; c < 4; ++c) {                                           \
      float sum = 0;                                                        \
      for (int j = 0; j < TAPS; ++j) sum += weights[j] * raw[c + j];        \
      across[c] = sum;                                                      \
    }                                                                       \
  }
FILTER_ROW(filter_global, GLOBAL)
FILTER_ROW(filter_shared, SHARED)

// Rows of an item: RADIUS above its four, the four, RADIUS below, filtered along the row. Only items at the top and the
// bottom of the tile compute what lies above and below themselves; the others take it from their neighbours.
#define FILTER_ROWS(filter, base, pitch)                                                                  \
  for (int i = 0; i < 4 + 2 * RADIUS; ++i)                                                                \
    if ((i >= RADIUS || ly == 0) && (i < 4 + RADIUS || ly == 7)) filter((base) + (i - RADIUS) * (pitch), rows[i])

__kernel void tiled(__global const float* source, __global float* target, Regions r) {
  __local float shared[HALO * HALO];  // raw elements of class 2, then filtered rows of both classes
  __local float corner;
  const int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
  const long tile_x = (long)get_group_id(0) * TILE, tile_y = (long)get_group_id(1) * TILE;
  const long t = r.top + tile_y, l = r.left + tile_x;
  float rows[4 + 2 * RADIUS][4];
  // Class 1 reads nothing outside of the source's region and need not ask; class 2 asks once an element.
  if (r.left <= l - RADIUS && r.top <= t - RADIUS && l + TILE <= r.right - RADIUS && t + TILE <= r.bottom - RADIUS) {
    FILTER_ROWS(filter_global, source + (t + 4 * ly) * r.pitch + l + 4 * lx, r.pitch);
  } else {
    for (int k = ly * 8 + lx; k < HALO * HALO; k += 64)
      shared[k] = source[within(t + k / HALO - RADIUS, r.top, r.bottom) * r.pitch +
                         within(l + k % HALO - RADIUS, r.left, r.right)];
    barrier(CLK_LOCAL_MEM_FENCE);
    FILTER_ROWS(filter_shared, shared + (4 * ly + RADIUS) * HALO + 4 * lx + RADIUS, HALO);
    barrier(CLK_LOCAL_MEM_FENCE);  // every item has what it needs in registers: the memory is free again
  }
  // The first and last RADIUS of the four rows go to the neighbours.
  for (int q = 0; q < RADIUS; ++q)
    for (int c = 0; c < 4; ++c) {
      shared[(ly * KEPT + q) * TILE + 4 * lx + c] = rows[RADIUS + q][c];
      shared[(ly * KEPT + RADIUS + q) * TILE + 4 * lx + c] = rows[4 + q][c];
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int q = 0; q < RADIUS; ++q)
    for (int c = 0; c < 4; ++c) {
      if (ly > 0) rows[q][c] = shared[((ly - 1) * KEPT + RADIUS + q) * TILE + 4 * lx + c];
      if (ly < 7) rows[4 + RADIUS + q][c] = shared[((ly + 1) * KEPT + q) * TILE + 4 * lx + c];
    }
  float results[4][4];
  for (int i = 0; i < 4; ++i)
    for (int c = 0; c < 4; ++c) {
      float sum = 0;
      for (int k = 0; k < TAPS; ++k) sum += weights[k] * rows[i + k][c];
      results[i][c] = sum;
    }
  const long tt = r.target_top + tile_y, tl = r.target_left + tile_x;
  if (tl + TILE <= r.target_right && tt + TILE <= r.target_bottom) {  // class 3
    __global float* at = target + (tt + 4 * ly) * r.target_pitch + tl + 4 * lx;
    for (int i = 0; i < 4; ++i)
      for (int c = 0; c < 4; ++c) at[i * r.target_pitch + c] = results[i][c];
  } else {  // class 4: what would fall outside writes the tile's first result once more instead
    if (lx == 0 && ly == 0) corner = results[0][0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; ++i)
      for (int c = 0; c < 4; ++c) {
        const long y = tt + 4 * ly + i, x = tl + 4 * lx + c;
        const int inside = y <= r.target_bottom && x <= r.target_right;
        target[(inside ? y : tt) * r.target_pitch + (inside ? x : tl)] = inside ? results[i][c] : corner;
      }
  }
}

// ---- colour --------------------------------------------------------------------------------------------------------

typedef struct {
  long count;  // pixels
} Pixels;

// Intensity and two colour planes (BT.601) of pixels of three bytes, and back.
__kernel void split(__global const uchar* rgb, __global float* luma, __global float* blue, __global float* red, Pixels n) {
  const long k = get_global_id(0);
  if (k >= n.count) return;
  const float r = rgb[3 * k], g = rgb[3 * k + 1], b = rgb[3 * k + 2];
  luma[k] = 0.299f * r + 0.587f * g + 0.114f * b;
  blue[k] = -0.168736f * r - 0.331264f * g + 0.5f * b;
  red[k] = 0.5f * r - 0.418688f * g - 0.081312f * b;
}

FUNCTION uchar byte_of(float v) { return (uchar)(fmin(fmax(v, 0.0f), 255.0f) + 0.5f); }

__kernel void join(__global const float* luma, __global const float* blue, __global const float* red, __global uchar* rgb,
                   Pixels n) {
  const long k = get_global_id(0);
  if (k >= n.count) return;
  rgb[3 * k] = byte_of(luma[k] + 1.402f * red[k]);
  rgb[3 * k + 1] = byte_of(luma[k] - 0.344136f * blue[k] - 0.714136f * red[k]);
  rgb[3 * k + 2] = byte_of(luma[k] + 1.772f * blue[k]);
}
