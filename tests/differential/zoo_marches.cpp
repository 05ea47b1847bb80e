// Weighted sums over volumes, which blocks of threads march through on devices (lower/device_march.hpp): every border,
// offsets to one side, planes without weights, types, elements that lie apart, four dimensions. Every other one runs in
// `fast` numbers wherever one case is enough: those that say most.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_marches() {
  static const std::vector<ZooProgram> programs = {
      {"a sum of a volume beyond a constant border, then a wrapped one",
       "table float w[i = 0..2, j = 0..4, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "float X) { return sum(i = 0..2, j = 0..4, k = 0..2) (w[i,j,k] * X@[i-1,j-3,k-1]); } parameter K, M, N; "
       "vector#3 "
       "float a[K,M,N]; return f(f(a:constant(0.75f)):wrap);"},
      {"a dense sum of a volume",
       "table float w[i = 0..2, j = 0..2, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "float X) { return sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * X@[i-1,j-1,k-1]); } parameter K, M, N; "
       "vector#3 "
       "float a[K,M,N]; return f(a:clamped);"},
      {"a mirrored sum of a volume far to one side",
       "table float w[i = 0..3, j = 0..1, k = 0..4] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "float X) { return sum(i = 0..3, j = 0..1, k = 0..4) (w[i,j,k] * X@[i+1,j-6,k+3]); } parameter K, M, N; "
       "vector#3 "
       "float a[K,M,N]; return f(a:mirror);"},
      {"dense sums of a volume without a border",
       "table float w[i = 0..2, j = 0..2, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "float X) { return sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * X@[i-1,j-1,k-1]); } parameter K, M, N; "
       "vector#3 "
       "float a[K,M,N]; return f(f(a));"},
      {"a sum of a volume with another border for each dimension",
       "table float w[i = 0..2, j = 0..2, k = 0..4] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "float X) { return sum(i = 0..2, j = 0..2, k = 0..4) (w[i,j,k] * X@[i-2,j-1,k]); } parameter K, M, N; vector#3 "
       "float a[K,M,N]; return f(a:[constant(2), symmetric, constant(2)]);"},
      {"a sum of bytes of a volume as floats",
       "table float w[i = 0..2, j = 0..2, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * 0.05f - 0.2f; stencil f(vector#3 "
       "uint8 X) { return sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * X@[i-1,j-1,k-1]); } parameter K, M, N; "
       "vector#3 "
       "uint8 a[K,M,N]; return f(a:symmetric);",
       1e-2},
      {"a sum of doubles of a volume with planes that have no weights",
       "table double w[j = 0..4, k = 0..4] = (j * 3 + k * 7) % 11 * 0.05 - 0.2; stencil f(vector#3 double X) { return "
       "sum(j = 0..4, k = 0..4) (w[j,k] * (X@[-2,j-2,k-2] - X@[1,k-2,j-2])); } parameter K, M, N; vector#3 double "
       "a[K,M,N]; return f(a:clamped);"},
      {"a sum of integers of a volume that wraps around",
       "table int w[i = 0..2, j = 0..2, k = 0..2] = (i * 300100 + j * 500300 + k * 77) % 791900 - 200000; stencil "
       "f(vector#3 int16 X) { return sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * X@[i-1,j-1,k-1]); } parameter K, M, "
       "N; vector#3 int16 a[K,M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"a dense sum of four dimensions",
       "table float w[i = 0..2, j = 0..2, k = 0..2, l = 0..2] = (i * 5 + j * 3 + k * 7 + l * 2) % 11 * 0.02f - 0.08f; "
       "stencil f(vector#4 float X) { return sum(i = 0..2, j = 0..2, k = 0..2, l = 0..2) (w[i,j,k,l] * "
       "X@[i-1,j-1,k-1,l-1]); } parameter L, K, M, N; vector#4 float a[L,K,M,N]; return f(f(a:mirror):constant(1));"},
      {"a sum of one field of a volume",
       "struct pair { float u; float v; } table float w[i = 0..2, j = 0..2, k = 0..2] = (i * 5 + j * 3 + k * 7) % 11 * "
       "0.05f - 0.2f; stencil f(vector#3 pair X) { return sum(i = 0..2, j = 0..2, k = 0..2) (w[i,j,k] * "
       "X@[i-1,j-1,k-1].v); } stencil g(vector#3 pair X, vector#3 float S) { return struct pair(S@[1,0,0], X.u); } "
       "parameter K, M, N; vector#3 pair a[K,M,N]; s = f(a:wrap); return s = s, t = g(a, s:clamped);"},
  };
  return programs;
}

}  // namespace tessera::differential
