// Mixed-radix Fourier transforms of square matrices of complex numbers, after the document "mixed-radix FFT in two
// dimensions": digit reversal, a first stage without and further stages with twiddle factors, transposition. Every step
// stands twice, for one row at an offset (launched once a row) and for all rows (the second number of an item is the row).
// Strides and offsets count floats, as in the document.
FUNCTION float2 turned(float2 a) { return (float2)(a.y, -a.x); }  // times -i
FUNCTION float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

FUNCTION void dft_2(float2* x) {
  const float2 a = x[0];
  x[0] = a + x[1];
  x[1] = a - x[1];
}

FUNCTION void dft_4(float2* x) {
  const float2 a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turned(x[1] - x[3]);
  x[0] = a + c;
  x[1] = b + d;
  x[2] = a - c;
  x[3] = b - d;
}

FUNCTION void dft_8(float2* x) {
  const float h = 0.70710678118654752f;
  float2 even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  dft_4(even);
  dft_4(odd);
  odd[1] = h * (odd[1] + turned(odd[1]));
  odd[2] = turned(odd[2]);
  odd[3] = h * (turned(odd[3]) - odd[3]);
  for (int k = 0; k < 4; ++k) {
    x[k] = even[k] + odd[k];
    x[k + 4] = even[k] - odd[k];
  }
}

__constant float cosine_3[3] = {1, -0.5f, -0.5f}, sine_3[3] = {0, 0.86602540378443865f, -0.86602540378443865f};
__constant float cosine_5[5] = {1, 0.30901699437494742f, -0.80901699437494742f, -0.80901699437494742f, 0.30901699437494742f};
__constant float sine_5[5] = {0, 0.95105651629515357f, 0.58778525229247313f, -0.58778525229247313f, -0.95105651629515357f};
__constant float cosine_7[7] = {1, 0.62348980185873353f, -0.22252093395631440f, -0.90096886790241913f, -0.90096886790241913f,
                                -0.22252093395631440f, 0.62348980185873353f};
__constant float sine_7[7] = {0, 0.78183148246802981f, 0.97492791218182361f, 0.43388373911755812f, -0.43388373911755812f,
                              -0.97492791218182361f, -0.78183148246802981f};

// An odd length: the elements m and n - m share their cosine and, but for the sign, their sine.
#define DFT_ODD(n)                                                   \
  FUNCTION void dft_##n(float2* x) {                                 \
    float2 all = x[0], y[n];                                         \
    for (int m = 1; m < n; ++m) all += x[m];                         \
    for (int k = 1; k <= n / 2; ++k) {                               \
      float2 a = x[0], b = (float2)(0, 0);                           \
      for (int m = 1; m <= n / 2; ++m) {                             \
        a += cosine_##n[k * m % n] * (x[m] + x[n - m]);              \
        b += sine_##n[k * m % n] * (x[m] - x[n - m]);                \
      }                                                              \
      y[k] = a + turned(b);                                          \
      y[n - k] = a - turned(b);                                      \
    }                                                                \
    x[0] = all;                                                      \
    for (int k = 1; k < n; ++k) x[k] = y[k];                         \
  }
DFT_ODD(3)
DFT_ODD(5)
DFT_ODD(7)

// The first stage: neighbours, no factors.
#define FIRST_STAGE(n, row)                                          \
  float2 x[n];                                                       \
  __global float2* at = (__global float2*)(data + (row)) + get_global_id(0) * n; \
  for (int m = 0; m < n; ++m) x[m] = at[m];                          \
  dft_##n(x);                                                        \
  for (int m = 0; m < n; ++m) at[m] = x[m];

// A later stage: n elements that lie `done` apart, done being the product of the radices before; phi is -2 pi / (done n).
#define NEXT_STAGE(n, row)                                           \
  float2 x[n];                                                       \
  const uint id = get_global_id(0), k = id % done;                   \
  __global float2* at = (__global float2*)(data + (row)) + (id / done) * done * n + k; \
  x[0] = at[0];                                                      \
  for (int m = 1; m < n; ++m) {                                      \
    const float angle = phi * (float)(k * m);                        \
    x[m] = times(at[m * done], (float2)(cos(angle), sin(angle)));    \
  }                                                                  \
  dft_##n(x);                                                        \
  for (int m = 0; m < n; ++m) at[m * done] = x[m];

