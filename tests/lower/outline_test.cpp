// Named blocks of large modules become functions; equal ones become one.
#include "lower/outline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/nest/builder.hpp"

namespace tessera::lower {
namespace {

using ir::nest::Builder;
using ir::nest::Function;
using ir::nest::integer;
using ir::nest::Lane;
using ir::nest::Module;
using ir::nest::StatementKind;
using ir::nest::Type;
using ir::nest::Value;
using ir::nest::variable;

// Two functions, each with two blocks of `statements` stores: the first blocks store the same at different places, the
// second ones differ by a constant.
Module module_of(int statements) {
  Module module;
  for (int f = 0; f < 2; ++f) {
    Function function;
    function.name = fmt::format("f{}", f);
    function.parameters = {{"P", {Lane::u8, 1, true}, false, true}, {"tile", {}, false, false}};
    Builder b(function.body);
    for (int k = 0; k < f; ++k) b.fresh("skipped");  // names differ
    Value base = b.let(
        "base", ir::nest::call("tsr_array", {Lane::u8, 1, true}, {variable("P", {Lane::u8, 1, true}), integer(f)}));
    for (int block = 0; block < 2; ++block)
      b.block(fmt::format("f{}_block{}", f, block), [&] {
        b.loop("x", integer(0), variable("tile", {}), integer(1), [&](const Value& x) {
          for (int k = 0; k < statements; ++k) {
            Value at = b.let("at", x + (k + block * (f + 1)));
            b.store(base, at, integer(7, {Lane::u8, 1, false}));
          }
        });
      });
    module.functions.push_back(std::move(function));
  }
  ir::nest::verify(module);
  return module;
}

TEST(Outline, SmallModulesStayAsTheyAre) {
  Module module = module_of(3);
  outline_blocks(module);
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[0].body.back().kind, StatementKind::block);
}

TEST(Outline, EqualBlocksShareAFunction) {
  Module module = module_of(500);
  outline_blocks(module);
  EXPECT_NO_THROW(ir::nest::verify(module));
  std::vector<std::string> names;
  for (const Function& f : module.functions) names.push_back(f.name);
  EXPECT_EQ(names, (std::vector<std::string>{"f0_block0", "f0_block1", "f0", "f1_block1", "f1"}));
  const Function& local = module.functions[0];
  EXPECT_TRUE(local.local);
  EXPECT_FALSE(module.functions[2].local);
  const ir::nest::Statement& call = module.functions[4].body[1];
  EXPECT_EQ(call.kind, StatementKind::call);
  EXPECT_EQ(call.name, "f0_block0");
  ASSERT_EQ(call.values.size(), local.parameters.size());
  EXPECT_EQ(call.values[0]->name, "tile");
  EXPECT_EQ(call.values[1]->name, module.functions[4].body[0].name);
}

}  // namespace
}  // namespace tessera::lower
