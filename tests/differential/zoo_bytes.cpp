// Exact sums of bytes, which processors that multiply bytes take four at a time (plan/byte_sums.hpp): every border,
// images smaller than the weights, the least and the greatest weights, results of every width, rings, volumes.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_bytes() {
  static const std::vector<ZooProgram> programs = {
      {"sums of bytes with the least and the greatest weights",
       "table int k[i = 0..8, j = 0..8] = (i * 7 + j * 3 + i * j) % 3 == 0 ? -128 : 127; table int n[i = 0..8, j = "
       "0..8] = -128; stencil f(vector#2 uint8 X) { return sum(i = 0..8, j = 0..8) (k[i,j] * X@[i-4,j-4]); } stencil "
       "g(vector#2 uint8 X) { return cast<uint8>(sum(i = 0..6, j = 0..6) ((k[i,j] - (i + j) % 2) * X@[i-3,j-2]) / "
       "97); } parameter M, N; vector#2 uint8 a[M,N]; return a = f(a:mirror), b = g(a:wrap);",
       0, false, Data::wild},
      {"sums of bytes with weights of two bytes",
       "table int k[i = 0..5, j = 0..6] = (i * 5377 + j * 1931) % 32767 - 16448; stencil f(vector#2 uint8 X) { return "
       "sum(i = 0..5, j = 0..6) (k[i,j] * X@[i-2,j-3]); } stencil g(vector#2 uint8 X) { return saturate<int16>(sum(i "
       "= 0..5, j = 0..6) (k[i,j] * X@[i+1,j-9]) / 3000 - X); } parameter M, N; vector#2 uint8 a[M,N]; return a = "
       "f(a:clamped), b = g(a:constant(200));",
       0, false, Data::wild},
      {"a sum of bytes with margins, and one of its bytes",
       "table int k[i = 0..4, j = 0..6] = (i * 37 + j * 53) % 91 - 40; stencil f(vector#2 uint8 X) { return "
       "saturate<uint8>(sum(i = 0..4, j = 0..6) (k[i,j] * X@[i-2,j-3]) / 64 + 100); } parameter M, N; vector#2 uint8 "
       "a[M,N]; s = f(a); return s = s, t = f(s:wrap);",
       0, false, Data::wild},
      {"sums of bytes beside floats, coordinates and each other",
       "table int k[i = 0..6, j = 0..4] = (i * 37 + j * 53) % 211 - 90; table int h[i = 0..4, j = 0..8] = (i * 29 + j "
       "* "
       "31) % 7 * (j % 3); stencil f(vector#2 uint8 X, vector#2 float Y) { return 1e-5f * sum(i = 0..6, j = 0..4) "
       "(k[i,j] * X@[i-3,j-2]) * Y; } stencil g(vector#2 uint8 X) { return max(sum(i = 0..6, j = 0..4) (k[i,j] * "
       "X@[i-3,j-2]), sum(i = 0..4, j = 0..8) (h[i,j] * X@[i-2,j-4])) > 9000 || X > 99; } stencil t(vector#2 uint8 X) "
       "{ return sum(i = 0..6, j = 0..4) (k[i,j] * X@[i-3,j-2]) + coord(1); } parameter M, N; vector#2 uint8 a[M,N]; "
       "vector#2 float b[M,N]; return a = f(a:mirror, b), b = g(a:symmetric), c = t(a:clamped);",
       2e-4, false, Data::wild},
      {"sums of bytes as floats, as 16 bits, and in a ring",
       "table int k[i = 0..6, j = 0..6] = (i * 37 + j * 53) % 91 - 40; stencil f(vector#2 uint8 X) { return 0.5f * "
       "sum(i = 0..6, j = 0..6) (k[i,j] * X@[i-3,j-3]); } stencil g(vector#2 uint8 X) { return cast<uint16>(sum(i = "
       "0..6, j = 0..6) (k[i,j] * X@[i-3,j-3])); } stencil h(vector#2 uint16 X) { return X@[-1,2] - X@[1,-2]; } "
       "parameter "
       "M, N; vector#2 uint8 a[M,N]; return a = f(a:clamped), b = g(a:mirror), c = h(g(a:wrap):mirror);",
       0, false, Data::wild},
      {"sums of bytes that wrap below zero, without a sign",
       "table uint32 k[i = 0..4, j = 0..4] = (i * 37 + j * 53) % 41; stencil f(vector#2 uint8 X) { return 0.001f * "
       "(X@[0,3] - sum(i = 0..4, j = 0..4) (k[i,j] * X@[i-2,j-2])); } stencil g(vector#2 uint8 X) { return (X@[1,0] - "
       "sum(i = 0..4, j = 0..4) (k[i,j] * X@[i-2,j-2])) / 1000; } parameter M, N; vector#2 uint8 a[M,N]; return a = "
       "f(a:mirror), b = g(a:clamped);",
       0, false, Data::wild},
      {"sums of bytes of volumes",
       "table int k[l = 0..2, i = 0..2, j = 0..4] = (l * 17 + i * 37 + j * 53) % 253 - 126; stencil f(vector#3 uint8 "
       "X) "
       "{ return sum(l = 0..2, i = 0..2, j = 0..4) (k[l,i,j] * X@[l-1,i-1,j-2]); } stencil g(vector#3 uint8 X) { "
       "return saturate<uint8>(sum(l = 0..2, i = 0..2, j = 0..4) (k[l,i,j] * X@[l-1,i-1,j-2]) / 128); } parameter K, "
       "M, N; vector#3 uint8 a[K,M,N]; return a = f(a:[mirror,wrap,clamped]), b = g(g(a:clamped):constant(3));",
       0, false, Data::wild},
      {"sums of bytes along rows and along columns",
       "table int k[i = 0..12] = (i * 53) % 251 - 120; stencil f(vector#2 uint8 X) { return sum(i = 0..12) (k[i] * "
       "X@[0,i-5]); } stencil g(vector#2 uint8 X) { return sum(i = 0..12) (k[i] * X@[i-5,0]) >> 7; } parameter M, N; "
       "vector#2 uint8 a[M,N]; return a = f(a:clamped), b = g(a:mirror);",
       0, false, Data::wild},
      {"sums of bytes of 16 x 16 and 15 x 15 weights, far from their point as well",
       "table int k[i = 0..15, j = 0..15] = (i * 37 + j * 53) % 256 - 128; stencil f(vector#2 uint8 X) { return sum(i "
       "= 0..15, j = 0..15) (k[i,j] * X@[i-8,j-7]); } stencil g(vector#2 uint8 X) { return saturate<uint8>(sum(i = "
       "0..14, j = 0..14) (k[i,j] * X@[i-7,j-7]) / 4096 + 90); } stencil h(vector#2 uint8 X) { return sum(i = 0..9, j "
       "= 0..11) ((k[i,j] + 128) * X@[i+3,j-21]) / 100; } parameter M, N; vector#2 uint8 a[M,N]; return a = "
       "f(a:mirror), b = g(a:constant(200)), c = h(a:wrap);",
       0, false, Data::wild},
      {"sums of bytes beside other images, of results of others, and of planes",
       "table int k[i = 0..8, j = 0..6] = (i * 37 + j * 53) % 256 - 128; stencil f(vector#2 uint8 X, vector#2 uint8 Y) "
       "{ return saturate<uint8>(Y - sum(i = 0..8, j = 0..6) (k[i,j] * X@[i-4,j-3]) / 512); } stencil p(vector#3 uint8 "
       "X) { return sum(i = 0..8, j = 0..6) (k[i,j] * X@[0,i-4,j-3]) > 700; } parameter K, M, N; vector#2 uint8 "
       "a[M,N]; vector#3 uint8 b[K,M,N]; return a = f(f(a:symmetric, a):clamped, a), b = p(b:mirror);",
       0, false, Data::wild},
  };
  return programs;
}

}  // namespace tessera::differential