#define RADIX(n)                                                                                                 \
  __kernel void row_first_##n(__global float* data, uint offset) { FIRST_STAGE(n, offset) }                      \
  __kernel void row_next_##n(__global float* data, uint offset, uint done, float phi) { NEXT_STAGE(n, offset) }  \
  __kernel void all_first_##n(__global float* data, uint stride) { FIRST_STAGE(n, get_global_id(1) * stride) }   \
  __kernel void all_next_##n(__global float* data, uint stride, uint done, float phi) {                          \
    NEXT_STAGE(n, get_global_id(1) * stride)                                                                     \
  }
RADIX(2)
RADIX(3)
RADIX(4)
RADIX(5)
RADIX(7)
RADIX(8)

__kernel void row_reverse(__global const float* from, __global float* to, __global const uint* order, uint offset) {
  const uint x = get_global_id(0);
  vstore2(vload2(order[x], from + offset), x, to + offset);
}
__kernel void all_reverse(__global const float* from, __global float* to, __global const uint* order, uint stride) {
  const uint x = get_global_id(0), row = get_global_id(1) * stride;
  vstore2(vload2(order[x], from + row), x, to + row);
}

// ---- transposition -------------------------------------------------------------------------------------------------

__kernel void transpose(__global const float* from, __global float* to, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1);
  vstore2(vload2(x, from + y * stride), y, to + x * stride);
}

__kernel void transpose_2x2(__global const float* from, __global float* to, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1);
  const float4 u0 = vload4(x, from + (y * 2) * stride), u1 = vload4(x, from + (y * 2 + 1) * stride);
  vstore4((float4)(u0.s01, u1.s01), y, to + (x * 2) * stride);
  vstore4((float4)(u0.s23, u1.s23), y, to + (x * 2 + 1) * stride);
}

// Larger blocks, which the document says need too many registers.
#define TRANSPOSE(n)                                                                                   \
  __kernel void transpose_##n##x##n(__global const float* from, __global float* to, uint stride) {     \
    const uint x = get_global_id(0) * n, y = get_global_id(1) * n;                                     \
    float2 u[n][n];                                                                                    \
    for (int i = 0; i < n; ++i)                                                                        \
      for (int j = 0; j < n; ++j) u[j][i] = vload2(x + j, from + (y + i) * stride);                    \
    for (int i = 0; i < n; ++i)                                                                        \
      for (int j = 0; j < n; ++j) vstore2(u[i][j], y + j, to + (x + i) * stride);                      \
  }
TRANSPOSE(4)
TRANSPOSE(8)

// In place: an item swaps two blocks; those below the diagonal have nothing to do.
__kernel void swap_2x2(__global float* data, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x < y) return;
  const float4 u0 = vload4(x, data + (y * 2) * stride), u1 = vload4(x, data + (y * 2 + 1) * stride);
  if (x != y) {
    const float4 v0 = vload4(y, data + (x * 2) * stride), v1 = vload4(y, data + (x * 2 + 1) * stride);
    vstore4((float4)(v0.s01, v1.s01), x, data + (y * 2) * stride);
    vstore4((float4)(v0.s23, v1.s23), x, data + (y * 2 + 1) * stride);
  }
  vstore4((float4)(u0.s01, u1.s01), y, data + (x * 2) * stride);
  vstore4((float4)(u0.s23, u1.s23), y, data + (x * 2 + 1) * stride);
}

// ---- the high-pass filter --------------------------------------------------------------------------------------------

// Frequencies within `radius` of 0 are removed; what stays is conjugated, so that a second forward transform is the
// inverse one, conjugated.
__kernel void high_pass(__global float* data, uint stride, uint n, float radius) {
  const uint x = get_global_id(0), y = get_global_id(1);
  const float u = x * 2 > n ? (float)(n - x) : (float)x, v = y * 2 > n ? (float)(n - y) : (float)y;
  float2 value = vload2(x, data + y * stride);
  value = u * u + v * v < radius * radius ? (float2)(0, 0) : (float2)(value.x, -value.y);
  vstore2(value, x, data + y * stride);
}
