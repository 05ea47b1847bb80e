// Sums over planes of volumes, which CPUs compute several planes at once: every border, margins, regions that planes
// leave in rings, other types, coordinates, four dimensions.
#include <string>

#include "zoo.hpp"

namespace tessera::differential {

namespace {

// Sums along each dimension, columns fastest: `n` weights each way.
std::string gaussian(const std::string& type, const std::string& border) {
  return "table float k[i = 0..6] = exp(-(i - 3) * (i - 3) / 5.0f) / 4; stencil f(vector#3 " + type +
         " X) { return sum(h = 0..6, i = 0..6, j = 0..6) (k[h] * k[i] * k[j] * X@[h-3,i-3,j-3]); } parameter L, M, N; "
         "vector#3 " +
         type + " a[L,M,N]; return f(a" + border + ");";
}

std::string planes(const std::string& border) {
  return "stencil f(vector#3 float X) { return sum(k = -3..4) ((k + 5) * 0.1f * X@[k,0,0]) + 0.01f * coord(0); } "
         "stencil g(vector#3 float X) { return X@[0,0,-1] - 2 * X@[0,-1,0] + X; } parameter L, M, N; vector#3 float "
         "a[L,M,N]; return f(g(a" +
         border + ")" + border + ");";
}

}  // namespace

const std::vector<ZooProgram>& zoo_of_volumes() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> list;
    for (const char* border : {":clamped", ":mirror", ":symmetric", ":wrap", ":constant(0.5f)", ""}) {
      list.push_back(gaussian("float", border));
      list.push_back(planes(border));
    }
    return list;
  }();
  static const std::vector<ZooProgram> programs = [] {
    std::vector<ZooProgram> list;
    for (const std::string& text : texts) list.push_back({"sums over planes", text.c_str()});
    const std::vector<ZooProgram> others = {
        {"sums of bytes over planes",
         "stencil f(vector#3 uint8 X) { return cast<uint8>(sum(k = -4..4) ((k + 5) * X@[k,0,0]) / 45); } parameter L, "
         "M, N; vector#3 uint8 a[L,M,N]; return once = f(a:mirror), wide = f(f(a:clamped):clamped);",
         0, false, Data::wild},
        {"a box of integers of a volume",
         "stencil f(vector#3 int16 X) { return sum(k = -3..3, i = -3..3, j = -3..3) (X@[k,i,j]); } stencil g(vector#3 "
         "int X) { return max(k = -3..3, i = -2..2, j = -4..1) (X@[k,i,j]); } parameter L, M, N; vector#3 int16 "
         "a[L,M,N]; return g(f(a:clamped):wrap);",
         0, false, Data::wild},
        {"planes that others read and that leave",
         "stencil f(vector#3 float X) { return sum(k = -2..5) (0.1f * (k + 3) * X@[k,0,0]); } stencil g(vector#3 float "
         "X, vector#3 float Y) { return sum(k = -1..1, i = -1..1, j = -1..1) (0.03f * X@[k,i,j]) - Y@[0,1,0]; } "
         "parameter L, M, N; vector#3 float a[L,M,N]; u = f(a:clamped); v = g(u:mirror, a:clamped); return u = u, v = "
         "v, w = "
         "f(v:clamped);"},
        {"sums over planes of half the planes",
         "stencil f(vector#3 float X) { return sum(k = -3..3) (0.1f * (k + 4) * X@[(k,2),(0,2),(0,2)]); } stencil "
         "g(vector#3 float X) { return sum(k = -3..3) (0.2f * X@[k,0,0]); } parameter L, M, N; vector#3 float "
         "a[L,M,N]; return g(f(g(a:clamped):clamped):mirror);"},
        {"sums over volumes and over planes of volumes",
         "stencil f(vector#4 float X) { return sum(k = -3..3) (0.1f * (k + 4) * X@[k,0,0,0]); } stencil g(vector#4 "
         "float X) { return sum(k = -2..3) (0.1f * (k + 4) * X@[0,k,0,0]); } parameter K, L, M, N; vector#4 float "
         "a[K,L,M,N]; return v = g(f(a:clamped):mirror), w = f(g(a:wrap):clamped);"},
        {"many terms in four dimensions",
         "table float w[i = 0..80] = (i * 7) % 13 * 0.01f; stencil f(vector#4 float X) { return sum(h = 0..2, i = "
         "0..2, j = 0..2, k = 0..2) (w[h * 27 + i * 9 + j * 3 + k] * X@[h-1,i-1,j-1,k-1]); } parameter K, L, M, N; "
         "vector#4 float a[K,L,M,N]; return v = f(a:clamped), w = f(a:wrap), m = f(a:constant(2));"},
        {"many terms in three dimensions",
         "table float w[i = 0..124] = (i * 7) % 13 * 0.01f; stencil f(vector#3 float X) { return sum(h = 0..4, i = "
         "0..4, j = 0..4) (w[h * 25 + i * 5 + j] * X@[h-2,i-2,j-2]); } stencil g(vector#3 float X) { return X * X + "
         "X@[0,0,1]; } parameter L, M, N; vector#3 float a[L,M,N]; return v = f(a:mirror), w = f(g(a:clamped):wrap);",
         1e-3},
    };
    list.insert(list.end(), others.begin(), others.end());
    return list;
  }();
  return programs;
}

}  // namespace tessera::differential
