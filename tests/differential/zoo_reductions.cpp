// Programs that reduce whole images: of all types and ranks, one after the other, with stages before and behind them.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_reductions() {
  static const std::vector<ZooProgram> programs = {
      {"normalised by its ends",
       "stencil f(vector#2 float X, float lo, float hi) { return (X - lo) / (hi - lo + 1); } parameter M, N; vector#2 "
       "float a[M,N]; return f(a, min(a), max(a));"},
      {"ends, sum and mean are results",
       "parameter M, N; vector#2 float a[M,N]; return lo = min(a), hi = max(a), s = sum(a), m = mean(a);", 0, true,
       Data::wild},
      {"reductions of a row",
       "stencil f(vector#1 float X) { return X@[-1] + X@[1]; } parameter N; vector#1 float a[N]; b = f(a:mirror); "
       "return s = sum(b), hi = max(b);"},
      {"a mean of bytes",
       "stencil f(vector#2 uint8 X, float m) { return saturate<uint8>(X - m + 128); } parameter M, N; vector#2 uint8 "
       "a[M,N]; return c = f(a, mean(a)), hi = max(a), s = sum(a);",
       1e-3, false, Data::wild},
      {"reductions of 16 bits",
       "parameter M, N; vector#2 int16 a[M,N]; vector#2 uint16 b[M,N]; return p = min(a), q = max(b), r = sum(a), s = "
       "sum(b);",
       0, false, Data::wild},
      {"reductions of 32 bits",
       "parameter M, N; vector#2 int a[M,N]; vector#2 uint32 b[M,N]; return p = max(a), q = min(b), r = sum(a), s = "
       "mean(b);",
       0, false, Data::wild},
      {"reductions of doubles, halves and flags",
       "parameter M, N; vector#2 double a[M,N]; vector#2 half b[M,N]; vector#2 bool c[M,N]; return p = max(a), q = "
       "sum(a), r = min(b), s = mean(b), t = sum(c), u = max(c), v = min(c);",
       0, true, Data::wild},
      {"a reduction of what a reduction gave",
       "stencil far(vector#2 float X, float m) { return abs(X - m); } stencil f(vector#2 float X, float m, float d) { "
       "return X > m + d ? 1 : 0; } parameter M, N; vector#2 float a[M,N]; m = mean(a); d = mean(far(a, m)); t = f(a, "
       "m, d / 2); return t = t, share = mean(t), m = m;",
       1e-4, true},
      {"a threshold in three rounds",
       "stencil above(vector#2 float X, float t) { return X > t ? X : 0; } stencil count(vector#2 float X, float t) { "
       "return X > t ? 1 : 0; } parameter M, N; vector#2 float a[M,N]; t<0> = mean(a); for i = 1..3 t<i> = (sum(above("
       "a, t<i-1>)) / max(sum(count(a, t<i-1>)), 1) + t<i-1>) / 2; endfor return count(a, t<3>);",
       1e-4, true},
      {"a field of a struct reduced",
       "struct rgb { uint8 r; uint8 g; uint8 b; } stencil f(vector#2 rgb X, float m) { return struct rgb(X.r, "
       "saturate<uint8>(X.g - m), X.b); } parameter M, N; vector#2 rgb a[M,N]; return f(a, mean(a.g));",
       0, true, Data::wild},
      {"a volume and its mean",
       "stencil f(vector#3 float X, float m) { return X@[-1,0,0] + X@[0,1,0] + X@[0,0,1] - 3 * m; } parameter K, M, N; "
       "vector#3 float a[K,M,N]; b = f(a:clamped, mean(a)); return b = b, hi = max(b);",
       1e-4, true},
      {"four dimensions reduced", "parameter J, K, M, N; vector#4 int16 a[J,K,M,N]; return lo = min(a), s = sum(a);", 0,
       false, Data::wild},
      {"a small image reduced",
       "stencil f(vector#2 float X, float s) { return X - s; } parameter M, N; vector#2 float a[M,N]; vector#2 float "
       "k[3,5]; return f(a, sum(k));"},
      {"an upsampled image reduced",
       "stencil f(vector#2 float X, float hi) { return X / (abs(hi) + 1); } parameter M, N; vector#2 float a[M,N]; "
       "u@[(0,2),(1,2)] = a; return f(u, max(u));"},
      {"numbers in pieces of many rows", "parameter N; vector#3 float a[3*N,N,3]; return s = sum(a), lo = min(a);", 0,
       true},
  };
  return programs;
}

}  // namespace tessera::differential
