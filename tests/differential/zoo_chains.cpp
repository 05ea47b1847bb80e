// Weighted sums that devices take one dimension at a time in one kernel (lower/device_chain.hpp): every border, offsets
// to one side, integers added up as floats and such that wrap around, elements that lie apart, images and volumes.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_chains() {
  static const std::vector<ZooProgram> programs = {
      {"a sum of 13 by 13 taps, one dimension at a time",
       "table float w[i = 0..12] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#2 float X) { return sum(i = 0..12, "
       "j = 0..12) (w[i] * w[j] * X@[i-6,j-6]); } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);"},
      {"a mirrored sum one dimension at a time, far to one side",
       "table float w[i = 0..10] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#2 float X) { return sum(i = 0..10, "
       "j = 0..10) (w[i] * w[10-j] * X@[i-1,j-13]); } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);"},
      {"a long sum one dimension at a time beyond a constant",
       "table float w[i = 0..24] = (i * 5) % 11 * 0.02f - 0.08f; stencil f(vector#2 float X) { return sum(i = "
       "0..24, j = 0..10) (w[i] * w[j] * X@[i-20,j-6]); } parameter M, N; vector#2 float a[M,N]; return "
       "f(a:constant(0.5f));"},
      {"sums one dimension at a time with another border for each",
       "table float w[i = 0..10] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#2 float X) { return sum(i = 0..10, "
       "j = 0..14) (w[i] * w[j%11] * X@[i+1,j+2]); } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:[symmetric, constant(2)]):[constant(1), wrap]);"},
      {"sums one dimension at a time without a border",
       "table float w[i = 0..10] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#2 float X) { return sum(i = 0..10, "
       "j = 0..10) (w[i] * w[j] * X@[i-4,j-5]); } parameter M, N; vector#2 float a[M,N]; return f(f(a));"},
      {"a sum of bytes one dimension at a time, added up as floats",
       "table int w[i = 0..12] = (i * 5) % 11 + 1; stencil f(vector#2 uint8 X) { return saturate<uint8>((sum(i = "
       "0..12, j = 0..12) (w[i] * w[j] * X@[i-6,j-6]) + 2048) >> 12); } parameter M, N; vector#2 uint8 a[M,N]; "
       "return f(a:mirror);",
       0},
      {"a sum of integers one dimension at a time that wraps around",
       "table int w[i = 0..10] = i * 3001 % 7919 - 2000; stencil f(vector#2 int16 X) { return sum(i = 0..10, j = "
       "0..12) (w[i] * w[j%11] * X@[i-5,j-6]); } parameter M, N; vector#2 int16 a[M,N]; return f(a:constant(7));",
       0, false, Data::wild},
      {"rows and columns written apart, and more of their sum",
       "table float w[i = 0..14] = (i * 5) % 11 * 0.05f - 0.2f; stencil g(vector#2 float X) { return sum(j = 0..14) "
       "(w[j] * X@[0,j-7]); } stencil f(vector#2 float X, float s) { return abs(sum(i = 0..14) (w[i] * X@[i-9,0])) "
       "* s + 0.25f; } parameter M, N; vector#2 float a[M,N]; float s; return f(g(a:wrap):symmetric, s);"},
      {"sums one dimension at a time of one field",
       "struct pair { float u; float v; } table float w[i = 0..12] = (i * 5) % 11 * 0.05f - 0.2f; stencil "
       "f(vector#2 pair X) { return sum(i = 0..12, j = 0..12) (w[i] * w[j] * X@[i-6,j-6].v); } parameter M, N; "
       "vector#2 pair a[M,N]; return f(a:clamped);"},
      {"a sum of 5 taps along each dimension of a volume",
       "table float w[i = 0..4] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#3 float X) { return sum(i = 0..4, j "
       "= 0..4, k = 0..4) (w[i] * w[j] * w[k] * X@[i-2,j-2,k-2]); } parameter K, M, N; vector#3 float a[K,M,N]; "
       "return f(a:clamped);"},
      {"sums along each dimension of a volume, to one side, beyond a constant",
       "table float w[i = 0..6] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#3 float X) { return sum(i = 0..3, j "
       "= 0..6, k = 0..4) (w[i] * w[j] * w[k+1] * X@[i+1,j-6,k-3]); } parameter K, M, N; vector#3 float a[K,M,N]; "
       "return f(f(a:constant(0.75f)):mirror);"},
      {"sums along each dimension of a volume without a border",
       "table float w[i = 0..4] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#3 float X) { return sum(i = 0..4, j "
       "= 0..4, k = 0..4) (w[i] * w[j] * w[k] * X@[i-2,j-1,k-2]); } parameter K, M, N; vector#3 float a[K,M,N]; "
       "return f(a);"},
      {"sums of bytes of a volume along two dimensions",
       "table float w[i = 0..6] = (i * 5) % 11 * 0.05f - 0.2f; stencil f(vector#3 uint8 X) { return sum(i = 0..6, j "
       "= 0..6) (w[i] * w[j] * X@[i-3,0,j-3]); } parameter K, M, N; vector#3 uint8 a[K,M,N]; return f(a:symmetric);",
       1e-2},
  };
  return programs;
}

}  // namespace tessera::differential
