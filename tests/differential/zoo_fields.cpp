// Images whose fields are computed alike, which run as rows of numbers (plan/fields.cpp): every border, types of every
// size, two to four fields, chains, windows that stay loops, rings and arrays between; and those that look like them.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_fields() {
  static const std::vector<ZooProgram> programs = {
      {"fields of bytes, smoothed alike",
       "struct rgb { uint8 r; uint8 g; uint8 b; } table float k[i = -3..3] = 1.0f / (2 + i * i); stencil y(vector#2 "
       "uint8 X) { return sum(i = -3..3) (k[i+3] * X@[i,0]); } stencil x(vector#2 float X) { return sum(i = -3..3) "
       "(k[i+3] * X@[0,i]); } stencil t(vector#2 float X) { return saturate<uint8>(0.2f * X); } vector f(vector#2 "
       "uint8 X) { return t(x(y(X:mirror):mirror)); } parameter M, N; vector#2 rgb a[M,N]; return struct "
       "rgb(f(a.r), f(a.g), f(a.b));",
       1, false, Data::wild},
      {"fields of bytes in pairs of columns",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 uint8 X) { return cast<uint8>((X@[-1,-2] + "
       "X@[0,1] * 2 + X@[1,0] + 3) >> 2); } vector p(vector#2 uint8 X) { return f(f(X:symmetric):clamped); } "
       "parameter M, N; vector#2 rgb a[M,N]; return struct rgb(p(a.r), p(a.g), p(a.b));",
       0, false, Data::wild},
      {"fields of bytes by products of four",
       "struct rgba { uint8 r; uint8 g; uint8 b; uint8 a; } struct sums { int r; int g; int b; int a; } table int "
       "k[i = 0..4, j = 0..6] = (i * 37 + j * 53) % 211 - 90; stencil f(vector#2 uint8 X) { return sum(i = 0..4, j "
       "= 0..6) (k[i,j] * X@[i-2,j-3]); } parameter M, N; vector#2 rgba a[M,N]; return struct sums(f(a.r:mirror), "
       "f(a.g:mirror), f(a.b:mirror), f(a.a:mirror));",
       0, false, Data::wild},
      {"two fields of doubles around the edge",
       "struct two { double p; double q; } stencil f(vector#2 double X) { return 0.5 * X@[-1,2] - 0.25 * X@[1,-3] + "
       "X; } vector g(vector#2 double X) { return f(f(X:wrap):wrap); } parameter M, N; vector#2 two a[M,N]; return "
       "struct two(g(a.p), g(a.q));"},
      {"fields beyond whose ends constants stand",
       "struct rgb { float r; float g; float b; } stencil f(vector#2 float X) { return X@[0,-4] + X@[-1,3] - 2 * X; "
       "} vector g(vector#2 float X) { return f(f(X:constant(0.25)):constant(-3)); } parameter M, N; vector#2 rgb "
       "a[M,N]; return struct rgb(g(a.r), g(a.g), g(a.b));"},
      {"fields with margins",
       "struct rgb { int16 r; int16 g; int16 b; } stencil f(vector#2 int16 X) { return cast<int16>(X@[0,-2] - "
       "X@[1,1]); } parameter M, N; vector#2 rgb a[M,N]; vector g(vector#2 int16 X) { return f(f(X):mirror); } "
       "return struct rgb(g(a.r), g(a.g), g(a.b));",
       0, false, Data::wild},
      {"the middle and the greatest of fields",
       "struct rgba { uint16 r; uint16 g; uint16 b; uint16 a; } stencil m(vector#2 uint16 X) { return median(i = "
       "-1..1, j = -1..1) (X@[i,j]); } stencil w(vector#2 uint16 X) { return max(i = -4..4, j = -6..6) (X@[i,j]); } "
       "vector f(vector#2 uint16 X) { return w(m(X:mirror):clamped); } parameter M, N; vector#2 rgba a[M,N]; return "
       "struct rgba(f(a.r), f(a.g), f(a.b), f(a.a));",
       0, false, Data::wild},
      {"windows of fields that stay loops",
       "struct two { float p; float q; } stencil f(vector#2 float X) { return sum(i = -7..7, j = -7..7) "
       "(abs(X@[i,j] - X) * 0.01f); } parameter M, N; vector#2 two a[M,N]; return struct two(f(a.p:symmetric), "
       "f(a.q:symmetric));"},
      {"boxes of fields",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 uint8 X) { return cast<uint8>(sum(i = -5..5, j "
       "= -5..5) (X@[i,j]) / 121); } parameter M, N; vector#2 rgb a[M,N]; return struct rgb(f(a.r:mirror), "
       "f(a.g:mirror), f(a.b:mirror));",
       0, false, Data::wild},
      {"fields of volumes",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil s(vector#3 uint8 X) { return cast<uint8>((X@[-1,0,0] + "
       "X@[0,1,-1] + X@[1,-1,2]) / 3); } parameter K, M, N; vector#3 rgb v[K,M,N]; return struct "
       "rgb(s(v.r:[wrap,mirror,clamped]), s(v.g:[wrap,mirror,clamped]), s(v.b:[wrap,mirror,clamped]));",
       0, false, Data::wild},
      {"fields of a signal",
       "struct two { float p; float q; } stencil s(vector#1 float X) { return X@[-2] + 0.5f * X@[3]; } parameter N; "
       "vector#1 two a[N]; return struct two(s(a.p:mirror), s(a.q:mirror));"},
      {"fields of several images, booleans between",
       "struct rgb { float r; float g; float b; } struct on { bool r; bool g; bool b; } stencil e(vector#2 float X, "
       "vector#2 float Y) { return cast<bool>(X@[0,1] > Y@[0,-1]); } stencil n(vector#2 bool X) { return "
       "cast<bool>(X@[0,-1] && !X@[1,0]); } parameter M, N; vector#2 rgb a[M,N]; vector#2 rgb b[M,N]; vector "
       "g(vector#2 float X, vector#2 float Y) { return n(e(X, Y):constant(1)); } return struct on(g(a.r:mirror, "
       "b.r:clamped), g(a.g:mirror, b.g:clamped), g(a.b:mirror, b.b:clamped));",
       2e-4, true, Data::wild},
      {"fields that change places, or have a part in each other",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 uint8 X) { return cast<uint8>(X@[0,-1] / 2 + "
       "X@[0,1] / 2); } stencil g(vector#2 uint8 X, vector#2 uint8 Y) { return cast<uint8>(X@[0,2] - Y); } "
       "parameter M, N; vector#2 rgb a[M,N]; return p = struct rgb(f(a.b:mirror), f(a.g:mirror), f(a.r:mirror)), q "
       "= struct rgb(g(a.r:mirror, a.g:mirror), g(a.g:mirror, a.g:mirror), g(a.b:mirror, a.g:mirror));",
       0, false, Data::wild},
      {"fields in another type each, and by where they are",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 uint8 X) { return cast<uint8>(X@[0,-1] + "
       "coord(1)); } stencil g(vector#2 uint8 X) { return cast<uint8>(X@[0,1] + extent(1) + coord(0)); } parameter "
       "M, N; vector#2 rgb a[M,N]; return p = struct rgb(f(a.r:mirror), f(a.g:mirror), f(a.b:mirror)), q = struct "
       "rgb(g(a.r:mirror), g(a.g:mirror), g(a.b:mirror));",
       0, false, Data::wild},
      {"fields of every size that mix",
       "struct two { double p; double q; } struct rgb { uint8 r; uint8 g; uint8 b; } struct four { uint16 a; uint16 b; "
       "uint16 c; uint16 d; } struct three { float x; float y; float z; } stencil f(vector#2 two X) { return struct "
       "two(X@[0,-1].q, X@[0,1].p - X.q); } stencil g(vector#2 rgb X) { return struct rgb(X@[1,0].b, X@[0,-2].g, X.g / "
       "2); } stencil h(vector#2 four X) { return struct four(X.d, X@[0,1].a, X@[-1,-1].b, X.c / 3); } stencil "
       "k(vector#2 three X) { return struct three(X.y + X.z, X@[0,1].x, X@[1,0].z); } parameter M, N; vector#2 two "
       "a[M,N]; vector#2 rgb b[M,N]; vector#2 four c[M,N]; vector#2 three d[M,N]; return a = f(a:wrap), b = g(b), c = "
       "h(c:mirror), d = k(d:clamped);",
       2e-4, false, Data::wild},
      {"grey of three and of four fields, and what is around it",
       "struct rgb { uint8 r; uint8 g; uint8 b; } struct rgba { uint8 r; uint8 g; uint8 b; uint8 a; } stencil "
       "f(vector#2 "
       "rgb X) { return cast<uint8>((9798 * X.r + 19235 * X.g + 3735 * X.b + 16384) / 32768); } stencil g(vector#2 "
       "rgba "
       "X) { return 0.25f * X@[0,-3].r + 0.5f * X@[1,2].g - X.b + X@[0,1].a; } parameter M, N; vector#2 rgb a[M,N]; "
       "vector#2 rgba b[M,N]; vector#2 rgb c[M,N]; stencil h(vector#2 rgb X) { return 7 * X@[0,-5].r - 3 * X@[-1,4].b; "
       "} "
       "return p = f(a), q = g(b:mirror), r = h(c:constant(9));",
       2e-4, false, Data::wild},
      {"fields of every other column, and pieces of fields",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 uint8 X) { return cast<uint8>((X@[(0,2),(0,2)] "
       "+ X@[(1,2),(1,2)]) / 2); } parameter M, N; vector#2 rgb a[M,N]; return struct rgb(f(a.r), f(a.g), f(a.b));",
       0, false, Data::wild},
  };
  return programs;
}

}  // namespace tessera::differential
