// Programs with loops that test: ended by the test, at once and by their bound; several versions, images and numbers;
// in functions, one after the other, between stages and reductions. Tests decide on rounded floats, so that most are
// compared in `exact` numbers alone.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_loops() {
  static const std::vector<ZooProgram> programs = {
      {"Jacobi until nothing moves",
       "stencil step(vector#2 float U, vector#2 float F) { return (U@[-1,0] + U@[1,0] + U@[0,-1] + U@[0,1] + F) / 5; } "
       "stencil gap(vector#2 float A, vector#2 float B) { return abs(A - B); } parameter M, N; vector#2 float a[M,N]; "
       "u<0> = a; do t = 1..60 u<t> = step(u<t-1>:clamped, a); while (max(gap(u<t>, u<t-1>)) > 0.01); return u<60>;",
       2e-4, true},
      {"a loop that ends by its bound",
       "stencil f(vector#2 float U) { return 0.5f * U + 0.25f * (U@[0,-1] + U@[1,0]); } parameter M, N; vector#2 float "
       "a[M,N]; u<0> = f(a:mirror); do t = 1..7 u<t> = f(f(u<t-1>:wrap):mirror); while (1 > 0); return "
       "f(u<7>:clamped);"},
      {"a loop of one iteration",
       "stencil f(vector#2 uint8 U) { return cast<uint8>(U / 2 + U@[0,1] / 3); } parameter M, N; vector#2 uint8 "
       "a[M,N]; "
       "u<0> = a; do t = 1..9 u<t> = f(u<t-1>:mirror); w<t> = f(u<t>:clamped); while (max(a) < 0); return u = u<9>, w "
       "= "
       "w<9>;",
       0, false, Data::wild},
      {"growth under a mask",
       "stencil grow(vector#2 int16 U, vector#2 int16 X) { return min(max(i = -1..1, j = -1..1) (U@[i,j]), X); } "
       "stencil "
       "below(vector#2 int16 X) { return cast<int16>(X / 2 - 9); } stencil moved(vector#2 int16 A, vector#2 int16 B) { "
       "return A != B; } parameter M, N; vector#2 int16 a[M,N]; u<31> = below(a); do t = 30..1 u<t> = "
       "grow(u<t+1>:clamped"
       ", a); while (max(moved(u<t>, u<t+1>)) != 0); return u<1>;",
       0, false, Data::wild},
      {"two images and a number, two versions",
       "stencil mix(vector#2 float A, vector#2 float B, double k) { return cast<float>((A + B@[0,1]) / 2 + k / 1000); "
       "} "
       "stencil gap(vector#2 float A, vector#2 float B) { return abs(A - B); } parameter M, N; vector#2 float a[M,N]; "
       "vector#2 float b[M,N]; n<0> = mean(a); u<0> = a; u<-1> = b; v<0> = gap(a, b); do t = 1..12 u<t> = "
       "mix(u<t-1>:wrap,"
       " u<t-2>:clamped, t); v<t> = mix(v<t-1>:mirror, u<t-1>:symmetric, n<t-1>); n<t> = mean(gap(u<t>, v<t>)); while "
       "(n<t> > 0.02 && n<t> != n<t-1>); return u = u<12>, v = v<12>, n = n<12>;",
       2e-4, true},
      {"a loop in a function, twice",
       "stencil f(vector#1 float U, vector#1 float X) { return (U@[-1] + U@[1] + X) / 3; } stencil gap(vector#1 float "
       "A, "
       "vector#1 float B) { return abs(A - B); } vector settle(vector#1 float X, float eps) { u<0> = X; do t = 1..20 "
       "u<t> "
       "= f(u<t-1>:clamped, X); while (max(gap(u<t>, u<t-1>)) > eps); return u<20>; } parameter N; vector#1 float "
       "a[N]; "
       "b = settle(a, 0.1); return b = b, c = settle(gap(b, a), 0.01 * max(b));",
       2e-4, true},
      {"a volume that fades, and its planes",
       "stencil f(vector#3 float U) { return 0.9f * (U@[-1,0,0] + U@[0,1,0] + U@[0,0,-1]) / 3; } parameter K, M, N; "
       "vector#3 float a[K,M,N]; u<0> = a; do t = 1..6 u<t> = f(u<t-1>:mirror); while (sum(u<t>) > 1 || t < 3); return "
       "u = "
       "u<6>[0..,0..,0..], s = sum(u<6>);",
       2e-4, true},
      {"a struct turned over and over",
       "struct two { float a; uint8 b; } stencil f(vector#2 two X, int t) { return struct two(X@[0,1].a / 2 + X.b, "
       "cast<uint8>(X.b + t)); } parameter M, N; vector#2 two x[M,N]; u<0> = x; do t = 1..5 u<t> = f(u<t-1>:wrap, t); "
       "while "
       "(max(u<t>.b) < 250 && t < 4); return u<5>;",
       1e-3, false, Data::wild},
      {"a loop between levels of a pyramid",
       "stencil down(vector#2 float X) { return (X@[(0,2),(0,2)] + X@[(1,2),(1,2)]) / 2; } stencil f(vector#2 float X) "
       "{ "
       "return (X@[0,-1] + X@[0,1]) / 2; } stencil add(vector#2 float A, vector#2 float B) { return A - B; } parameter "
       "M, "
       "N; vector#2 float a[2*M,2*N]; d = down(a:clamped); u<0> = d; do t = 1..4 u<t> = f(u<t-1>:clamped); while (1 > "
       "0); "
       "r = add(d, u<4>); up = ( @[(0,2),(0,2)] = r; @[(1,2),(1,2)] = u<4>; ); return add(a, up);"},
  };
  return programs;
}

}  // namespace tessera::differential
