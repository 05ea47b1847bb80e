// Programs as text, images as rows of numbers: what the tests of the language are written in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lang/compile.hpp"
#include "tessera/array.hpp"

namespace tessera::lang::testing {

struct Result {
  std::string type;  // "float", "struct rgb"
  Shape shape;
  std::vector<double> values;  // field after field within an element
};

template <class T>
Array array(Shape shape, std::vector<T> values) {
  return Array::from<T>(std::span<const T>(values), std::move(shape));
}
Array floats(Shape, std::vector<float>);
Array floats(std::vector<float> row);  // rank 1
Array scalar(double, ElementType = ElementType::f32);

using Parameters = std::map<std::string, double>;

// Compiles, verifies, binds and interprets. A compile error is rethrown and fails the test with its text.
std::vector<Result> run_all(const std::string& text, const std::vector<Array>& inputs, const Parameters& = {});
std::vector<Result> run_compiled(const Compiled&, const std::vector<Array>& inputs);
// The only output.
Result run(const std::string& text, const std::vector<Array>& inputs, const Parameters& = {});

// The value of a point expression over scalars: `arguments` as "float a, int b", with their values.
Result value(const std::string& expression, const std::string& arguments = "", std::vector<double> values = {});

Compiled compile_text(const std::string& text, const Parameters& = {});
std::vector<Diagnostic> check_text(const std::string& text, const Parameters& = {});

}  // namespace tessera::lang::testing
