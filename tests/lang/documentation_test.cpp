// The programs of docs/language.md: each is compiled, run on the values that it names and compared with its results.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "data/element.hpp"
#include "support/documents.hpp"
#include "testing.hpp"

namespace tessera::lang::testing {
namespace {

std::vector<double> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> all;
  for (std::string word; in >> word;) all.push_back(std::stod(word));  // "nan" too
  return all;
}

Shape shape_of(const ir::Graph& g, const ir::Argument& a, const std::string& written) {
  Shape shape;
  std::istringstream in(written);
  for (std::string n; std::getline(in, n, ',');) shape.push_back(std::stoll(n));
  if (shape.empty())
    for (ir::SizeId s : a.extents) shape.push_back(g.constant(s).value_or(0));
  return shape;
}

TEST(Documentation, ProgramsGiveTheStatedResults) {
  using tessera::testing::Block;
  const std::vector<Block> all =
      tessera::testing::forma_blocks(tessera::testing::content(TESSERA_SOURCE_DIR "/docs/language.md"));
  EXPECT_GE(all.size(), 14U);
  for (const Block& block : all) {
    SCOPED_TRACE("docs/language.md:" + std::to_string(block.line));
    std::map<std::string, std::pair<std::string, std::vector<double>>> given;  // name: extents as written, values
    std::vector<std::vector<double>> expected;
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("// -> ")) {
        expected.push_back(numbers(line.substr(6)));
      } else if (const std::size_t is = line.find(" = "); line.starts_with("// ") && is != std::string::npos) {
        const std::string name = line.substr(3, is - 3);
        const std::size_t bracket = name.find('[');
        const std::string extents =
            bracket == std::string::npos ? "" : name.substr(bracket + 1, name.size() - bracket - 2);
        given[name.substr(0, bracket)] = {extents, numbers(line.substr(is + 3))};
      }
    }
    const Compiled c = compile_text(block.text);
    std::vector<Array> inputs;
    for (const ir::Argument& a : c.graph.arguments) {
      ASSERT_TRUE(given.contains(a.name)) << a.name;
      const auto& [extents, values] = given[a.name];
      ASSERT_FALSE(a.format.is_struct()) << a.name;
      if (!a.is_array) {
        inputs.push_back(scalar(values.at(0)));
        continue;
      }
      Shape shape = shape_of(c.graph, a, extents);
      // A single extent that the text leaves open is the number of values.
      if (shape.size() == 1 && shape[0] == 0) shape[0] = static_cast<i64>(values.size());
      ASSERT_EQ(element_count(shape), static_cast<i64>(values.size())) << a.name;
      Array image(a.format, shape);
      for (std::size_t k = 0; k < values.size(); ++k)
        store_element(a.format.scalar, static_cast<std::byte*>(image.data()) + k * a.format.size(), values[k]);
      inputs.push_back(image);
    }
    const std::vector<Result> results = run_all(block.text, inputs);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t k = 0; k < results.size(); ++k) {
      ASSERT_EQ(results[k].values.size(), expected[k].size()) << ::testing::PrintToString(results[k].values);
      for (std::size_t i = 0; i < expected[k].size(); ++i)
        EXPECT_TRUE(std::abs(results[k].values[i] - expected[k][i]) <= 1e-6 ||
                    (std::isnan(results[k].values[i]) && std::isnan(expected[k][i])))
            << expected[k][i] << " expected " << ::testing::PrintToString(results[k].values);
    }
  }
}

}  // namespace
}  // namespace tessera::lang::testing
