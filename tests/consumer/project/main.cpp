// Uses an installed Tessera as docs/tutorial.md says: a pipeline in C++, a program as text, an error. With an argument:
// fails unless that file, the built-in compiler, was started to compile them.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

// Is that program a child of this process?
static bool runs(const std::string& path) {
  const std::string parent = "PPid:\t" + std::to_string(getpid());
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line == parent && std::filesystem::read_symlink(entry.path() / "exe", ec) == path) return true;
  }
  return false;
}

int main(int argc, char** argv) {
  tessera::Pipeline p;
  const auto image = p.input<float>("image", 2).clamped();
  const auto blur = p.stage("blur", (image.at(0, -1) + image + image.at(0, 1)) / 3.0f);
  const tessera::Program built = p.compile({blur});
  const tessera::Program text = tessera::Program::from_text(
      "stencil blur(vector#2 float X) { return (X@[0,-1] + X + X@[0,1]) / 3; }\n"
      "parameter M, N;\nvector#2 float image[M,N];\nreturn blur(image:clamped);\n");

  const std::vector<float> pixels = {3, 6, 9, 12, 0, 0, 30, 0};
  const tessera::Array input = tessera::Array::from<float>(pixels, {2, 4});
  const tessera::Array a = built.run({input}).at(0), b = text.run({input}).at(0);
  const float expected[] = {4, 6, 9, 11, 0, 10, 10, 10};
  for (int i = 0; i < 8; ++i)
    if (a.as<float>()[i] != expected[i] || b.as<float>()[i] != expected[i]) {
      std::printf("element %d is %g and %g, expected %g\n", i, a.as<float>()[i], b.as<float>()[i], expected[i]);
      return 1;
    }
  if (argc > 1 && !runs(argv[1])) {
    std::printf("%s does not run\n", argv[1]);
    return 4;
  }
  try {
    tessera::Program::from_text("return unknown;");
  } catch (const tessera::Error& error) {
    return error.error_class() == tessera::ErrorClass::compile ? 0 : 2;
  }
  return 3;
}
