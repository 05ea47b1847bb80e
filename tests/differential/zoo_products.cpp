// Windows that reduce functions of images (plan/products.cpp): products, squares, masks, differences; every border and
// mixtures of them, weights of every kind, written out or not, integers that wrap, strides, margins, other ranks.
#include "zoo.hpp"

namespace tessera::differential {

namespace {

std::vector<ZooProgram> floats() {
  return {
      {"variances of boxes, every border",
       "stencil v(vector#2 float X) { m = sum(i = -4..4, j = -4..4) (X@[i,j]) / 81; return sum(i = -4..4, j = -4..4) "
       "(X@[i,j] * X@[i,j]) / 81 - m * m; } parameter M, N; vector#2 float a[M,N]; return a = v(a:clamped), b = "
       "v(a:mirror), c = v(a:symmetric), d = v(a:wrap), e = v(a:constant(0.75f)), f = v(a), g = "
       "v(a:[constant(2),wrap]), h = v(a:[none,mirror]), k = v(a:[constant(1),constant(-1)]);"},
      {"a structure tensor of gradients that are written in its sums",
       "table float g[k = -4..4] = exp(-k*k/8.0); stencil t(vector#2 float X, vector#2 float Y) { return abs(sum(i = "
       "-4..4, j = -4..4) (g[i+4] * g[j+4] * X@[i,j] * X@[i,j]) * sum(i = -4..4, j = -4..4) (Y@[i,j] * g[i+4] * "
       "Y@[i,j] * g[j+4])) - sum(i = -4..4, j = -4..4) (g[i+4] * (X@[i,j] * Y@[i,j]) * g[j+4]); } stencil dx(vector#2 "
       "float X) { return X@[0,1] - X@[0,-1]; } stencil dy(vector#2 float X) { return X@[1,0] - X@[-1,0]; } parameter "
       "M, N; vector#2 float a[M,N]; return t(dx(a:mirror):clamped, dy(a:mirror):clamped);"},
      {"means under masks",
       "stencil f(vector#2 float X, vector#2 uint8 C) { n = sum(i = -6..6, j = -5..5) (C@[i,j] > 0); return sum(i = "
       "-6..6, j = -5..5) (C@[i,j] > 0 ? X@[i,j] : 0) / max(1, n); } parameter M, N; vector#2 float a[M,N]; vector#2 "
       "uint8 c[M,N]; return o = f(a:symmetric, c:symmetric), g = f(a:constant(3), c:constant(1)), h = f(a:clamped, "
       "c:constant(0));"},
      {"products of images that are continued differently",
       "stencil f(vector#2 float X, vector#2 float Y) { return sum(i = -3..5, j = -6..2) (X@[i,j] * Y@[i,j]); } "
       "parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; return o = f(a:clamped, b:mirror), g = f(a:wrap, "
       "b:[constant(0.5f),wrap]), h = f(a:[clamped,constant(2)], b:[clamped,constant(0.5f)]), k = "
       "f(a:[constant(1),clamped], b:[mirror,clamped]);"},
      {"autocorrelations",
       "stencil f(vector#2 float X) { return sum(i = -4..4, j = -4..4) (X@[i,j] * X@[i+1,j-2]); } stencil g(vector#2 "
       "float X, vector#2 float Y) { return sum(i = -4..4, j = -4..4) (abs(X@[i,j+3] - Y@[i-2,j])); } parameter M, N; "
       "vector#2 float a[M,N]; vector#2 float b[M,N]; return o = f(a:clamped), p = f(a:wrap), q = f(a), r = "
       "f(a:[mirror,wrap]), s = f(a:constant(2)), t = g(a:symmetric, b:clamped), u = g(a:wrap, b:wrap), v = g(a, b);"},
      {"factors that do not move, divisors, numbers of all kinds",
       "table float k[i = 0..8, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f; stencil f(vector#2 float X, vector#2 float "
       "Y, "
       "float s) { return sum(i = -4..4, j = -4..4) (X * Y@[i,j]) / 81 + sum(i = -4..4, j = -4..4) (s * k[i+4,j+4] * "
       "X@[i,j] * X@[i,j] / (abs(Y) + 1)) + sum(i = -4..4, j = -4..4) (0.5f * -X@[i,j] * Y@[i,j] * i / 9); } parameter "
       "M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; float s; return o = f(a:clamped, b:clamped, s);"},
      {"sums of sums, of several functions, beside others",
       "table float k[i = 0..8] = (i * 5) % 11 * 0.05f; stencil f(vector#2 float X, vector#2 float Y) { return sum(i = "
       "-4..4) (k[i+4] * sum(j = -4..4) (k[j+4] * X@[i,j] * Y@[i,j])) + sum(i = -4..4, j = -4..4) (X@[i,j] + Y@[i,j]) "
       "/ 9 + sum(i = -4..4, j = -4..4) (k[i+4] * X@[i,j] * X@[i,j] - k[j+4] * Y@[i,j]) + X@[1,2] * Y; } parameter M, "
       "N; vector#2 float a[M,N]; vector#2 float b[M,N]; return o = f(a:mirror, b:mirror), g = f(a, b:clamped);"},
      {"products written out",
       "stencil f(vector#2 float X, vector#2 float Y) { return (X@[-2,-2] * Y@[-2,-2] + X@[-2,0] * Y@[-2,0] + "
       "X@[-2,2] * Y@[-2,2] + 2 * X@[0,-2] * Y@[0,-2] - X * X + 2 * (X * Y) + X@[0,2] * 2 * Y@[0,2] + X@[2,-2] * "
       "Y@[2,-2] + X@[2,0] * Y@[2,0] + X@[2,2] * Y@[2,2]) * 0.25f - X@[1,1]; } parameter M, N; vector#2 float a[M,N]; "
       "vector#2 float b[M,N]; return o = f(a:wrap, b:wrap), g = f(a:clamped, b:symmetric), h = f(a, b);"},
      {"normalised correlation of windows",
       "stencil f(vector#2 float X, vector#2 float Y) { x = sum(i = -3..3, j = -3..3) (X@[i,j]); y = sum(i = -3..3, j "
       "= -3..3) (Y@[i,j]); p = 49 * sum(i = -3..3, j = -3..3) (X@[i,j] * Y@[i,j]) - x * y; q = 49 * sum(i = -3..3, j "
       "= -3..3) (X@[i,j] * X@[i,j]) - x * x; r = 49 * sum(i = -3..3, j = -3..3) (Y@[i,j] * Y@[i,j]) - y * y; return p "
       "/ sqrt(max(q * r, 0) + 100); } parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; return "
       "o = f(a:mirror, b:mirror);"},
      {"functions with strides",
       "stencil f(vector#2 float X, vector#2 float Y) { return sum(i = -2..4, j = -3..3) (X@[(i,2),(j,2)] * "
       "Y@[(i,2),(j,2)]); } parameter M, N; vector#2 float a[2*M,2*N]; vector#2 float b[2*M,2*N]; return o = "
       "f(a:clamped, "
       "b:clamped), g = f(a:constant(2), b:constant(3));"},
      {"a row and a column among the factors",
       "stencil f(vector#2 float X, vector#1 float R) { return sum(i = -4..4, j = -3..3) (X@[i,j] * R@[j]); } "
       "parameter M, N; vector#2 float a[M,N]; vector#1 float r[N]; return o = f(a:clamped, r:clamped), g = "
       "f(a:constant(2), r:constant(3)), h = f(a:wrap, r:mirror), k = f(a, r);"},
      {"images of other extents, and stages",
       "stencil p(vector#2 float X) { return X@[0,1] + 1; } stencil f(vector#2 float X, vector#2 float Y) { return "
       "sum(i = -4..4, j = -3..3) (X@[i,j] * Y@[i,j]); } parameter M, N; vector#2 float a[M,N]; vector#2 float "
       "b[M+3,N+5]; return o = f(a:clamped, b:clamped), g = f(p(a:clamped):mirror, b:constant(1)), h = f(p(p(a)):wrap, "
       "a:wrap), k = f(b:clamped, p(b:wrap):clamped);"},
      {"least, greatest, any, all, median of functions",
       "stencil f(vector#2 float X, vector#2 float Y) { return max(i = -3..3, j = -4..4) (abs(X@[i,j] - Y@[i,j])) - "
       "min(i = -3..3, j = -4..4) (X@[i,j] * Y@[i,j]) + any(i = -2..2, j = -2..2) (X@[i,j] > 0.9f) + 2 * all(i = "
       "-1..1, j = 0..3) (Y@[i,j] < 0.8f) + median(i = -1..1, j = -1..1) (sqrt(abs(X@[i,j]))); } parameter M, N; "
       "vector#2 float a[M,N]; vector#2 float b[M,N]; return o = f(a:mirror, b:mirror), g = f(a, b), h = "
       "f(a:constant(0.5f), b:constant(0.25f));",
       2e-4, true},
      {"dear functions of a window, in their order",
       "stencil f(vector#2 float X) { return sum(i = -4..4, j = -4..4) (exp(-abs(X@[i,j])) / (2 + X@[i,j])); } stencil "
       "g(vector#2 float X) { return prod(i = 0..2, j = 0..3) (1 + sqrt(abs(X@[i,j])) / 16); } parameter M, N; "
       "vector#2 float a[M,N]; return o = f(a:clamped), g = g(a:wrap), h = f(a);"},
      {"sums of products of volumes",
       "stencil f(vector#3 float X, vector#3 float Y) { return sum(h = -2..2, i = -2..2, j = -2..2) (X@[h,i,j] * "
       "Y@[h,i,j]); } parameter K, M, N; vector#3 float a[K,M,N]; vector#3 float b[K,M,N]; return o = f(a:clamped, "
       "b:clamped), g = f(a:[mirror,wrap,constant(1)], b:[mirror,wrap,constant(2)]), h = f(a:wrap, b:clamped);"},
      {"sums of squares of a signal",
       "stencil f(vector#1 float X) { return sum(j = -20..20) (X@[j] * X@[j]); } parameter N; vector#1 float a[N]; "
       "return o = f(a:mirror), g = f(a), h = f(a:constant(1));"},
      {"doubles, and halves",
       "stencil f(vector#2 double X, vector#2 half Y) { return sum(i = -4..4, j = -4..4) (X@[i,j] * Y@[i,j]); } "
       "stencil g(vector#2 half Y) { return sum(i = -4..4, j = -4..4) (Y@[i,j] * Y@[i,j]); } parameter M, N; vector#2 "
       "double a[M,N]; vector#2 half b[M,N]; return o = f(a:clamped, b:clamped), g = g(b:constant(0.5f));",
       2e-3},
  };
}

std::vector<ZooProgram> integers() {
  return {
      {"sums of products of bytes",
       "stencil f(vector#2 uint8 X, vector#2 uint8 Y) { return sum(i = -7..7, j = -7..7) (X@[i,j] * Y@[i,j]); } "
       "parameter M, N; vector#2 uint8 a[M,N]; vector#2 uint8 b[M,N]; return o = f(a:clamped, b:clamped), g = "
       "f(a:mirror, "
       "b:wrap), h = f(a:constant(200), b:constant(3)), k = f(a, b);",
       0, false, Data::wild},
      {"sums of products that wrap around",
       "table int k[5] = {1, 40000, -6, 40000, 1}; stencil f(vector#2 int X, vector#2 int Y) { return sum(i = -2..2, j "
       "= -2..2) (k[i+2] * X@[i,j] * Y@[i,j] * k[j+2]) - sum(i = -2..2, j = -2..2) (Y * X@[i,j] * X@[i,j]); } stencil "
       "g(vector#2 uint32 X) { return sum(i = -3..3, j = -3..3) ((X@[i,j] * X@[i,j]) << 3); } parameter M, N; vector#2 "
       "int a[M,N]; vector#2 int b[M,N]; vector#2 uint32 c[M,N]; return o = f(a:mirror, b:mirror), p = "
       "f(a:constant(70000), "
       "b:constant(-90000)), q = g(c:wrap), r = g(c:constant(100000));",
       0, false, Data::wild},
      {"bits, quotients and comparisons of integers in windows",
       "stencil f(vector#2 int16 X, vector#2 uint16 Y) { return sum(i = -3..3, j = -3..3) (X@[i,j] > Y@[i,j]) + sum(i "
       "= -3..3, j = -3..3) (X@[i,j] / 3) + sum(i = -3..3, j = -3..3) ((X@[i,j] & 15) * (Y@[i,j] >> 4)) + max(i = "
       "-2..2, j = -2..2) (X@[i,j] % 7) + median(i = -1..1, j = -1..1) (X@[i,j] / 5); } parameter M, N; vector#2 int16 "
       "a[M,N]; vector#2 uint16 b[M,N]; return o = f(a:symmetric, b:symmetric), g = f(a:constant(-5), b:constant(9));",
       0, false, Data::wild},
      {"integer products written out",
       "stencil f(vector#2 uint8 X, vector#2 int16 Y) { return X@[-1,-1] * Y@[-1,-1] + 2 * X@[-1,0] * Y@[-1,0] + "
       "X@[-1,1] * Y@[-1,1] + (2 * X@[0,-1] * Y@[0,-1] + 4 * (X * Y)) + X@[0,1] * Y@[0,1] * 2 + X@[1,-1] * Y@[1,-1] + "
       "2 * X@[1,0] * Y@[1,0] + X@[1,1] * Y@[1,1]; } parameter M, N; vector#2 uint8 a[M,N]; vector#2 int16 b[M,N]; "
       "return o = f(a:clamped, b:clamped), g = f(a, b:wrap);",
       0, false, Data::wild},
      {"absolute differences of bytes",
       "stencil f(vector#2 uint8 X, vector#2 uint8 Y) { return sum(i = -4..4, j = -4..4) (abs(X@[i,j] - Y@[i,j+2])); "
       "} stencil g(vector#2 uint8 X, vector#2 uint8 Y) { return sum(i = -4..4, j = -4..4) (abs(X@[i,j] - Y@[i,j]) * "
       "(1 + (i * i + j) % 3)); } parameter M, N; vector#2 uint8 a[M,N]; vector#2 uint8 b[M,N]; return o = "
       "f(a:clamped, "
       "b:clamped), p = f(a:wrap, b:wrap), q = g(a:mirror, b:mirror);",
       0, false, Data::wild},
      {"a sum of products of bytes of a volume",
       "stencil f(vector#3 uint8 X, vector#3 uint8 Y) { return sum(h = -1..1, i = -2..2, j = -2..2) (X@[h,i,j] * "
       "Y@[h,i,j]); } parameter K, M, N; vector#3 uint8 a[K,M,N]; vector#3 uint8 b[K,M,N]; return o = f(a:clamped, "
       "b:clamped), g = f(a:wrap, b:constant(7));",
       0, false, Data::wild},
  };
}

}  // namespace

const std::vector<ZooProgram>& zoo_of_products() {
  static const std::vector<ZooProgram> programs = [] {
    const char* dense =
        "table float k[i = 0..8, j = 0..10] = (i * 5 + j * 3) % 11 * 0.02f - 0.04f; stencil f(vector#2 float X, "
        "vector#2 "
        "float Y) { return sum(i = 0..8, j = 0..10) (k[i,j] * X@[i-4,j-5] * Y@[i-4,j-5]) / (1 + abs(sum(i = 0..8, j = "
        "0..10) (k[i,j] * Y@[i-4,j-5] * Y@[i-4,j-5]))); } parameter M, N; vector#2 float a[M,N]; vector#2 float "
        "b[M,N]; "
        "return o = f(a:mirror, b:mirror), g = f(a:constant(0.5f), b:constant(2)), h = f(a, b);";
    const char* counted =
        "table int k[i = 0..8, j = 0..10] = (i * 5 + j * 3) % 11 - 4; stencil f(vector#2 uint8 X, vector#2 uint8 Y) { "
        "return sum(i = 0..8, j = 0..10) (k[i,j] * X@[i-4,j-5] * Y@[i-4,j-5]); } parameter M, N; vector#2 uint8 "
        "a[M,N]; "
        "vector#2 uint8 b[M,N]; return o = f(a:clamped, b:clamped);";
    std::vector<ZooProgram> list = floats();
    for (const ZooProgram& program : integers()) list.push_back(program);
    list.push_back({"dense sums of products through transforms", dense});
    list.back().method = Method::transform;
    list.push_back({"dense sums of products through one transform", dense});
    list.back().method = Method::whole;
    list.push_back({"sums of products of bytes through transforms", counted, 0, false, Data::wild});
    list.back().method = Method::transform;
    list.push_back({"sums of products one dimension at a time", floats()[1].text});
    list.back().method = Method::separable;
    list.push_back({"sums of products term by term", floats()[1].text});
    list.back().method = Method::direct;
    return list;
  }();
  return programs;
}

}  // namespace tessera::differential
