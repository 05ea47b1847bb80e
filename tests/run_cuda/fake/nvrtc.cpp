// An NVRTC for tests: its code is the text that it was given. A line with "#error" fails as the real one would. It is
// version 12.8, or FAKE_NVRTC_VERSION (12080), and knows 75, 80 and 90.
#include <cstdlib>
#include <cstring>
#include <string>

namespace {
struct Program {
  std::string source, log, options;
};
int compilations = 0;
}  // namespace

extern "C" {
int nvrtcVersion(int* major, int* minor) {
  const char* text = std::getenv("FAKE_NVRTC_VERSION");
  const int number = text ? std::atoi(text) : 12080;
  *major = number / 1000;
  *minor = number % 1000 / 10;
  return 0;
}
const char* nvrtcGetErrorString(int status) {
  return status == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_FAKE";
}
int nvrtcGetNumSupportedArchs(int* n) {
  return *n = 3, 0;
}
int nvrtcGetSupportedArchs(int* a) {
  return a[0] = 75, a[1] = 80, a[2] = 90, 0;
}
int nvrtcCreateProgram(Program** p, const char* source, const char*, int, const char* const*, const char* const*) {
  *p = new Program{source, "", ""};
  return 0;
}
int nvrtcDestroyProgram(Program** p) {
  return delete *p, *p = nullptr, 0;
}
int nvrtcCompileProgram(Program* p, int n, const char* const* options) {
  ++compilations;
  for (int i = 0; i < n; ++i) p->options += std::string(" ") + options[i];
  const auto at = p->source.find("#error");
  if (at == std::string::npos) return 0;
  int line = 1;
  for (std::size_t i = 0; i < at; ++i) line += p->source[i] == '\n';
  p->log = "kernel.cu(1): warning #1-D: a warning\n\nkernel.cu(" + std::to_string(line) +
           "): error: identifier \"q\" is undefined\n    float x = q;\n              ^\n\n1 error detected in the "
           "compilation.\n";
  return 6;
}
int nvrtcGetProgramLogSize(Program* p, std::size_t* n) {
  return *n = p->log.size() + 1, 0;
}
int nvrtcGetProgramLog(Program* p, char* out) {
  return std::memcpy(out, p->log.c_str(), p->log.size() + 1), 0;
}
static std::string code_of(Program* p) {
  return "fake code" + p->options + "\n" + p->source;
}
int nvrtcGetCUBINSize(Program* p, std::size_t* n) {
  return *n = code_of(p).size(), 0;
}
int nvrtcGetCUBIN(Program* p, char* out) {
  return std::memcpy(out, code_of(p).data(), code_of(p).size()), 0;
}
int nvrtcGetPTXSize(Program* p, std::size_t* n) {
  return *n = code_of(p).size() + 1, 0;
}
int nvrtcGetPTX(Program* p, char* out) {
  return std::memcpy(out, code_of(p).c_str(), code_of(p).size() + 1), 0;
}
int fake_nvrtc_compilations() {
  return compilations;
}
}
