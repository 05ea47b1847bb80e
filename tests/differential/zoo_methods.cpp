// Weighted sums by every method that may be asked for (plan/low_rank.hpp, plan/whole.hpp), and sums and extremes of
// many neighbours, which cores take by blocks (plan/running.hpp): every border, images smaller than the window, bytes,
// what is not finite.
#include "zoo.hpp"

namespace tessera::differential {

namespace {

void add(std::vector<ZooProgram>& list, Method method, std::vector<ZooProgram> programs) {
  for (ZooProgram& program : programs) {
    program.method = method;
    list.push_back(program);
  }
}

std::vector<ZooProgram> low_rank() {
  return {
      {"a difference of Gaussians",
       "table float g[k = -4..4] = exp(-k*k/8.0) * 0.2; table float h[k = -4..4] = exp(-k*k/3.0) * 0.3; stencil "
       "f(vector#2 float X) { return sum(i = -4..4, j = -4..4) ((g[i+4]*g[j+4] - h[i+4]*h[j+4]) * X@[i,j]); } "
       "parameter M, N; vector#2 float a[M,N]; return f(a:mirror);"},
      {"three products beyond a constant border, far to one side",
       "table float k[i = 0..6, j = 0..8] = (i * j + i * i + j % 4) * 0.01f + 0.01f; stencil f(vector#2 float X) { "
       "return 2 * "
       "sum(i = 0..6, j = 0..8) (k[i,j] * X@[i+3,j-9]) + X; } parameter M, N; vector#2 float a[M,N]; return "
       "f(a:constant(0.5f));"},
      {"two products with margins, and wrapped",
       "table float k[i = 0..6, j = 0..6] = (i * j + 1) * 0.02f; stencil f(vector#2 float X) { return sum(i = 0..6, j "
       "= 0..6) (k[i,j] * X@[i-2,j-5]); } parameter M, N; vector#2 float a[M,N]; return inside = f(a), around = "
       "f(a:wrap);"},
      {"two products of integers",
       "table int k[i = 0..6, j = 0..6] = i * j * 3 - 7 * j + 2; stencil f(vector#2 int16 X) { return sum(i = 0..6, j "
       "= 0..6) (k[i,j] * X@[i-3,j-3]); } parameter M, N; vector#2 int16 a[M,N]; return f(a:constant(-5));",
       0, false, Data::wild},
      {"products over volumes",
       "table float k[l = 0..4, i = 0..4, j = 0..6] = (l * i + j + 1) * 0.01f; stencil f(vector#3 float X) { return "
       "sum(l = 0..4, i = 0..4, j = 0..6) (k[l,i,j] * X@[l-2,i-2,j-3]); } parameter L, M, N; vector#3 float a[L,M,N]; "
       "return f(a:clamped);"},
  };
}

std::vector<ZooProgram> whole() {
  return {
      {"a sum through one transform of the image",
       "table float k[i = 0..6, j = 0..8] = (i * 5 + j * 3) % 11 * 0.02f - 0.03f; stencil f(vector#2 float X) { "
       "return abs(sum(i = 0..6, j = 0..8) (k[i,j] * X@[i-3,j-4])) + X; } parameter M, N; vector#2 float a[M,N]; "
       "return f(a:mirror);"},
      {"weights larger than the image, around it",
       "table float k[i = 0..30, j = 0..40] = (i * 5 + j * 3) % 11 * 0.002f; stencil f(vector#2 float X) { "
       "return sum(i = 0..30, j = 0..40) (k[i,j] * X@[i-13,j-24]); } parameter M, N; vector#2 float a[M,N]; "
       "return f(a:wrap);",
       1e-3},
      {"bytes with margins through one transform",
       "table int k[i = 0..4, j = 0..6] = (i * 5 + j * 3) % 11 - 4; stencil f(vector#2 uint8 X) { return sum(i = 0..4, "
       "j = 0..6) (k[i,j] * X@[i-1,j-5]); } parameter M, N; vector#2 uint8 a[M,N]; return f(a);",
       0, false, Data::wild},
      {"a signal through one transform",
       "table double k[i = 0..100] = (i * 7 % 13) * 0.01; stencil f(vector#1 double X) { return sum(i = 0..100) (k[i] "
       "* X@[i-40]); } parameter N; vector#1 double a[N]; return f(a:constant(0.25));",
       1e-6},
      {"planes of a volume through one transform each",
       "table float k[i = 0..4, j = 0..6] = (i * 5 + j * 3) % 11 * 0.02f; stencil f(vector#3 float X) { return sum(i = "
       "0..4, j = 0..6) (k[i,j] * X@[0,i-2,j-3]); } parameter L, M, N; vector#3 float a[L,M,N]; return "
       "f(a:symmetric);"},
  };
}

std::vector<ZooProgram> blocks() {
  return {
      {"a wide box of floats",
       "stencil f(vector#2 float X) { return sum(i = -14..14, j = -20..20) (X@[i,j]) * 0.001f; } parameter M, N; "
       "vector#2 float a[M,N]; return f(a:mirror);",
       1e-3},
      {"boxes of bytes that wrap and that have margins",
       "stencil f(vector#2 uint8 X) { return sum(i = 0..28, j = -26..2) (X@[i,j]); } parameter M, N; vector#2 uint8 "
       "a[M,N]; return around = f(a:wrap), inside = f(a);",
       0, false, Data::wild},
      {"a box far to one side, beyond a constant border",
       "stencil f(vector#2 float X) { return sum(i = -3..22, j = -11..11) (X@[i,j]) * 0.001f; } parameter M, N; "
       "vector#2 float a[M,N]; return f(a:constant(2));",
       1e-3},
      {"boxes of a stage",
       "stencil g(vector#2 float X) { return X@[0,1] - X@[1,0]; } stencil f(vector#2 float X) { return sum(i = "
       "-40..40, "
       "j = -35..35) (X@[i,j]) * 0.001f + max(i = -40..40, j = -35..35) (X@[i,j]); } parameter M, N; vector#2 float "
       "a[M,N]; return f(g(a:clamped):mirror);",
       1e-3},
      {"a flat top, and a row of steps",
       "table float t[k = 0..40] = k < 5 || k > 35 ? 0.01f : 0.02f; stencil f(vector#2 float X) { return sum(i = "
       "0..40) "
       "(t[i] * X@[i-20,0]) + sum(j = 0..40) (t[j] * X@[0,j-11]); } stencil g(vector#2 float X) { return sum(i = "
       "0..40, "
       "j = 0..40) (t[i] * t[j] * X@[i-19,j-31]); } parameter M, N; vector#2 float a[M,N]; return one = "
       "f(a:symmetric), "
       "both = g(a:clamped);",
       1e-3},
      {"greatest and least of many neighbours",
       "stencil f(vector#2 uint8 X) { return max(i = -15..15, j = -12..19) (X@[i,j]); } stencil g(vector#2 uint8 X) { "
       "return min(i = 0..24, j = -30..0) (X@[i,j]); } parameter M, N; vector#2 uint8 a[M,N]; return one = "
       "f(a:mirror), "
       "two = g(a), three = f(a:constant(7)), four = g(a:wrap);",
       0, false, Data::wild},
      {"greatest of many neighbours in a row, and of floats",
       "stencil f(vector#1 int16 X) { return max(i = -40..22) (X@[i]); } stencil g(vector#2 float X) { return max(i = "
       "-12..12, j = -12..12) (X@[i,j]); } parameter M, N; vector#1 int16 a[N]; vector#2 float b[M,N]; return row = "
       "f(a:clamped), all = g(b:clamped);"},
      {"a wide box over a volume",
       "stencil f(vector#3 float X) { return sum(l = -1..2, i = -12..12, j = -13..13) (X@[l,i,j]) * 0.001f; } "
       "stencil g(vector#3 uint8 X) { return max(l = -12..12, i = -1..1, j = -1..2) (X@[l,i,j]); } parameter L, M, "
       "N; vector#3 float a[L,M,N]; vector#3 uint8 b[L,M,N]; return smooth = f(a:mirror), greatest = g(b:constant(3));",
       1e-3},
  };
}

// Windows of more terms than are written out, whose weights are zeros but for a few.
std::vector<ZooProgram> few_weights() {
  return {
      {"a few weights of a large window",
       "table float k[i = 0..16, j = 0..16] = (4 - i % 4) / 4 * ((4 - j % 4) / 4) * ((i * 3 + j * j) % 7 - 3) * 0.1f; "
       "stencil f(vector#2 float X) { return sum(i = 0..16, j = 0..16) (k[i,j] * X@[i-5,j-9]); } parameter M, N; "
       "vector#2 float a[M,N]; return one = f(a:mirror), two = f(a:constant(2)), three = f(a);"},
      {"a few whole numbers of a large window, below 0 as well",
       "table int k[i = 0..12, j = 0..14] = (5 - i % 5) / 5 * ((7 - j % 7) / 7) * ((i + j * 3) % 9 * 1000003 - "
       "2000000); "
       "stencil f(vector#2 int16 X) { return sum(i = 0..12, j = 0..14) (k[i,j] * X@[i-6,j-7]); } stencil g(vector#2 "
       "uint32 X) { return sum(i = 0..12, j = 0..14) (cast<uint32>(k[i,j]) * X@[i,j-20]); } parameter M, N; vector#2 "
       "int16 "
       "a[M,N]; vector#2 uint32 b[M,N]; return one = f(a:wrap), two = g(b:clamped);",
       0, false, Data::wild},
      {"a few weights of a volume",
       "table float k[l = 0..5, i = 0..5, j = 0..5] = (3 - (l + i * 2 + j) % 3) / 3 * ((l + i * j) % 5 - 1) * 0.1f; "
       "stencil f(vector#3 float X) { return sum(l = 0..5, i = 0..5, j = 0..5) (k[l,i,j] * X@[l-2,i-3,j-1]); } "
       "parameter L, M, N; vector#3 float a[L,M,N]; return f(a:symmetric);"},
  };
}

}  // namespace

const std::vector<ZooProgram>& zoo_of_methods() {
  static const std::vector<ZooProgram> programs = [] {
    std::vector<ZooProgram> list;
    add(list, Method::low_rank, low_rank());
    add(list, Method::whole, whole());
    add(list, Method::direct, {low_rank().front(), blocks().front()});
    add(list, Method::separable, {blocks()[3]});
    add(list, Method::automatic, blocks());
    add(list, Method::direct, few_weights());
    return list;
  }();
  return programs;
}

}  // namespace tessera::differential
