// LLVM's archives take random numbers from a function that glibc has since 2.36: the system call is older. The linker
// sends the calls here (--wrap, cmake/static_clang.cmake).
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t __wrap_arc4random();

extern "C" std::uint32_t __wrap_arc4random() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
  return number;
}
