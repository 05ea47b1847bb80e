// Every construct of the language, and the shapes of real filters.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_language() {
  static const std::vector<ZooProgram> list = {
      // ---- point expressions, types
      {"copy", "stencil f(vector#2 float X) { return X; } parameter M, N; vector#2 float a[M,N]; return f(a);"},
      {"scale and shift",
       "stencil f(vector#2 float X, float k, int t) { return X * k + t; } parameter M, N; vector#2 float a[M,N]; "
       "return f(a, 0.5f, 3);"},
      {"scalar inputs",
       "stencil f(vector#2 float X, float k, int t) { return X * k - t; } parameter M, N; vector#2 float a[M,N]; float "
       "k; int t; return f(a, k, t);"},
      {"rank one",
       "stencil f(vector#1 float X) { return 0.25f*X@[-1] + 0.5f*X + 0.25f*X@[1]; } parameter N; vector#1 float a[N]; "
       "return f(f(a:clamped):mirror);"},
      {"bytes wrap",
       "stencil f(vector#2 uint8 X) { return cast<uint8>(X@[0,1] + X@[1,0] * 3 + 200); } parameter M, N; vector#2 "
       "uint8 a[M,N]; return f(a:wrap);",
       0, false, Data::wild},
      {"bytes saturate",
       "stencil f(vector#2 uint8 X) { return saturate<uint8>(2.5f * X - X@[0,-1]); } parameter M, N; vector#2 uint8 "
       "a[M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"all storage types",
       "stencil f(vector#2 uint8 A, vector#2 int16 B, vector#2 uint16 C, vector#2 int32 D, vector#2 uint32 E) {"
       " return cast<int16>(A * 3 + B - C) + D / 7 + cast<int>(E % 11); }"
       " parameter M, N; vector#2 uint8 a[M,N]; vector#2 int16 b[M,N]; vector#2 uint16 c[M,N]; vector#2 int32 d[M,N]; "
       "vector#2 uint32 e[M,N];"
       " return f(a, b:clamped, c, d, e);",
       0, false, Data::wild},
      {"integer operators",
       "stencil f(vector#2 int X, vector#2 int Y) { return (X / Y) * 3 + X % Y + (X << 3) - (Y >> 2) + (X & 255) + (Y "
       "| 1) + (~X) + xor(X, Y) + !X + (X && Y) + (X || Y); }"
       " parameter M, N; vector#2 int a[M,N]; vector#2 int b[M,N]; return f(a, b);",
       0, false, Data::wild},
      {"comparisons",
       "stencil f(vector#2 float X) { return (X < X@[0,1]) + (X >= X@[1,0]) * 2 + (X == X@[0,-1]) * 4 + (X != "
       "X@[-1,0]) * 8; } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);",
       0, false, Data::plain},
      {"select",
       "stencil f(vector#2 float X) { return X > 0.5f ? X@[0,1] : (X < -0.5f ? -X : 2*X); } parameter M, N; vector#2 "
       "float a[M,N]; return f(a:clamped);"},
      {"functions of floats",
       "stencil f(vector#2 float X) { return sqrt(abs(X)) + exp(X) + log(abs(X) + 1) + sin(X) + cos(X) + tan(X) + "
       "atan(X) + atan2(X, X@[0,1]) + floor(X) + ceil(X) + pow(abs(X), 1.5f) + min(X, 0) + max(X, X@[1,0]); }"
       " parameter M, N; vector#2 float a[M,N]; return f(a:clamped);",
       2e-3},
      {"doubles",
       "stencil f(vector#2 double X) { return X@[0,-1] * 0.1 + X / 3.0 + sqrt(abs(X@[1,0])); } parameter M, N; "
       "vector#2 double a[M,N]; return f(a:mirror);",
       1e-9},
      {"halves",
       "stencil f(vector#2 half X) { return cast<half>(0.25f*X@[-1,0] + 0.5f*X + 0.25f*X@[1,0]); } parameter M, N; "
       "vector#2 half a[M,N]; return f(a:clamped);",
       4e-3},
      {"scalar function",
       "function float luma(float r, float g, float b) { return 0.299f*r + 0.587f*g + 0.114f*b; } struct rgb { float "
       "r; "
       "float g; float b; }"
       " stencil f(vector#2 rgb X) { return luma(X.r, X.g, X.b); } parameter M, N; vector#2 rgb a[M,N]; return f(a);"},
      // ---- narrow integers, which GPUs compute two a register
      {"sums of bytes up to the last of 16 bits",
       "stencil f(vector#2 uint8 X) { return cast<uint16>(X@[0,-1] * 128 + X@[-1,1] * 129); } parameter M, N; vector#2 "
       "uint8 a[M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"sums of bytes beyond 16 bits",
       "stencil f(vector#2 uint8 X) { return cast<uint16>(X@[0,-1] * 128 + X@[-1,1] * 130); } parameter M, N; vector#2 "
       "uint8 a[M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"differences of bytes up to the ends of 16 bits",
       "stencil f(vector#2 uint8 X) { return cast<int16>((X@[0,1] - X@[1,-1]) * 128 + (X >> 1)); } stencil g(vector#2 "
       "int16 X) { return cast<int16>(X@[0,-1] / 2 - (X@[0,1] >> 1)); } parameter M, N; vector#2 uint8 a[M,N]; return "
       "g(f(a:clamped):clamped);",
       0, false, Data::wild},
      {"shifts of negative and other bytes",
       "stencil f(vector#2 uint8 X) { return cast<int16>(((X@[0,1] - X@[0,-1]) >> 3) + ((X@[1,0] + 3 * X) >> 2) + "
       "((X@[-1,0] << 7) >> 9)); } parameter M, N; vector#2 uint8 a[M,N]; return f(a:clamped);",
       0, false, Data::wild},
      {"Gaussians of bytes",
       "stencil rows(vector#2 uint8 X) { return cast<uint16>(X@[-2,0] + 4 * X@[-1,0] + 6 * X + 4 * X@[1,0] + X@[2,0]); "
       "} stencil columns(vector#2 uint16 X) { return cast<uint8>((X@[0,-2] + 4 * X@[0,-1] + 6 * X + 4 * X@[0,1] + "
       "X@[0,2] + 128) / 256); } stencil small(vector#2 uint8 X) { return cast<uint8>((X@[0,-1] + 2 * X + X@[0,1] + 2) "
       ">> 2); } parameter M, N; vector#2 uint8 a[M,N]; return small(columns(rows(a:clamped):clamped):mirror);",
       0, false, Data::wild},
      {"bytes cast back and saturated",
       "stencil f(vector#2 uint8 X) { return cast<uint8>(X@[0,1] - 3 * X@[0,-1]); } stencil g(vector#2 uint8 X) { "
       "return "
       "saturate<uint8>(2 * X@[0,1] - X@[1,0] + 7); } parameter M, N; vector#2 uint8 a[M,N]; return "
       "g(f(a:clamped):mirror);",
       0, false, Data::wild},
      {"magnitudes of slopes of bytes",
       "stencil f(vector#2 uint8 X) { return saturate<uint8>(abs(X@[1,-1] + 2 * X@[1,0] + X@[1,1] - X@[-1,-1] - 2 * "
       "X@[-1,0] - X@[-1,1]) + abs(X@[-1,1] + 2 * X@[0,1] + X@[1,1] - X@[-1,-1] - 2 * X@[0,-1] - X@[1,-1])); } "
       "parameter M, N; vector#2 uint8 a[M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"medians and a range of bytes",
       "stencil middle(vector#2 uint8 X) { return median(j = -1..1, i = -1..1) ( X@[j,i] ); } stencil range(vector#2 "
       "uint8 X) { return cast<uint8>(max(j = -1..1, i = -2..2) ( X@[j,i] ) - min(j = -1..1, i = -2..2) ( X@[j,i] )); "
       "} "
       "parameter M, N; vector#2 uint8 a[M,N]; return range(middle(a:clamped):clamped);",
       0, false, Data::wild},
      {"the least and most of signed integers",
       "stencil f(vector#2 int16 X) { return min(X@[0,-1], max(X, X@[1,1])); } stencil g(vector#2 int16 X) { return "
       "cast<int16>((max(X@[0,1], -3) >> 1) - (min(X, 5) >> 2) + (min(X@[1,-1], max(X, X@[0,1])) >> 2)); } "
       "parameter M, N; vector#2 int16 a[M,N]; return g(f(a:clamped):mirror);",
       0, false, Data::wild},
      {"magnitudes of the least signed integer",
       "stencil f(vector#2 int16 X) { return abs(X@[0,1]); } stencil g(vector#2 uint8 X) { return "
       "cast<int16>(abs(X@[0,1] - X * 128)); } parameter M, N; vector#2 int16 a[M,N]; vector#2 uint8 b[M,N]; return "
       "p = f(a:clamped), q = g(b:clamped);",
       0, false, Data::wild},
      {"a wide sum of bytes",
       "stencil f(vector#2 uint8 X) { return cast<uint16>(sum(i = -11..13) ( X@[0,i] * 2 )); } stencil g(vector#2 "
       "uint16 "
       "X) { return cast<uint8>(sum(j = -1..2) ( X@[j,0] ) / 200); } parameter M, N; vector#2 uint8 a[M,N]; return "
       "g(f(a:clamped):clamped);",
       0, false, Data::wild},
      {"means of bytes and where they are",
       "stencil mean(vector#2 uint8 X) { return cast<uint8>((sum(j = -1..1, i = -1..1) ( X@[j,i] ) + 4) / 9); } "
       "stencil "
       "marked(vector#2 uint8 X) { return X@[0,-1] < X@[0,1] ? X + coord(1) * 3 : X@[1,0] - coord(0); } parameter M, "
       "N; "
       "vector#2 uint8 a[M,N]; b = mean(a:clamped); return p = marked(b:mirror), q = b;",
       0, false, Data::wild},
      {"bytes as floats and back",
       "stencil f(vector#2 uint8 X) { return 0.25f * (X@[0,-1] + 2 * X + X@[0,1]); } stencil g(vector#2 uint8 X) { "
       "return "
       "saturate<uint8>(1.5f * (X@[0,1] + X@[1,0]) - 20); } parameter M, N; vector#2 uint8 a[M,N]; b = g(a:mirror); "
       "return p = f(b:clamped), q = b;",
       0, false, Data::wild},
      {"a pyramid of bytes",
       "stencil half(vector#2 uint8 X) { return cast<uint8>((X@[(0,2),(-1,2)] + 2 * X@[(0,2),(0,2)] + X@[(1,2),(1,2)] "
       "+ "
       "2) / 4); } stencil odd(vector#2 uint8 X) { return cast<uint8>((X + X@[0,1] + 1) >> 1); } stencil "
       "minus(vector#2 "
       "uint8 X, vector#2 uint8 Y) { return cast<int16>(X - Y); } parameter M, N; vector#2 uint8 a[M,N]; h = "
       "half(a:mirror); w = ( @[(0,1),(0,2)] = h; @[(0,1),(1,2)] = odd(h:clamped); ); return p = half(w:clamped), q = "
       "h;",
       0, false, Data::wild},
      {"fields of bytes",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 rgb X) { return cast<uint8>((X@[0,-1].r + X.g + "
       "X@[0,1].b + X.r) >> 2); } parameter M, N; vector#2 rgb a[M,N]; return f(a:clamped);",
       0, false, Data::wild},
      {"a chain of bytes",
       "stencil f(vector#2 uint8 X) { return cast<uint8>((X@[-1,-1] + X@[-1,1] + 4 * X + X@[1,-1] + X@[1,1]) >> 3); } "
       "parameter M, N; vector#2 uint8 a[M,N]; return f(f(f(f(f(f(a:mirror):mirror):mirror):mirror):mirror):mirror);",
       0, false, Data::wild},
      {"a chain of signed integers",
       "stencil d(vector#2 uint8 X) { return cast<int16>(X@[0,1] - X@[-1,-1]); } stencil f(vector#2 int16 X) { return "
       "cast<int16>((X@[-1,-1] + X@[-1,1] - 4 * X + X@[1,-1] - X@[1,1]) >> 3); } parameter M, N; vector#2 uint8 "
       "a[M,N]; "
       "return f(f(f(f(f(d(a:mirror):mirror):mirror):mirror):mirror):mirror);",
       0, false, Data::wild},
      // ---- structs
      {"struct in and out",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 rgb X) { return struct rgb(X.b, cast<uint8>(255 - "
       "X.g), X@[0,1].r); } parameter M, N; vector#2 rgb a[M,N]; return f(a:clamped);",
       0, false, Data::wild},
      {"struct with padding",
       "struct mixed { uint8 k; float v; int16 t; } stencil f(vector#2 mixed X) { return struct "
       "mixed(cast<uint8>(X.t), X@[1,1].v * 2, cast<int16>(X.k)); } parameter M, N; vector#2 mixed a[M,N]; return "
       "f(a:wrap);"},
      {"planes to struct",
       "struct two { float p; float q; } stencil f(vector#2 float X) { return X@[0,1] - X; } parameter M, N; vector#2 "
       "float a[M,N]; vector#2 float b[M,N]; return struct two(f(a:mirror), b);"},
      {"fields of images",
       "struct two { float p; float q; } stencil f(vector#2 float X) { return X@[1,0] + X@[-1,0]; } parameter M, N; "
       "vector#2 two a[M,N]; return f(a.q:symmetric);"},
      // ---- borders
      {"interior only",
       "stencil f(vector#2 float X) { return X@[-1,-2] + X + X@[3,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(a);"},
      {"interior twice",
       "stencil f(vector#2 float X) { return X@[-1,0] + X@[1,2]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a));"},
      {"clamped",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:clamped):clamped);"},
      {"mirror",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:mirror):mirror);"},
      {"symmetric",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:symmetric):symmetric);"},
      {"wrap",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(f(a:wrap):wrap):wrap);"},
      {"constant",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:constant(1.5)):constant(-2));"},
      {"a mode per dimension",
       "stencil f(vector#2 float X) { return X@[-2,-3] + X + X@[4,1]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:[mirror,wrap]):[constant(3),symmetric]);"},
      {"two modes on one image",
       "stencil f(vector#2 float X, vector#2 float Y) { return X@[0,-2] * 2 + Y@[1,2]; } stencil g(vector#2 float X) { "
       "return X@[1,1] - X; } parameter M, N; vector#2 float a[M,N]; b = g(a:clamped); return f(b:wrap, b:mirror);"},
      {"one argument without a mode",
       "stencil f(vector#2 float X, vector#2 float Y) { return X@[0,-2] + Y@[3,2] + Y@[0,4]; } parameter M, N; "
       "vector#2 float a[M,N]; return f(a, a:clamped);"},
      {"five stages deep",
       "stencil f(vector#2 float X) { return 0.5f*X@[-2,0] + 0.25f*X@[0,2] + 0.25f*X@[1,-1]; } parameter M, N; "
       "vector#2 "
       "float a[M,N]; return f(f(f(f(f(a:mirror):clamped):mirror):constant(0)):symmetric);"},
      // ---- filters
      {"separable blur",
       "stencil bx(vector#2 float X) { return (X@[-1,0] + X + X@[1,0]) / 3; } stencil by(vector#2 float X) { return "
       "(X@[0,-1] + X + X@[0,1]) / 3; } parameter M, N; vector#2 float a[M,N]; return by(bx(a:clamped):clamped);"},
      {"unsharp mask",
       "stencil b(vector#2 float X) { return (X@[-1,0] + X@[1,0] + X@[0,-1] + X@[0,1] + 4*X) / 8; } stencil u(vector#2 "
       "float X, vector#2 float B) { return X + 1.5f * (X - B); } parameter M, N; vector#2 float a[M,N]; return u(a, "
       "b(a:mirror));"},
      {"sobel magnitude",
       "stencil gx(vector#2 float X) { return X@[-1,1] + 2*X@[0,1] + X@[1,1] - X@[-1,-1] - 2*X@[0,-1] - X@[1,-1]; } "
       "stencil gy(vector#2 float X) { return X@[1,-1] + 2*X@[1,0] + X@[1,1] - X@[-1,-1] - 2*X@[-1,0] - X@[-1,1]; }"
       " stencil m(vector#2 float X, vector#2 float Y) { return sqrt(X*X + Y*Y); } parameter M, N; vector#2 float "
       "a[M,N]; return m(gx(a:clamped), gy(a:clamped));"},
      {"harris corners",
       "stencil gx(vector#2 float X) { return X@[0,1] - X@[0,-1]; } stencil gy(vector#2 float X) { return X@[1,0] - "
       "X@[-1,0]; } stencil mul(vector#2 float X, vector#2 float Y) { return X*Y; }"
       " stencil box(vector#2 float X) { return sum(i=-1..1, j=-1..1) (X@[i,j]); } stencil r(vector#2 float A, "
       "vector#2 float B, vector#2 float C) { return A*B - C*C - 0.04f*(A+B)*(A+B); }"
       " parameter M, N; vector#2 float a[M,N]; x = gx(a:mirror); y = gy(a:mirror); return r(box(mul(x,x):mirror), "
       "box(mul(y,y):mirror), box(mul(x,y):mirror));",
       5e-3},
      {"non-maximum suppression",
       "stencil g(vector#2 float X) { return X@[0,1] - X@[0,-1]; } stencil nms(vector#2 float X) { return X > X@[0,1] "
       "&& X >= X@[0,-1] ? X : 0; } stencil t(vector#2 float X) { return cast<uint8>(X > 0.25f ? 255 : 0); }"
       " parameter M, N; vector#2 float a[M,N]; return t(nms(g(a:mirror):constant(0)));",
       0, true},
      {"diffusion steps",
       "stencil s(vector#2 float U) { return U + 0.2f*(U@[-1,0] + U@[1,0] + U@[0,-1] + U@[0,1] - 4*U); } parameter M, "
       "N; vector#2 float a[M,N]; u<0> = s(a:wrap); for i = 1..4 u<i> = s(u<i-1>:wrap); endfor return u<4>;"},
      {"game of life",
       "stencil s(vector#2 uint8 U) { n = U@[-1,-1]+U@[-1,0]+U@[-1,1]+U@[0,-1]+U@[0,1]+U@[1,-1]+U@[1,0]+U@[1,1]; "
       "return cast<uint8>((n == 3) || (U && n == 2)); } stencil b(vector#2 uint8 U) { return cast<uint8>(U & 1); } "
       "parameter M, N; vector#2 uint8 a[M,N]; return s(s(s(b(a):wrap):wrap):wrap);",
       0, false, Data::wild},
      // ---- windows
      {"large gaussian",
       "table float g[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1}; stencil f(vector#2 float X) { return sum(i=-4..4, "
       "j=-4..4) (g[i+4]*g[j+4]*X@[i,j]) / 65536; } parameter M, N; vector#2 float a[M,N]; return f(a:mirror);"},
      {"gaussian of bytes",
       "table int g[5] = {1, 4, 6, 4, 1}; stencil f(vector#2 uint8 X) { return cast<uint8>((sum(i=-2..2, j=-2..2) "
       "(g[i+2]*g[j+2]*X@[i,j]) + 128) / 256); } parameter M, N; vector#2 uint8 a[M,N]; return f(f(a:mirror):wrap);",
       0, false, Data::wild},
      {"gaussian with values outside",
       "table int g[5] = {1, 4, -6, 4, 2}; stencil f(vector#2 int16 X) { return cast<int16>(sum(i=-2..2, j=-2..2) "
       "(g[i+2]*g[j+2]*X@[i,j+1]) >> 4); } parameter M, N; vector#2 int16 a[M,N]; return "
       "f(f(a:[constant(9),mirror]):constant(-7));",
       0, false, Data::wild},
      {"sums that wrap",
       "table int g[5] = {1, 400000, -6, 4, 2}; stencil f(vector#2 int X) { return sum(i=-2..2, j=-2..2) "
       "(g[i+2]*g[j+2]*X@[i,j+1]); } parameter M, N; vector#2 int a[M,N]; return f(f(a:clamped):wrap);",
       0, false, Data::wild},
      {"unsharp mask as one window",
       "parameter int r = 4; table float g[k = -r..r] = exp(-k*k/8.0)/5; stencil f(vector#2 float X) { return "
       "sum(i=-r..r, j=-r..r) (((i == 0 && j == 0 ? 1.7f : 0.0f) - 0.7f*g[i+r]*g[j+r])*X@[i,j]); } parameter M, N; "
       "vector#2 float a[M,N]; return f(f(a:constant(0.5)):clamped);"},
      {"window of the inside alone",
       "table float g[5] = {1, 4, 6, 4, 1}; stencil f(vector#2 float X) { return sum(i=-1..3, j=-2..2) "
       "(g[i+1]*g[j+2]*X@[i,j]) / 256; } parameter M, N; vector#2 float a[M,N]; return f(f(a));"},
      {"volume of weights",
       "table float g[5] = {1, 4, 6, 4, 1}; stencil f(vector#3 float X) { return sum(k=-2..2, i=-2..2, j=-2..2) "
       "(g[k+2]*g[i+2]*g[j+2]*X@[k,i,j]) / 4096; } parameter K, M, N; vector#3 float a[K,M,N]; return "
       "f(f(a:mirror):constant(2));"},
      {"volume of weights in part",
       "table float g[5] = {1, 4, 6, 4, 1}; stencil f(vector#3 float X) { return sum(k=-2..2, i=-2..2, j=-2..2) "
       "((k + 3)*(g[i+2]+i*j)*X@[k,i,j]) / 1024; } parameter K, M, N; vector#3 float a[K,M,N]; return "
       "f(a:clamped);"},
      {"strided weights",
       "table float g[9] = {1, 8, 28, 56, 70, 56, 28, 8, 1}; stencil f(vector#2 float X) { return sum(i=-4..4, "
       "j=-4..4) (g[i+4]*g[j+4]*X@[(i,2),(j,2)]) / 65536; } parameter M, N; vector#2 float a[2*M,2*N]; return "
       "f(a:mirror);"},
      {"large window as a loop",
       "stencil f(vector#2 float X) { return sum(i=-6..6, j=-6..6) (X@[i,j] * (i*j+1)) / 169; } parameter M, N; "
       "vector#2 float a[M,N]; return f(a:clamped);",
       2e-3},
      {"opening of bytes",
       "stencil d(vector#2 uint8 X) { return cast<uint8>(max(i=-2..2, j=-3..3) (X@[i,j])); } stencil e(vector#2 uint8 "
       "X) { return cast<uint8>(min(i=-2..2, j=-3..3) (X@[i,j])); } parameter M, N; vector#2 uint8 a[M,N]; return "
       "d(e(a:clamped):mirror);",
       0, false, Data::wild},
      {"median",
       "stencil m(vector#2 uint8 X) { return cast<uint8>(median(i=-1..1, j=-1..1) (X@[i,j])); } parameter M, N; "
       "vector#2 uint8 a[M,N]; return m(a:mirror);",
       0, false, Data::wild},
      {"median of floats",
       "stencil m(vector#2 float X) { return median(i=-2..2, j=-2..2) (X@[i,j]); } parameter M, N; vector#2 float "
       "a[M,N]; return m(a:clamped);"},
      {"medians of odd shapes",
       "stencil m(vector#2 int16 X) { return cast<int16>(median(i=-1..2, j=0..4) (X@[i,-j]) + median(i=-3..3) "
       "(X@[i,0]) "
       "+ median(i=-1..1, j=-1..1) (X@[i,2*j] - X@[0,j])); } parameter M, N; vector#2 int16 a[M,N]; return "
       "m(m(a:mirror):wrap);",
       0, false, Data::wild},
      {"median of a volume",
       "stencil m(vector#3 float X) { return median(k=-1..1, i=-1..1, j=-1..1) (X@[k,i,j]); } parameter K, M, N; "
       "vector#3 float a[K,M,N]; return m(a:clamped);"},
      {"median of many bytes",
       "stencil m(vector#2 uint8 X) { return cast<uint8>(median(i=-6..6, j=-6..7) (X@[i,j])); } parameter M, N; "
       "vector#2 uint8 a[M,N]; return m(a:mirror);",
       0, false, Data::wild},
      {"median of many integers",
       "stencil m(vector#2 int X) { return median(i=-8..8, j=-8..7) (X@[i,j]); } parameter M, N; vector#2 int a[M,N]; "
       "return m(a:constant(3));",
       0, false, Data::wild},
      {"median of many doubles",
       "stencil m(vector#2 double X) { return median(i=-8..8, j=-8..7) (X@[i,j] - 1); } parameter M, N; vector#2 "
       "double a[M,N]; return m(a:mirror);"},
      {"median of thousands",
       "stencil m(vector#2 float X) { return median(i=-32..32, j=-32..31) (X@[i,j] * 1e-30f); } parameter M, N; "
       "vector#2 float a[M,N]; return m(a:clamped);"},
      {"median of large sums",
       "stencil m(vector#2 float X) { return median(i=-1..1, j=-1..0) (sum(k=-8..8, l=-8..8) ((k*l+1) * X@[i+k,j+l])); "
       "} parameter M, N; vector#2 float a[M,N]; return m(a:mirror);",
       5e-2},
      {"product and nested windows",
       "stencil f(vector#2 float X) { return sum(i=-1..1) (prod(j=-1..1) (X@[i,j] + 0.5f)); } parameter M, N; vector#2 "
       "float a[M,N]; return f(a:wrap);"},
      {"any and all",
       "stencil f(vector#2 uint8 X) { return any(i=-1..1, j=-1..1) (X@[i,j] > 250) + 2*all(i=0..2, j=-2..0) (X@[i,j] > "
       "9); } parameter M, N; vector#2 uint8 a[M,N]; return f(a:constant(7));",
       0, false, Data::wild},
      {"box of bytes",
       "stencil f(vector#2 uint8 X) { return cast<uint8>(sum(i=-3..3, j=-3..3) (X@[i,j]) / 49); } parameter M, N; "
       "vector#2 uint8 a[M,N]; return f(a:mirror);",
       0, false, Data::wild},
      {"dilated window",
       "stencil f(vector#2 float X) { return sum(i=-2..2) (X@[3*i,-2*i]); } parameter M, N; vector#2 float a[M,N]; "
       "return f(a:mirror);"},
      {"window without a mode",
       "stencil f(vector#2 float X) { return max(i=-2..1, j=0..3) (X@[i,j]); } parameter M, N; vector#2 float a[M,N]; "
       "return f(a);"},
      // ---- sampling, spreading, sub-domains, pasting, composing
      {"strided read",
       "stencil down(vector#2 float X) { return 0.25f*X@[(0,2),(-1,2)] + 0.5f*X@[(0,2),(0,2)] + 0.25f*X@[(0,2),(1,2)]; "
       "} "
       "parameter M, N; vector#2 float a[M,N]; return down(a:mirror);"},
      {"pyramid down and up",
       "stencil down(vector#2 float X) { return sum(i=-1..2, j=-1..2) (X@[(0,2),(0,2)]) / 16; } stencil up(vector#2 "
       "float X) { return X; } parameter M, N; vector#2 float a[M,N]; return down(a:clamped);"},
      {"laplacian pyramid",
       "stencil d(vector#2 float X) { return (X@[(-1,2),(0,2)] + 2*X@[(0,2),(0,2)] + X@[(1,2),(0,2)]) / 4; } stencil "
       "i(vector#2 float X) { return X@[-1,0] + X@[0,-1] + X@[1,0] + X@[0,1] + X; } stencil s(vector#2 float X, "
       "vector#2 float Y) { return X - Y; }"
       " parameter M, N; vector#2 float a[M,N]; l = d(a:mirror); w@[(0,2),(0,2)] = l; return s(a, i(w:clamped));"},
      {"sample", "parameter M, N; vector#2 float a[M,N]; return a@[(-1,2),(1,3)];"},
      {"spread", "parameter M, N; vector#2 float a[M,N]; out@[(-1,3),(2,2)] = a; return out;"},
      {"sub-domain",
       "stencil f(vector#2 float X) { return X@[0,-1] + X@[1,0]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(a[1..M-1, 2..]:clamped);"},
      {"sub-domain with a symbolic start",
       "stencil f(vector#2 float X) { return X@[0,-1] + X@[1,0]; } parameter M, N; vector#2 float a[M,N]; return "
       "f(f(a:mirror)[M/2.., N/3..]:wrap);"},
      {"paste",
       "stencil f(vector#2 float X) { return X@[0,1] * 2; } parameter M, N; vector#2 float a[M,N]; out[1..,3..] = "
       "f(a:mirror); return f(out:clamped);"},
      {"paste raises the rank", "parameter M, N; vector#2 float a[M,N]; out[1..,3..,5..] = a; return out;"},
      {"stack two images",
       "stencil f(vector#2 float X) { return X@[1,1]; } stencil g(vector#3 float X) { return X@[-1,0,0] + X@[0,0,1]; } "
       "parameter M, N; vector#2 float a[M,N]; b = f(a:wrap); s = ( [0..,..,..] = a; [1..,..,..] = b; ); return "
       "g(s:clamped);"},
      {"channels of an output, each of a stage of its own",
       "stencil f(vector#2 float X) { return X@[0,1] + X@[-1,0]; } parameter M, N; vector#2 float a[M,N]; "
       "vector#2 float b[M,N]; vector#2 float c[M,N]; return ( [0..,..,..] = f(a:clamped); [1..,..,..] = f(b:mirror); "
       "[2..,..,..] = f(c:wrap); );"},
      {"channels in between, read by two, one of them alone as well",
       "stencil f(vector#2 float X) { return X@[0,1] + X@[-1,0]; } stencil g(vector#3 float X) { return X@[-1,0,1] + "
       "X@[1,1,0]; } stencil h(vector#2 float X, vector#2 float Y) { return X@[1,1] - Y; } parameter M, N; "
       "vector#2 float a[M,N]; vector#2 float b[M,N]; x = f(a:clamped); y = f(f(b:mirror):clamped); z = f(b:wrap); "
       "s = ( [0..,..,..] = x; [1..,..,..] = y; [2..,..,..] = z; ); u = g(s:clamped); v = g(g(s:mirror):clamped); "
       "w = h(y:clamped, x); return u = u, v = v, w = w;"},
      {"channels, two of them the same stage, and narrow ones",
       "stencil f(vector#2 uint8 X) { return cast<uint8>(X@[0,1] / 2 + X@[-1,0] / 3); } stencil w(vector#2 uint8 X) { "
       "return X@[0,1] / 2 + 0 * X; } parameter M, N; vector#2 uint8 a[M,N]; x = f(a:clamped); y = f(a:wrap); "
       "s = ( [0..,..,..] = x; [1..,..,..] = y; [2..,..,..] = x; ); "
       "t = ( [0..,..,..] = w(x:clamped); [1..,..,..] = w(y:mirror); ); return s = s, t = t;",
       0, false, Data::wild},
      {"planes of volumes put together, and channels of channels",
       "stencil f(vector#3 float X) { return X@[0,0,1] + X@[1,-1,0]; } stencil g(vector#2 float X) { return X@[0,1] - "
       "X@[1,0]; } parameter L, M, N; vector#3 float a[L,M,N]; vector#2 float b[M,N]; "
       "p = ( [0..,..,..] = g(b:clamped); [1..,..,..] = g(b:wrap); ); q = ( [0..,..,..] = g(b:mirror); [1..,..,..] = "
       "g(g(b:clamped):mirror); ); r = ( [0..,..,..,..] = f(a:clamped); [1..,..,..,..] = f(f(a:mirror):clamped); ); "
       "c = ( [0..1,..,..] = p; [2..,..,..] = q; ); return r = r, c = c;"},
      {"compose interleaves",
       "stencil f(vector#2 float X) { return X@[0,1]; } stencil g(vector#2 float X) { return X - X@[1,0]; } parameter "
       "M, N; vector#2 float a[M,N]; return ( @[(0,2),(0,1)] = f(a:clamped); @[(1,2),(0,1)] = g(a:mirror); );"},
      {"demosaic-like quads",
       "stencil p(vector#2 float X) { return X@[0,1] + X@[1,0]; } stencil q(vector#2 float X) { return X - X@[-1,-1]; "
       "} parameter M, N; vector#2 float a[M,N];"
       " w = ( @[(0,2),(0,2)] = p(a:mirror); @[(0,2),(1,2)] = q(a:mirror); @[(1,2),(0,2)] = q(a:clamped); "
       "@[(1,2),(1,2)] = p(a:wrap); ); return p(w:clamped);"},
      {"bytes in pairs: odd and even distances",
       "stencil f(vector#2 uint8 X) { return cast<uint8>((X@[0,-3] + 3 * X@[1,-1] + 2 * X + X@[-1,2] + 5 * X@[0,4]) / "
       "12); } "
       "stencil g(vector#2 uint8 X) { return cast<uint8>((X@[0,1] + 2 * X@[0,3] + X@[2,5]) >> 2); } "
       "parameter M, N; vector#2 uint8 i[M,N]; return a = f(i:mirror), b = g(i:constant(9)), c = g(i);"},
      {"bytes in pairs: two stages",
       "stencil rows(vector#2 uint8 X) { return cast<uint16>(X@[-1,0] + 2 * X + X@[1,0]); } "
       "stencil columns(vector#2 uint16 X) { return cast<uint8>((X@[0,-1] + 2 * X + X@[0,1] + 8) / 16); } "
       "stencil sharp(vector#2 uint8 X, vector#2 uint8 Y) { return saturate<uint8>(2 * X - Y); } "
       "parameter M, N; vector#2 uint8 i[M,N]; s = columns(rows(i:wrap):wrap); t = columns(rows(s:mirror):mirror); "
       "return s = s, t = t, u = sharp(i, t), v = sharp(t, s);"},
      {"bytes in pairs: wrapping sums and shares of one row",
       "stencil f(vector#2 uint8 X, vector#2 uint8 Y) { return cast<uint8>(X@[0,1] + Y@[1,0] - X@[0,-1] * Y); } "
       "stencil g(vector#2 uint8 X) { return cast<uint8>(max(X@[0,1], X@[0,-1]) - min(X, X@[1,2])); } "
       "parameter M, N; vector#2 uint8 i[M,N]; vector#2 uint8 j[M,N]; a = f(i:symmetric, j:clamped); "
       "return a = a, b = g(a:symmetric), c = g(j:wrap);"},
      {"compose filled by four pieces",
       "stencil a(vector#2 uint8 X) { return X@[0,-1] + X@[1,0]; } stencil b(vector#2 uint8 X) { return X@[0,1] - X; } "
       "stencil c(vector#2 uint8 X) { return 2 * X; } stencil d(vector#2 uint8 X) { return X@[-1,-1] + X; } "
       "stencil e(vector#2 int X) { return X@[-1,-1] + X@[1,1] + X@[0,3]; } parameter M, N; vector#2 uint8 i[M,N]; "
       "up = ( @[(0,2),(0,2)] = a(i:mirror); @[(0,2),(1,2)] = b(i:clamped); @[(1,2),(0,2)] = c(i:clamped); "
       "@[(1,2),(1,2)] = d(i:wrap); ); return far = e(up:mirror), all = up;"},
      {"compose filled along rows by four, along columns by three",
       "stencil a(vector#2 uint8 X) { return X@[0,-1] + X@[1,0]; } stencil b(vector#2 uint8 X) { return X@[0,1] - X; } "
       "stencil c(vector#2 uint8 X) { return 2 * X; } stencil d(vector#2 uint8 X) { return X@[-1,-1] + X; } "
       "stencil e(vector#2 int X) { return X@[-1,-1] + X@[1,1] + X@[0,3]; } parameter M, N; vector#2 uint8 i[M,N]; "
       "wide = ( @[(0,1),(0,4)] = a(i:mirror); @[(0,1),(1,4)] = b(i:clamped); @[(0,1),(2,4)] = c(i:clamped); "
       "@[(0,1),(3,4)] = d(i:wrap); ); tall = ( @[(0,3),(0,1)] = a(i:mirror); @[(1,3),(0,1)] = b(i:clamped); "
       "@[(2,3),(0,1)] = c(i:clamped); ); return w = e(wide:clamped), t = e(tall:symmetric);"},
      {"compose filled by three, spread at odd places",
       "stencil f(vector#2 int X) { return X@[0,1] - X; } parameter M, N; vector#2 int a[M,N]; "
       "b = ( @[(0,3),(0,1)] = a; @[(1,3),(0,1)] = f(a:wrap); @[(2,3),(0,1)] = a; ); "
       "return ( @[(2,2),(0,1)] = b; @[(-1,2),(1,3)] = b; );"},
      {"compose filled by four along both, read from its middle",
       "stencil f(vector#2 int X) { return X@[0,1] - X; } stencil g(vector#2 int X) { return X + X@[5,7]; } parameter "
       "M, N; "
       "vector#2 int a[M,N]; b = ( @[(0,4),(0,1)] = a; @[(1,4),(0,1)] = f(a:wrap); @[(2,4),(0,1)] = a; "
       "@[(3,4),(0,1)] = a; ); c = ( @[(0,1),(0,4)] = b; @[(0,1),(1,4)] = f(b:clamped); @[(0,1),(2,4)] = b; "
       "@[(0,1),(3,4)] = b; ); return g(c:clamped);"},
      {"compose of which the last row and column come from one piece",
       "stencil even(vector#2 float X) { return X@[-1,0] + X@[0,1]; } stencil odd(vector#2 float X) { return X@[0,0] - "
       "X@[1,1]; } stencil s(vector#2 float X) { return X@[-1,-2] + X@[2,1]; } parameter M, N; vector#2 float a[M,N]; "
       "tall = ( @[(0,2),(0,1)] = even(a:clamped); @[(1,2),(0,1)] = odd(a[1..M-1,0..N-1]:clamped); ); "
       "wide = ( @[(0,1),(0,2)] = even(tall:clamped); @[(0,1),(1,2)] = odd(tall:mirror); ); return s(wide:symmetric);"},
      {"compose with a constant frame",
       "stencil f(vector#2 float X) { return X@[0,1]; } parameter M, N; vector#2 float a[M,N]; return ( "
       "[0..M-1,0..N-1] = 7; [1..,1..] = f(a:clamped); [0..0,0..N/2] = -1; );"},
      {"vector function",
       "stencil f(vector#2 float X) { return X@[0,1] + X@[0,-1]; } vector twice(vector#2 float X) { y = f(X:mirror); "
       "return f(y:mirror); } parameter M, N; vector#2 float a[M,N]; return twice(twice(a));"},
      // ---- gathers, look-ups, coordinates
      {"gather",
       "stencil f(vector#2 float X, vector#2 float m) { return X + m[coord(0) - coord(1), 3 * coord(1) - 5]; } "
       "parameter M, N; vector#2 float a[M,N]; return f(a, a);"},
      {"warp",
       "stencil f(vector#2 int X, vector#2 float m) { return m[coord(0) + X, coord(1) - X]; } parameter M, N; vector#2 "
       "int a[M,N]; vector#2 float b[M,N]; return f(a, b);",
       0, false, Data::plain},
      {"look-up table",
       "table int t[5] = {3, 1, 4, 1, 5}; stencil f(vector#2 uint8 X) { return t[X] + t[X % 5] * 10 + t[X - 100]; } "
       "parameter M, N; vector#2 uint8 a[M,N]; return f(a);",
       0, false, Data::wild},
      {"histogram equalisation by table image",
       "stencil f(vector#2 uint8 X, vector#1 uint8 t) { return t[X * 2 - 60]; } parameter M, N, K; vector#2 uint8 "
       "a[M,N]; vector#1 uint8 t[K]; return f(a, t);",
       0, false, Data::wild},
      {"computed table",
       "parameter int r = 3; parameter float s = 1.5; table float g[k = -r..r] = exp(-k*k/(2*s*s)); stencil f(vector#2 "
       "float X) { return sum(k=-r..r) (g[k+r] * X@[0,k]); } parameter M, N; vector#2 float a[M,N]; return "
       "f(a:clamped);"},
      {"coordinates and extents",
       "stencil f(vector#2 float X) { return X + coord(0) * 1000 + coord(1) - extent(0) + extent(1) * 2; } parameter "
       "M, N; vector#2 float a[M,N]; return f(f(a));",
       2.0},
      {"vignette",
       "stencil f(vector#2 float X) { y = 2.0f*coord(0)/extent(0) - 1; x = 2.0f*coord(1)/extent(1) - 1; return X * (1 "
       "- 0.5f*(x*x + y*y)); } stencil b(vector#2 float X) { return X@[0,1] + X@[1,0]; } parameter M, N; vector#2 "
       "float "
       "a[M,N]; return b(f(a):mirror);"},
      // ---- ranks and several outputs
      {"volume",
       "stencil f(vector#3 float X) { return X@[-1,0,0] + X@[1,0,0] + X@[0,-1,0] + X@[0,1,0] + X@[0,0,-1] + X@[0,0,1] "
       "- 6*X; } parameter K, M, N; vector#3 float a[K,M,N]; return f(f(a:clamped):mirror);"},
      {"volume window",
       "stencil f(vector#3 int16 X) { return cast<int16>(max(i=-1..1, j=-1..1, k=-1..1) (X@[i,j,k])); } parameter K, "
       "M, N; vector#3 int16 a[K,M,N]; return f(f(a:mirror):clamped);",
       0, false, Data::wild},
      {"wrapped volume",
       "stencil f(vector#3 float X) { return X@[-1,2,0] + X@[1,0,-2]; } parameter K, M, N; vector#3 float a[K,M,N]; "
       "return f(f(a:wrap):wrap);"},
      {"rank four",
       "stencil f(vector#4 float X) { return X@[-1,0,1,0] + X@[0,1,0,-1] * 2; } parameter L, K, M, N; vector#4 float "
       "a[L,K,M,N]; return f(f(a:symmetric):constant(1));"},
      {"volume of constants",
       "table float w[i=-1..1, j=-1..1, k=-1..1] = 1 + i + 2*j + 3*k; stencil f(vector#3 float X) { return "
       "sum(i=-1..1, "
       "j=-1..1, k=-1..1) (w[i+1, j+1, k+1] * X@[i, j, k]) / 27; } parameter K, M, N; vector#3 float a[K,M,N]; return "
       "f(f(a:constant(2)):constant(-1));"},
      {"volume far to one side",
       "stencil f(vector#3 float X) { return X@[0,2,1] + X@[1,1,0] * 2; } stencil g(vector#3 float X) { return X - "
       "X@[-1,2,-2]; } parameter K, M, N; vector#3 float a[K,M,N]; return g(f(a:symmetric):mirror);"},
      {"volume without borders",
       "stencil f(vector#3 float X) { return X@[-1,0,0] + X@[0,2,0] * X@[0,-1,1]; } stencil g(vector#3 float X) { "
       "return "
       "X@[0,1,0] - X@[0,-1,0] + X@[0,0,1]; } parameter K, M, N; vector#3 float a[K,M,N]; return g(f(a));"},
      {"volume and its coordinates",
       "stencil f(vector#3 float X) { return X * (coord(0) + 10*coord(1) + 100*coord(2) - extent(1)) * 0.001f; } "
       "stencil "
       "g(vector#3 float X) { return X@[0,1,0] + X@[0,-1,0] - X@[1,0,0] * X@[0,0,1]; } parameter K, M, N; vector#3 "
       "float "
       "a[K,M,N]; e = g(f(a):clamped); return first = e, second = g(e:mirror);"},
      {"volume of bytes",
       "stencil f(vector#3 uint8 X) { return cast<uint8>(sum(i=-1..1, j=-1..1, k=-1..1) (X@[i,j,k]) / 27); } stencil "
       "g(vector#3 uint8 X) { return max(X@[0,-1,0], max(X, X@[0,1,0])); } parameter K, M, N; vector#3 uint8 a[K,M,N]; "
       "return g(f(a:clamped):constant(7));",
       0, false, Data::wild},
      {"volume one dimension after the other",
       "stencil x(vector#3 float X) { return X@[0,0,-1] + 2*X + X@[0,0,1]; } stencil y(vector#3 float X) { return "
       "X@[0,-1,0] + 2*X + X@[0,1,0]; } stencil z(vector#3 float X) { return X@[-1,0,0] + 2*X + X@[1,0,0]; } stencil "
       "r(vector#3 float X) { return sqrt(abs(X)) ; } parameter K, M, N; vector#3 float a[K,M,N]; return "
       "r(z(y(x(r(x(a:mirror)):clamped):mirror):clamped));"},
      {"rank four of constants",
       "stencil f(vector#4 float X) { return X@[0,-1,0,0] + X@[0,1,1,0] * 2 + X@[0,0,-1,1] - X@[1,0,0,0]; } parameter "
       "L, "
       "K, M, N; vector#4 float a[L,K,M,N]; return f(f(a:constant(3)):mirror);"},
      {"a row broadcast over an image",
       "stencil f(vector#2 float X, vector#1 float R) { return X * R@[1] - R; } parameter M, N; vector#2 float a[M,N]; "
       "vector#1 float r[N]; return f(a, r:mirror);"},
      {"an image broadcast over a volume",
       "stencil g(vector#2 float P) { return P@[0,1] - P@[1,0]; } stencil f(vector#3 float X, vector#2 float P) { "
       "return X@[1,0,0] + P@[0,-1]; } parameter K, M, N; vector#3 float a[K,M,N]; vector#2 float p[M,N]; return "
       "f(a:wrap, g(p:clamped):clamped);"},
      {"several outputs",
       "stencil f(vector#2 float X) { return X@[0,1] - X@[0,-1]; } stencil g(vector#2 float X) { return abs(X) > 0.3f; "
       "} parameter M, N; vector#2 float a[M,N]; e = f(a:mirror); return edges = g(e), gradient = e, again = "
       "f(e:clamped), given = a;",
       2e-4, true},
      {"odd extents",
       "stencil f(vector#2 float X, vector#2 float Y) { return X@[(0,2),(0,2)] + Y; } parameter M, N; vector#2 float "
       "a[2*M,2*N]; vector#2 float b[M,N]; return f(a:clamped, b);"},
      {"an input larger by a halo",
       "stencil f(vector#2 float X) { return X@[-1,0] + X@[1,0] + X@[0,2]; } parameter M, N; vector#2 float "
       "a[M+2,N+4]; b = f(a); return b[1..M, 0..N-1];"},
      {"not a number",
       "stencil f(vector#2 float X) { return min(X@[0,-1], X) + max(X, X@[0,1]) + (X < 0) - (X == X) + cast<int>(X) + "
       "saturate<uint8>(X) ; } parameter M, N; vector#2 float a[M,N]; return f(a:clamped);",
       0, true, Data::wild},
      {"conversions of wild floats",
       "stencil f(vector#2 double X) { return cast<int>(X) + cast<uint8>(X) * 3 + cast<int16>(X) + saturate<int16>(X) "
       "+ saturate<int>(X * 0.001f) + saturate<uint16>(X@[0,1]); } parameter M, N; vector#2 double a[M,N]; return "
       "f(a:wrap);",
       0, true, Data::wild},
  };
  return list;
}

}  // namespace tessera::differential
