// The library loads where it is built or on what is newer; so that it also loads on systems of 2021 (glibc 2.34), the
// two functions of which the C library got new versions since are taken as they were: the new ones differ in errno
// alone. The linker sends every call here (--wrap, CMakeLists.txt).
#if defined(__x86_64__)

extern "C" {

double older_hypot(double, double);
float older_hypotf(float, float);
__asm__(".symver older_hypot,hypot@GLIBC_2.2.5");
__asm__(".symver older_hypotf,hypotf@GLIBC_2.2.5");

double __wrap_hypot(double, double);
float __wrap_hypotf(float, float);

double __wrap_hypot(double a, double b) {
  return older_hypot(a, b);
}
float __wrap_hypotf(float a, float b) {
  return older_hypotf(a, b);
}
}

#endif
