// Written for the published compiler: C++, its own declaration, borders left out of the first pass and then of the
// second.
#include <vector>

#include "check.h"

extern "C" void blur(float*, int, int, float*);

int main() {
  int bad = 0;
  float untouched = 3;
  blur(&untouched, 0, 7, &untouched);
  blur(&untouched, 1, -7, &untouched);
  if (untouched != 3) bad = 1, printf("an image without points was written\n");
  FOR_SIZES(M, N) {
    std::vector<float> X(M * N), x(M * N), y(M * N);
    for (float& v : X) v = draw_float();
    float* out = (float*)room(M * N, 4);
    for (int i = 1; i < M - 1; ++i)
      for (int j = 0; j < N; ++j) x[i * N + j] = (X[(i - 1) * N + j] + X[i * N + j] + X[(i + 1) * N + j]) / 3;
    for (int i = 0; i < M; ++i)
      for (int j = 1; j < N - 1; ++j) y[i * N + j] = (x[i * N + j - 1] + x[i * N + j] + x[i * N + j + 1]) / 3;
    std::vector<float> copy = X;
    blur(X.data(), M, N, out);
    bad |= differs("blur", out, y.data(), M, N, 4);
    if (copy != X) bad = 1, printf("the input was written\n");
    free(out);
  }
  return bad;
}
