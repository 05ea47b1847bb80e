// Programs that choose among floats, some of which are NaN or infinite: all schedules give the oracle's values, in
// `fast` numbers too. And reads at absolute indices with every border.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_nans() {
  static const std::vector<ZooProgram> programs = {
      {"least and greatest of two, with NaNs",
       "stencil f(vector#2 float X, vector#2 float Y) { return max(min(X, Y), min(Y@[0,1], X@[1,0])); } parameter M, "
       "N; "
       "vector#2 float a[M,N]; vector#2 float b[M,N]; return f(a:mirror, b:wrap);",
       0, false, Data::odd},
      {"NaNs beside constants",
       "struct four { float a; float b; float c; float d; } stencil f(vector#2 float X) { return struct four(max(X, "
       "0), "
       "max(0, X), clamp(X, -2, 3), min(1.5f, max(X@[0,1], -0.0f))); } parameter M, N; vector#2 float a[M,N]; "
       "r = f(a:clamped); return p = r.a, q = r.b, s = r.c, t = r.d;",
       0, false, Data::odd},
      {"dilated and eroded floats with NaNs",
       "stencil f(vector#2 float X) { return max(i = -1..1, j = -1..1) ( X@[i,j] ); } stencil g(vector#2 float X) { "
       "return min(i = -2..2, j = -3..3) ( X@[i,j] ); } parameter M, N; vector#2 float a[M,N]; return p = "
       "f(a:symmetric), q = g(f(a:wrap):constant(3));",
       0, false, Data::odd},
      {"extremes of long windows with NaNs",
       "stencil f(vector#2 float X) { return max(j = -15..15) ( X@[0,j] ); } stencil g(vector#2 double X) { return "
       "min(i "
       "= -6..6, j = -6..6) ( X@[i,j] ); } parameter M, N; vector#2 float a[M,N]; vector#2 double b[M,N]; return p = "
       "f(a:clamped), q = g(b:mirror);",
       0, false, Data::odd},
      {"extremes that stay loops, with NaNs",
       "stencil f(vector#2 float X) { return max(i = -6..6, j = -6..6) ( abs(X@[i,j]) > 3 ? X : X@[i,j] ); } parameter "
       "M, N; vector#2 float a[M,N]; return f(a:clamped);",
       0, false, Data::odd},
      {"medians with NaNs",
       "stencil f(vector#2 float X) { return median(i = -1..1, j = -1..1) ( X@[i,j] ); } stencil g(vector#2 float X) { "
       "return median(i = -2..2, j = -2..2) ( X@[i,j] ); } stencil h(vector#2 double X) { return median(j = -1..2) ( "
       "X@[0,j] ); } parameter M, N; vector#2 float a[M,N]; vector#2 double b[M,N]; return p = f(a:clamped), q = "
       "g(a:constant(0)), r = h(b:wrap);",
       0, false, Data::odd},
      {"a median that is searched, with NaNs",
       "stencil f(vector#2 float X) { return median(i = -7..8, j = -7..7) ( X@[i,j] ); } parameter M, N; vector#2 "
       "float "
       "a[M,N]; return f(a:mirror);",
       0, false, Data::odd},
      {"halves with NaNs",
       "stencil f(vector#2 half X) { return cast<half>(max(j = -1..1) ( X@[0,j] )); } stencil g(vector#2 half X) { "
       "return "
       "cast<half>(median(j = -1..1) ( X@[0,j] )); } parameter M, N; vector#2 half a[M,N]; return p = f(a:clamped), q "
       "= "
       "g(a:mirror);",
       0, false, Data::odd},
      {"NaNs that arithmetic makes",
       "struct three { float a; float b; double c; } stencil f(vector#2 float X, vector#2 double Y) { return struct "
       "three(sqrt(X) - X@[0,1], X / (X - X), -(Y@[1,0] - Y) * 0.0); } parameter M, N; vector#2 float a[M,N]; vector#2 "
       "double b[M,N]; r = f(a:clamped, b:wrap); u@[(0,2),(0,1)] = r.a; return p = r.a, q = r.b, s = r.c, u = u, v = "
       "a[0..0,..];",
       0, true, Data::wild},
      {"absolute reads with every border",
       "stencil f(vector#2 float X, vector#2 float Y) { return X[coord(0) - 3, 2 * coord(1)] + Y; } stencil g(vector#2 "
       "uint8 X, vector#2 float Y) { return X[cast<int>(3 * Y), coord(1) + 2]; } parameter M, N; vector#2 float "
       "a[M,N]; "
       "vector#2 uint8 b[N,M]; return p = f(a:mirror, a), q = f(a:wrap, a), r = f(a:symmetric, a), s = "
       "f(a:[constant(5),constant(-1)], a), t = f(a:clamped, a), u = f(a, a), v = g(b:[wrap,constant(9)], a), w = "
       "g(b:mirror, a);",
       0, false, Data::plain},
      {"an absolute read of a stage with a border",
       "struct two { int16 a; float b; } stencil f(vector#2 float X) { return struct two(saturate<int16>(X@[0,1]), X); "
       "} "
       "stencil g(vector#2 two F, vector#2 float X) { return F[coord(0) + 1, coord(1) - 4].a + F.b + F[-1,-2].b; } "
       "parameter M, N; vector#2 float a[M,N]; return g(f(a:wrap):[symmetric,mirror], a);",
       0, false, Data::plain},
  };
  return programs;
}

}  // namespace tessera::differential
