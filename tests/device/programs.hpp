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

}  // namespace tessera
