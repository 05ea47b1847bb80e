// Uses an installed Tessera as docs/tutorial.md says: a pipeline in C++, a program as text, an error. With an argument:
// fails unless that file, the Clang plugin, is what was loaded to compile them.
#include <cstdio>
#include <fstream>
#include <string>
#include <tessera/tessera.hpp>
#include <vector>

static bool is_loaded(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.size() > path.size() && line.compare(line.size() - path.size() - 1, path.size() + 1, " " + path) == 0)
      return true;
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
  if (argc > 1 && !is_loaded(argv[1])) {
    std::printf("%s was not loaded\n", argv[1]);
    return 4;
  }
  try {
    tessera::Program::from_text("return unknown;");
  } catch (const tessera::Error& error) {
    return error.error_class() == tessera::ErrorClass::compile ? 0 : 2;
  }
  return 3;
}
