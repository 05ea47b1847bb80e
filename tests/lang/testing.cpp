// Reading whole results back as doubles.
#include "testing.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "data/half.hpp"
#include "ir/bind.hpp"
#include "lang/functions.hpp"
#include "ref/interpreter.hpp"

namespace tessera::lang::testing {
namespace {

double load(ElementType type, const std::byte* p) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return *reinterpret_cast<const std::uint8_t*>(p);
    case ElementType::i16:
      return *reinterpret_cast<const std::int16_t*>(p);
    case ElementType::u16:
      return *reinterpret_cast<const std::uint16_t*>(p);
    case ElementType::i32:
      return *reinterpret_cast<const std::int32_t*>(p);
    case ElementType::u32:
      return *reinterpret_cast<const std::uint32_t*>(p);
    case ElementType::f16:
      return half_to_float(*reinterpret_cast<const std::uint16_t*>(p));
    case ElementType::f32:
      return *reinterpret_cast<const float*>(p);
    case ElementType::f64:
      return *reinterpret_cast<const double*>(p);
  }
  return 0;
}

Result read(const Array& a) {
  Result r{a.format().name(), a.shape(), {}};
  const Array dense = a.contiguous() ? a : a.clone();
  const auto* at = static_cast<const std::byte*>(dense.data());
  for (i64 i = 0; i < a.count(); ++i, at += a.format().size()) {
    if (!a.format().is_struct()) r.values.push_back(load(a.format().scalar, at));
    for (const Format::Field& f : a.format().fields) r.values.push_back(load(f.type, at + f.offset));
  }
  return r;
}

}  // namespace

Array floats(Shape shape, std::vector<float> values) {
  return array<float>(std::move(shape), std::move(values));
}

Array floats(std::vector<float> row) {
  const auto n = static_cast<i64>(row.size());
  return array<float>({n}, std::move(row));
}

Array scalar(double value, ElementType type) {
  Array a(type, {});
  switch (type) {
    case ElementType::f64:
      *a.as<double>() = value;
      break;
    case ElementType::i32:
      *a.as<std::int32_t>() = static_cast<std::int32_t>(value);
      break;
    case ElementType::u32:
      *a.as<std::uint32_t>() = static_cast<std::uint32_t>(value);
      break;
    case ElementType::i16:
      *a.as<std::int16_t>() = static_cast<std::int16_t>(value);
      break;
    case ElementType::u16:
      *a.as<std::uint16_t>() = static_cast<std::uint16_t>(value);
      break;
    case ElementType::u8:
    case ElementType::boolean:
      *a.as<std::uint8_t>() = static_cast<std::uint8_t>(value);
      break;
    case ElementType::f16:
      *a.as<std::uint16_t>() = double_to_half(value);
      break;
    case ElementType::f32:
      *a.as<float>() = static_cast<float>(value);
      break;
  }
  return a;
}

Compiled compile_text(const std::string& text, const Parameters& parameters) {
  CompileInput input;
  input.text = text;
  input.file_name = "test.forma";
  input.parameters = parameters;
  return compile(input);
}

std::vector<Diagnostic> check_text(const std::string& text, const Parameters& parameters) {
  CompileInput input;
  input.text = text;
  input.file_name = "test.forma";
  input.parameters = parameters;
  return check(input);
}

std::vector<Result> run_all(const std::string& text, const std::vector<Array>& inputs, const Parameters& parameters) {
  return run_compiled(compile_text(text, parameters), inputs);
}

std::vector<Result> run_compiled(const Compiled& program, const std::vector<Array>& inputs) {
  ir::verify(program.graph);
  std::vector<Shape> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape());
  std::vector<Result> results;
  for (const Array& a : ref::interpret(program.graph, ir::bind_parameters(program.graph, shapes), inputs))
    results.push_back(read(a));
  return results;
}

Result run(const std::string& text, const std::vector<Array>& inputs, const Parameters& parameters) {
  std::vector<Result> all = run_all(text, inputs, parameters);
  EXPECT_EQ(all.size(), 1U);
  return all.at(0);
}

Result value(const std::string& expression, const std::string& arguments, std::vector<double> values) {
  std::string declarations, names, types;
  std::vector<Array> inputs;
  if (!arguments.empty()) {
    for (std::string_view a : base::split(arguments, ',')) {
      const std::vector<std::string_view> words = base::split_words(a);
      declarations += std::string(words.at(0)) + " " + std::string(words.at(1)) + ";\n";
      names += ", " + std::string(words.at(1));
      types += ", " + std::string(a);
      inputs.push_back(scalar(values.at(inputs.size()), *find_type(words.at(0))));
    }
  }
  inputs.push_back(floats({0}));
  return run("stencil f(vector#1 float X" + types + ") { return " + expression + "; }\n" + declarations +
                 "vector#1 float x[1];\nreturn f(x" + names + ");\n",
             inputs);
}

}  // namespace tessera::lang::testing
