// Prices as text: what is written is read again, and nothing else is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>

#include "machine/price_sheet.hpp"

namespace tessera::machine {
namespace {

using nlohmann::json;
using testing::HasSubstr;

PriceSheet sample() {
  PriceSheet sheet{"cpu", "A Processor \"9000\"", "2026-11-23", {}};
  double factor = 1;
  for (const PriceName& p : price_names()) sheet.prices.*p.value *= factor += 0.125;
  return sheet;
}

TEST(Prices, EveryNumberHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const PriceName& p : price_names()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_GT(Prices{}.*p.value, 0) << p.name;
  }
  EXPECT_EQ(price_names().size() * sizeof(double), offsetof(Prices, measured));
}

TEST(Prices, WhatIsWrittenIsReadAgain) {
  const PriceSheet sheet = sample();
  std::string reason;
  const auto read = price_sheet_of(to_json(sheet), reason);
  ASSERT_TRUE(read.has_value()) << reason;
  EXPECT_EQ(read->target, sheet.target);
  EXPECT_EQ(read->device, sheet.device);
  EXPECT_EQ(read->measured, sheet.measured);
  for (const PriceName& p : price_names()) EXPECT_EQ(read->prices.*p.value, sheet.prices.*p.value) << p.name;
  EXPECT_TRUE(read->prices.measured);
  EXPECT_FALSE(Prices{}.measured);
}

std::string reason_for(const std::string& text) {
  std::string reason;
  EXPECT_FALSE(price_sheet_of(text, reason).has_value()) << text;
  return reason;
}

TEST(Prices, OtherTextsAreRefused) {
  const std::string text = to_json(sample());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 3})
    EXPECT_EQ(reason_for(text.substr(0, size)), "it is not JSON");
  EXPECT_EQ(reason_for("[1]"), "it is no file of prices");
  EXPECT_EQ(reason_for("{}"), "it is no file of prices");
  json j = json::parse(text);
  j["set"] = "0";
  EXPECT_EQ(reason_for(j.dump()), "it was measured by another version of tessera");
  j = json::parse(text);
  j["format"] = 3;
  EXPECT_EQ(reason_for(j.dump()), "it is no file of prices");
  j = json::parse(text);
  j["prices"] = json::array();
  EXPECT_EQ(reason_for(j.dump()), "it has no prices");
  j = json::parse(text);
  j["prices"].erase("term");
  EXPECT_EQ(reason_for(j.dump()), "the price 'term' is missing");
  for (const char* value : {"0", "-1", "1e300", "\"1\"", "null"}) {
    j["prices"]["term"] = json::parse(value);
    EXPECT_THAT(reason_for(j.dump()), HasSubstr("'term'")) << value;
  }
}

}  // namespace
}  // namespace tessera::machine
