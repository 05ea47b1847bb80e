// Programs of several groups, among which stages are shared: GPUs compute some of them in each (plan/repeats.cpp).
// What is read at computed places ends a group.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_groups() {
  static const std::vector<ZooProgram> programs = {
      {"a product that is reduced and read far away",
       "stencil product(vector#2 float X, vector#2 float Y) { return X * Y; } stencil down(vector#2 float X) { return "
       "(X@[(-1,2),(0,2)] + 2 * X@[(0,2),(0,2)] + X@[(1,2),(0,2)]) / 4; } stencil bend(vector#2 float X, vector#2 "
       "float Y, vector#2 float S) { return X - Y * S[coord(0) / 2, coord(1) / 3]; }"
       " parameter M, N; vector#2 float a[M,N]; vector#2 float b[M,N]; p = product(a, b); return bend(p, b, "
       "down(p:clamped));"},
      {"a doubled image that three groups read",
       "stencil even(vector#2 float X) { return X@[0,-1] / 4 + 3 * X / 4; } stencil odd(vector#2 float X) { return "
       "X@[0,1] / 4 + 3 * X / 4; } stencil tall(vector#2 float X) { return (X + X@[1,0]) / 2; } stencil same(vector#2 "
       "float X) { return X; } vector up(vector#2 float X) { wide = ( @[(0,1),(0,2)] = even(X:clamped); "
       "@[(0,1),(1,2)] = odd(X:clamped); ); return ( @[(0,2),(0,1)] = same(wide); @[(1,2),(0,1)] = tall(wide:clamped); "
       "); } stencil square(vector#2 float X) { return X * X + 0.5f; } stencil first(vector#2 float X, vector#2 float "
       "Y) { return X * Y + Y; } stencil bend(vector#2 float X, vector#2 float Y, vector#2 float S) { return X - Y * "
       "S[coord(0) / 2, coord(1) / 3]; }"
       " parameter M, N; vector#2 float b[M,N]; u = up(square(b@[(0,2),(0,2)])); v = first(u, b); w = bend(u, b, v); "
       "return bend(u, v, w);"},
      {"a sum of bytes that two groups read",
       "stencil grey(vector#2 uint8 X, vector#2 uint8 Y) { return cast<uint16>(X * 3 + Y); } stencil blur(vector#2 "
       "uint16 X) { return cast<uint16>((X@[-1,0] + 2 * X + X@[1,0]) >> 2); } stencil wide(vector#2 uint16 X) { return "
       "cast<uint16>((X@[0,-1] + X + X@[0,1]) / 3); } stencil bend(vector#2 uint16 X, vector#2 uint16 S) { return X + "
       "S[coord(1), coord(0)]; }"
       " parameter M, N; vector#2 uint8 a[M,N]; vector#2 uint8 b[M,N]; g = grey(a, b); return bend(g, "
       "wide(blur(g:mirror):mirror));",
       0, false, Data::wild},
      {"a volume and its product",
       "stencil product(vector#3 float X, vector#3 float Y) { return X * Y; } stencil blur(vector#3 float X) { return "
       "X@[-1,0,0] + X@[0,1,0] + X@[0,0,1] + X; } stencil bend(vector#3 float X, vector#3 float S) { return X + "
       "S[coord(0), coord(2), coord(1)]; }"
       " parameter K, M, N; vector#3 float a[K,M,N]; vector#3 float b[K,M,N]; p = product(a, b); return bend(p, "
       "blur(p:clamped));"},
  };
  return programs;
}

}  // namespace tessera::differential
