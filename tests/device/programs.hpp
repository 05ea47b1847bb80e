// Programs that several tests of devices run.
#pragma once

namespace tessera {

// Two stages of equal extents, both of them results: one group, in strips.
inline constexpr const char* two_stages = R"(
parameter M, N;
stencil smooth(vector#2 float X) { return sum(j = -2..2, i = -2..2) ( X@[j,i] ) / 25; }
stencil slope(vector#2 float X) { return X@[0,1] - X@[0,-1] + (X@[1,0] - X@[-1,0]) * 0.5f; }
vector#2 float image[M,N];
s = smooth(image:mirror);
return soft = s, sharp = slope(s:clamped);
)";

// Stages that differ in size, each program one group in strips: every second point of a blur with and without the blur
// itself, which may have a row or column more than twice as many; doubling in turns of rows and columns; both, and a
// mosaic whose four colours are taken apart and put together.
inline constexpr const char* halves = R"(
parameter M, N;
stencil down_rows(vector#2 float X) {
  return (X@[(-2,2),(0,1)] + 4 * X@[(-1,2),(0,1)] + 6 * X@[(0,2),(0,1)] + 4 * X@[(1,2),(0,1)] + X@[(2,2),(0,1)]) / 16;
}
stencil down_columns(vector#2 float X) {
  return (X@[(0,1),(-2,2)] + 4 * X@[(0,1),(-1,2)] + 6 * X@[(0,1),(0,2)] + 4 * X@[(0,1),(1,2)] + X@[(0,1),(2,2)]) / 16;
}
vector#2 float image[M,N];
return down_columns(down_rows(image:mirror):mirror);
)";
inline constexpr const char* fine_and_coarse = R"(
parameter M, N;
stencil half(vector#2 float X) { return X@[(0,2),(0,2)] + X@[(1,2),(1,2)]; }
stencil blur(vector#2 float X) { return (X@[-1,-1] + X + X@[1,1]) / 3; }
stencil placed(vector#2 float X) { return X + coord(0) * 0.5f + coord(1) - extent(0) * 0.25f; }
vector#2 float image[M,N];
b = blur(image:clamped);
return fine = placed(blur(b:mirror)), coarse = half(b);
)";
inline constexpr const char* doubles = R"(
parameter M, N;
stencil even_down(vector#2 float X) { return (X@[-1,0] + 6 * X + X@[1,0]) / 8; }
stencil odd_down(vector#2 float X) { return (X + X@[1,0]) / 2; }
stencil even_across(vector#2 float X) { return (X@[0,-1] + 6 * X + X@[0,1]) / 8; }
stencil odd_across(vector#2 float X) { return (X + X@[0,1]) / 2; }
stencil smooth(vector#2 float X) { return (X@[-1,0] + X@[0,-2] + X + X@[0,2] + X@[1,0]) / 5; }
vector#2 float image[M,N];
s = smooth(image:symmetric);
tall = ( @[(0,2),(0,1)] = even_down(s:clamped); @[(1,2),(0,1)] = odd_down(s:clamped); );
wide = ( @[(0,1),(0,2)] = even_across(tall:mirror); @[(0,1),(1,2)] = odd_across(tall:clamped); );
return large = smooth(wide:mirror), small = s;
)";
inline constexpr const char* levels = R"(
parameter M, N;
stencil half(vector#2 float X) { return (X@[(-1,2),(0,2)] + 2 * X@[(0,2),(0,2)] + X@[(1,2),(1,2)]) / 4; }
stencil even_down(vector#2 float X) { return (X@[-1,0] + 6 * X + X@[1,0]) / 8; }
stencil odd_down(vector#2 float X) { return (X + X@[1,0]) / 2; }
stencil even_across(vector#2 float X) { return (X@[0,-1] + 6 * X + X@[0,1]) / 8; }
stencil odd_across(vector#2 float X) { return (X + X@[0,1]) / 2; }
stencil minus(vector#2 float X, vector#2 float Y) { return X - Y; }
vector#2 float image[M,N];
g = half(image:mirror);
tall = ( @[(0,2),(0,1)] = even_down(g:clamped); @[(1,2),(0,1)] = odd_down(g:clamped); );
wide = ( @[(0,1),(0,2)] = even_across(tall:clamped); @[(0,1),(1,2)] = odd_across(tall:clamped); );
return detail = minus(image, wide), coarse = g;
)";
inline constexpr const char* mosaic = R"(
parameter M, N;
stencil near(vector#2 float X, vector#2 float Y) { return X + Y@[0,1] - Y@[1,0]; }
stencil smooth(vector#2 float X) { return (X@[-1,0] + X@[0,-1] + X + X@[0,1] + X@[1,0]) / 5; }
vector#2 float raw[2*M,2*N];
clean = smooth(raw:mirror);
a = clean@[(0,2),(0,2)];
b = clean@[(0,2),(1,2)];
c = clean@[(1,2),(0,2)];
d = clean@[(1,2),(1,2)];
whole = ( @[(0,2),(0,2)] = near(a, b:clamped); @[(0,2),(1,2)] = b; @[(1,2),(0,2)] = near(d, c:mirror);
          @[(1,2),(1,2)] = near(c, a:constant(3)); );
return smooth(whole:symmetric);
)";
// A sixteenth of the size, which may be a single point, smoothed and doubled.
inline constexpr const char* coarse = R"(
parameter M, N;
stencil quarter(vector#2 float X) { return (X@[(-2,4),(0,4)] + X@[(0,4),(-2,4)] + 2 * X@[(0,4),(0,4)] + X@[(1,4),(3,4)]) / 5; }
stencil wide(vector#2 float X) { return (X@[-3,0] + X + X@[0,4]) / 3; }
stencil even_down(vector#2 float X) { return (X@[-1,0] + 6 * X + X@[2,0]) / 8; }
stencil odd_down(vector#2 float X) { return (X + X@[1,0]) / 2; }
stencil even_across(vector#2 float X) { return (X@[0,-2] + 6 * X + X@[0,1]) / 8; }
stencil odd_across(vector#2 float X) { return (X + X@[0,1]) / 2; }
vector#2 float image[M,N];
q = quarter(quarter(image:mirror):mirror);
r = wide(wide(q:mirror):symmetric);
tall = ( @[(0,2),(0,1)] = even_down(r:mirror); @[(1,2),(0,1)] = odd_down(r:clamped); );
return doubled = ( @[(0,1),(0,2)] = even_across(tall:symmetric); @[(0,1),(1,2)] = odd_across(tall:clamped); ), smooth = r;
)";
inline constexpr const char* mixed_sizes[] = {halves, fine_and_coarse, doubles, levels, mosaic};

}  // namespace tessera
