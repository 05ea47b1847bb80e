// CUDA's functions of the bytes and halves of a register, for kernels that run as C++.
#pragma once

inline unsigned __byte_perm(unsigned a, unsigned b, unsigned which) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= static_cast<unsigned>(both >> 8 * (which >> 4 * k & 7) & 255) << 8 * k;
  return result;
}
inline unsigned __vminu2(unsigned a, unsigned b) {
  const unsigned low = (a & 0xffff) < (b & 0xffff) ? a : b, high = a >> 16 < b >> 16 ? a : b;
  return (low & 0xffff) | (high & 0xffff0000);
}
inline unsigned __vmaxu2(unsigned a, unsigned b) {
  const unsigned low = (a & 0xffff) < (b & 0xffff) ? b : a, high = a >> 16 < b >> 16 ? b : a;
  return (low & 0xffff) | (high & 0xffff0000);
}
