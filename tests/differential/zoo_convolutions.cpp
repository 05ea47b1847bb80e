// Weighted sums that are taken through Fourier transforms of tiles (plan/transforms.hpp), however small: every border,
// images smaller than the weights, parts of bodies, margins, other types and ranks.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_convolutions() {
  static const std::vector<ZooProgram> programs = [] {
    std::vector<ZooProgram> list = {
        {"a clamped convolution",
         "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f - 0.03f; stencil f(vector#2 float X) { "
         "return "
         "sum(i = 0..6, j = 0..8) (k[i,j] * X@[i-3,j-4]); } parameter M, N; vector#2 float a[M,N]; return "
         "f(a:clamped);"},
        {"a mirrored convolution far to one side",
         "table float k[i = 0..10, j = 0..4] = (i * 7 + j * 3) % 13 * 0.02f; stencil f(vector#2 float X) { return "
         "sum(i = "
         "0..10, j = 0..4) (k[i,j] * X@[i+2,j-9]); } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);"},
        {"a wrapped convolution",
         "table float k[i = 0..8, j = 0..8] = (i * 3 + j * 5) % 7 * 0.03f - 0.05f; stencil f(vector#2 float X) { "
         "return "
         "sum(i = 0..8, j = 0..8) (k[i,j] * X@[i-4,j-4]) / 2; } parameter M, N; vector#2 float a[M,N]; return "
         "f(a:wrap);"},
        {"a convolution beyond a constant border",
         "table float k[i = 0..5, j = 0..9] = (i * 3 + j) % 5 * 0.05f; stencil f(vector#2 float X) { return sum(i = "
         "0..5, "
         "j = 0..9) (k[i,j] * X@[i-2,j-5]); } parameter M, N; vector#2 float a[M,N]; return f(a:constant(0.75f));"},
        {"a convolution with margins",
         "table float k[i = 0..4, j = 0..6] = (i * 3 + j * 2) % 5 * 0.05f; stencil f(vector#2 float X) { return sum(i "
         "= "
         "0..4, j = 0..6) (k[i,j] * X@[i-1,j-3]); } parameter M, N; vector#2 float a[M,N]; return f(a);"},
        {"a row of weights, a column of weights",
         "table float k[i = 0..20] = (i * 7) % 11 * 0.01f; stencil f(vector#2 float X) { return sum(i = 0..20) (k[i] * "
         "X@[0,i-9]); } stencil g(vector#2 float X) { return sum(i = 0..20) (k[i] * X@[i-12,0]); } parameter M, N; "
         "vector#2 float a[M,N]; return row = f(a:clamped), column = g(a:mirror);"},
        {"a convolution of bytes within an expression",
         "table float k[i = 0..8, j = 0..8] = (i * 3 + j * 5) % 7 * 0.01f; stencil f(vector#2 uint8 X) { return 3 * "
         "abs(sum(i = 0..8, j = 0..8) (k[i,j] * X@[i-4,j-4]) - X@[1,1]) + X; } parameter M, N; vector#2 uint8 a[M,N]; "
         "return f(a:clamped);",
         1e-2},
        {"a convolution of doubles and one of its result",
         "table double k[i = 0..6, j = 0..6] = (i * 3 + j * 5) % 7 * 0.04; stencil f(vector#2 double X) { return sum(i "
         "= "
         "0..6, j = 0..6) (k[i,j] * X@[i-3,j-3]); } stencil square(vector#2 double X) { return X * X; } parameter M, "
         "N; "
         "vector#2 double a[M,N]; return f(square(f(a:clamped)):mirror);"},
        {"convolutions of the images of a volume",
         "table float k[i = 0..6, j = 0..6] = (i * 3 + j * 5) % 7 * 0.03f; stencil f(vector#3 float X) { return sum(i "
         "= "
         "0..6, j = 0..6) (k[i,j] * X@[0,i-3,j-3]); } parameter K, M, N; vector#3 float a[K,M,N]; return f(a:mirror);"},
        {"a convolution of a volume",
         "table float k[h = 0..4, i = 0..2, j = 0..5] = (h * 3 + i * 5 + j * h) % 7 * 0.03f; stencil f(vector#3 float "
         "X) "
         "{ return sum(h = 0..4, i = 0..2, j = 0..5) (k[h,i,j] * X@[h-1,i-2,j-3]); } parameter K, M, N; vector#3 float "
         "a[K,M,N]; return f(a:[mirror,constant(0.5f),wrap]);"},
        {"a convolution of a volume with margins, and its square",
         "table float k[h = 0..2, i = 0..3, j = 0..2] = (h * 3 + i * 5 + j * h) % 7 * 0.03f; stencil f(vector#3 float "
         "X) "
         "{ return sum(h = 0..2, i = 0..3, j = 0..2) (k[h,i,j] * X@[h-1,i-1,j-1]); } stencil square(vector#3 float X) "
         "{ "
         "return X * X@[1,0,0]; } parameter K, M, N; vector#3 float a[K,M,N]; return square(f(a):clamped);"},
        {"an integer convolution of a volume of bytes",
         "table int k[h = 0..2, i = 0..2, j = 0..3] = (h * 3 + i * 5 + j * h) % 7 - 2; stencil f(vector#3 uint8 X) { "
         "return saturate<uint8>(sum(h = 0..2, i = 0..2, j = 0..3) (k[h,i,j] * X@[h-1,i-1,j-2]) / 16); } parameter K, "
         "M, N; vector#3 uint8 a[K,M,N]; return f(a:[constant(3),clamped,mirror]);",
         0, false, Data::wild},
        {"a convolution of a series of volumes",
         "table float k[g = 0..1, h = 0..2, i = 0..2, j = 0..2] = (g * 2 + h * 3 + i * 5 + j * h) % 7 * 0.02f; stencil "
         "f(vector#4 float X) { return sum(g = 0..1, h = 0..2, i = 0..2, j = 0..2) (k[g,h,i,j] * "
         "X@[g-1,h-1,i-1,j-1]); } parameter T, K, M, N; vector#4 float a[T,K,M,N]; return f(a:clamped);"},
        {"a sum of a series of volumes that reads a copy",
         "table float k[g = 0..2, h = 0..2, i = 0..2, j = 0..2] = (g * 2 + h * 3 + i * 5 + j * h) % 7 * 0.02f; stencil "
         "f(vector#4 float X) { return sum(g = 0..2, h = 0..2, i = 0..2, j = 0..2) (k[g,h,i,j] * "
         "X@[g-1,h-2,i-1,j-1]); } parameter T, K, M, N; vector#4 float a[T,K,M,N]; return "
         "p = f(a:[constant(2),mirror,wrap,clamped]), q = f(a:clamped);"},
        {"an integer sum of a series of bytes that reads a copy",
         "table int k[g = 0..2, h = 0..2, i = 0..2, j = 0..3] = (g * 2 + h * 3 + i * 5 + j * h) % 7 - 2; stencil "
         "f(vector#4 uint8 X) { return sum(g = 0..2, h = 0..2, i = 0..2, j = 0..3) (k[g,h,i,j] * "
         "X@[g-1,h-2,i-1,j-1]) + X; } parameter T, K, M, N; vector#4 uint8 a[T,K,M,N]; return f(a);"},
        {"a convolution of a product and one of its factor, divided: computed in their tiles",
         "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f + 0.01f; stencil p(vector#2 float X, "
         "vector#2 uint8 C) { return C > 0 ? X * C : 0; } stencil c(vector#2 uint8 C) { return C * 1.0f; } stencil "
         "s(vector#2 float X) { return sum(i = 0..6, j = 0..8) (k[i,j] * X@[i-3,j-4]); } stencil q(vector#2 float P, "
         "vector#2 float Q) { return P / (abs(Q) + 0.1f); } parameter M, N; vector#2 float a[M,N]; vector#2 uint8 "
         "m[M,N]; return q(s(p(a, m):constant(0.5f)), s(c(m):wrap));"},
        {"two convolutions and the image in one expression, one of a square",
         "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f; stencil s(vector#2 float X) { return sum(i "
         "= 0..6, j = 0..8) (k[i,j] * X@[i-3,j-4]); } stencil t(vector#2 float X) { return sum(i = 0..6, j = 0..8) "
         "(k[j % 7,(i * 2) % 9] * X@[i-3,j-4]); } stencil square(vector#2 float X) { return X * X; } stencil "
         "m(vector#2 float P, vector#2 float Q, vector#2 float X) { return sqrt(P * P + Q * Q) + X@[1,-2]; } parameter "
         "M, N; vector#2 float a[M,N]; return o = m(s(a), t(a), a:wrap), r = s(square(a):[constant(2),mirror]);"},
        {"a convolution of a volume with margins, in an expression",
         "table float k[h = 0..2, i = 0..3, j = 0..2] = (h * 3 + i * 5 + j * h) % 7 * 0.03f; stencil f(vector#3 float "
         "X) { return sum(h = 0..2, i = 0..3, j = 0..2) (k[h,i,j] * X@[h-1,i-1,j-1]); } stencil g(vector#3 float S, "
         "vector#3 float X) { return S * S + X@[1,0,0] - X; } parameter K, M, N; vector#3 float a[K,M,N]; return "
         "g(f(a), a:clamped);"},
        {"convolutions of a function of the images of a volume, and a function of these",
         "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f; stencil s(vector#3 float X) { return sum(i "
         "= 0..6, j = 0..8) (k[i,j] * X@[0,i-3,j-4]); } stencil square(vector#3 float X) { return X * X + 1; } stencil "
         "root(vector#3 float X) { return sqrt(X) * 3; } parameter K, M, N; vector#3 float a[K,M,N]; return "
         "root(s(square(a):[clamped,constant(7),mirror]));"},
        {"an integer convolution of bytes",
         "table int k[i = 0..8, j = 0..10] = (i * 3 + j * 5) % 7 - 2; stencil f(vector#2 uint8 X) { return "
         "saturate<uint8>(sum(i = 0..8, j = 0..10) (k[i,j] * X@[i-4,j-5]) / 64); } parameter M, N; vector#2 uint8 "
         "a[M,N]; "
         "return f(a:mirror);",
         0, false, Data::wild},
        {"an integer convolution that wraps around",
         "table int k[i = 0..6, j = 0..6] = (i * 300100 + j * 500300) % 791900 - 200000; stencil f(vector#2 int16 X) { "
         "return "
         "sum(i = 0..6, j = 0..6) (k[i,j] * X@[i-3,j-3]); } parameter M, N; vector#2 int16 a[M,N]; return "
         "f(a:constant(-77));",
         0, false, Data::wild},
        {"a convolution that is a field of a struct",
         "struct two { float a; float b; } table float k[i = 0..6, j = 0..6] = (i * 3 + j * 5) % 7 * 0.03f; stencil "
         "f(vector#2 two X) { return struct two(sum(i = 0..6, j = 0..6) (k[i,j] * X@[i-3,j-3].b), X.a); } parameter M, "
         "N; "
         "vector#2 two a[M,N]; return f(a:clamped);"},
    };
    for (ZooProgram& program : list) program.method = Method::transform;
    return list;
  }();
  return programs;
}

}  // namespace tessera::differential
