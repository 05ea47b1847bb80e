// Programs with Fourier transforms: filters of frequencies, the theorems, every kind of transform, what is read by
// parts before and behind a transform, and results that a transform writes itself. Sums of n numbers of magnitude 1 are
// of magnitude sqrt(n), and so are their errors.
#include "zoo.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo_of_spectra() {
  static const std::vector<ZooProgram> programs = {
      {"a filter of frequencies",
       "stencil gain(vector#2 complex F) { y = 2 * coord(0) > extent(0) ? coord(0) - extent(0) : coord(0); x = 2 * "
       "coord(1) > extent(1) ? coord(1) - extent(1) : coord(1); g = exp(-0.5f * (y*y + x*x) / 9); return struct "
       "complex(g * F.re, g * F.im); } parameter M, N; vector#2 float a[M,N]; b = ifft(gain(fft(a))); return b.re;",
       1e-4},
      {"there and back, and what is lost on the way",
       "stencil apart(vector#2 float X, vector#2 float Y) { return abs(X - Y); } parameter M, N; vector#2 float "
       "a[M,N]; "
       "b = ifft(fft(a)); return back = b, lost = max(apart(a, b.re)), turned = max(b.im);",
       1e-4},
      {"the transform of a convolution is a product",
       "struct complex { float re; float im; } stencil times(vector#2 complex A, vector#2 complex B) { return struct "
       "complex(A.re * B.re - A.im * B.im, A.re * B.im + A.im * B.re); } stencil near(vector#2 float X) { return X + "
       "2 * X@[-1,0] - 3 * X@[0,-2]; } stencil impulse(vector#2 float X) { i = coord(0); j = coord(1); m = extent(0); "
       "n "
       "= extent(1); return (i == 0 && j == 0 ? 1.0f : 0.0f) + (i == 1 % m && j == 0 ? 2.0f : 0.0f) - (i == 0 && j == "
       "2 "
       "% n ? 3.0f : 0.0f) + 0 * X; } parameter M, N; vector#2 float a[M,N]; b = ifft(times(fft(a), fft(impulse(a)))); "
       "return product = b.re, convolution = near(a:wrap);",
       1e-3},
      {"power is the same on either side",
       "stencil power(vector#2 complex F) { return F.re*F.re + F.im*F.im; } stencil square(vector#2 float X) { return "
       "X*X; } parameter M, N; vector#2 float a[M,N]; return before = sum(square(a)), behind = mean(power(fft(a)));",
       1e-2},
      {"rows, of bytes",
       "stencil as_bytes(vector#1 float X) { return X / 64; } parameter N; vector#1 uint8 a[N]; F = fft(a); b = "
       "ifft(F); return F = F, b = b, c = as_bytes(b.re);",
       2e-2, false, Data::plain},
      {"columns alone, and rows alone",
       "parameter M, N; vector#2 float a[M,N]; return down = fft(a, 0), across = fft(a, 1), back = ifft(fft(a, 0), 0);",
       1e-3},
      {"volumes, and the images of volumes",
       "parameter K, M, N; vector#3 float a[K,M,N]; b = ifft(fft(a)); return F = fft(a), planes = fft(a, 1, 2), two = "
       "fft(a, 0, 2), b = b.re;",
       2e-3},
      {"a series of volumes",
       "parameter T, K, M, N; vector#4 float a[T,K,M,N]; b = ifft(fft(a)); return F = fft(a), b = b.re, t = fft(a, 0);",
       4e-3},
      {"doubles",
       "stencil twice(vector#2 complex F) { return struct complex(2 * F.re, 2 * F.im); } parameter M, N; vector#2 "
       "double a[M,N]; b = ifft(twice(fft(a))); return b = b.re, F = fft(a);",
       1e-10},
      {"complex images that are given",
       "parameter M, N; vector#2 complex a[M,N]; F = fft(a); b = ifft(a); return F = F, b = b, r = fft(F.im), i = "
       "ifft(a.im);",
       1e-2},
      {"a transform of a transform",
       "stencil f(vector#2 float X) { return X@[-1,0] + X@[0,1]; } parameter M, N; vector#2 float a[M,N]; F = "
       "fft(fft(f(a:mirror))); b = ifft(ifft(F)); c = f(b.re:wrap); return F = F, c = c, d = f(c:clamped);",
       5e-2},
      {"values of stages that several parts read",
       "stencil f(vector#2 float X) { return X@[-1,0] - X@[1,0]; } stencil g(vector#2 float X, vector#2 float Y, float "
       "m, float s) { return (X + Y@[0,1] - m) * s; } stencil scaled(vector#2 complex F, float m) { return struct "
       "complex(F.re * m, F.im - m); } parameter M, N; vector#2 float a[M,N]; float s; m = mean(a); b = f(a:wrap); F = "
       "scaled(fft(b), m); c = ifft(F); return c = g(c.re, b:clamped, m, s), F = F, d = f(b:mirror), m = m;",
       1e-3},
      {"one field, reduced, cut and composed",
       "stencil f(vector#2 float X, float t) { return X > t ? 1 : 0; } parameter M, N; vector#2 float a[2*M,2*N]; F = "
       "fft(a); low = F.re[0..M-1, 0..N-1]; G = fft(low); whole = ( @[(0,2),(0,1)] = G.re; @[(1,2),(0,1)] = low; ); "
       "return im = F.im, whole = whole, s = max(F.im), above = f(G.re, 1e6f);",
       2e-2},
  };
  return programs;
}

}  // namespace tessera::differential
