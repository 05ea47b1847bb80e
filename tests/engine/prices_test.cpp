// Stored prices: found where they were put, ignored where they are damaged; and prices that are fitted to times.
#include "engine/tune/prices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/files/files.hpp"
#include "engine/tune/tune.hpp"

namespace tessera::engine {
namespace {

namespace fs = std::filesystem;
using machine::Prices;
using testing::AllOf;
using testing::HasSubstr;

class StoredPrices : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-prices-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    if (const char* old = std::getenv("TESSERA_CACHE")) cache_ = old;
    setenv("TESSERA_CACHE", folder_.c_str(), 1);
    unsetenv("TESSERA_PRICES");
  }
  void TearDown() override {
    fs::remove_all(folder_);
    unsetenv("TESSERA_PRICES");
    if (cache_)
      setenv("TESSERA_CACHE", cache_->c_str(), 1);
    else
      unsetenv("TESSERA_CACHE");
  }

  static machine::PriceSheet sheet(double term) {
    machine::PriceSheet s{"cpu", "A Processor", "2026-11-23", {}};
    s.prices.term = term;
    return s;
  }

  fs::path folder_;
  std::optional<std::string> cache_;
};

TEST_F(StoredPrices, AreUsedUntilTheyAreForgotten) {
  EXPECT_EQ(prices_in_use("cpu", "A Processor").prices, Prices{});
  const std::string path = store_prices(sheet(0.5));
  EXPECT_EQ(path, (folder_ / "prices-cpu-a-processor.json").string());
  const PricesInUse found = prices_in_use("cpu", "A Processor");
  EXPECT_EQ(found.prices.term, 0.5);
  EXPECT_TRUE(found.prices.measured);
  EXPECT_EQ(found.measured, "2026-11-23");
  EXPECT_EQ(found.note, "");
  EXPECT_EQ(prices_in_use("cpu", "Another").prices, Prices{});
  EXPECT_EQ(prices_in_use("cuda", "A Processor").prices, Prices{});
  EXPECT_TRUE(forget_prices("cpu", "A Processor"));
  EXPECT_FALSE(forget_prices("cpu", "A Processor"));
  EXPECT_EQ(prices_in_use("cpu", "A Processor").prices, Prices{});
}

TEST_F(StoredPrices, OfDamagedFilesAreIgnoredWithANote) {
  base::write_file((folder_ / "prices-cpu-a-processor.json").string(), std::string_view("{\"format\": "));
  PricesInUse found = prices_in_use("cpu", "A Processor");
  EXPECT_EQ(found.prices, Prices{});
  EXPECT_THAT(found.note,
              AllOf(HasSubstr("prices-cpu-a-processor.json are ignored: it is not JSON"), HasSubstr("tune")));
  // Names that become the same file are told apart by what stands in it.
  base::write_file((folder_ / "prices-cpu-b-processor.json").string(), std::string_view(machine::to_json(sheet(0.5))));
  found = prices_in_use("cpu", "B/Processor");
  EXPECT_EQ(found.prices, Prices{});
  EXPECT_THAT(found.note, HasSubstr("it is of cpu 'A Processor'"));
  fs::create_directory(folder_ / "prices-cpu-c.json");
  EXPECT_THAT(prices_in_use("cpu", "C").note, HasSubstr("it cannot be read"));
}

TEST_F(StoredPrices, AnotherFileCanBeNamed) {
  store_prices(sheet(0.5));
  setenv("TESSERA_PRICES", "", 1);
  EXPECT_EQ(prices_in_use("cpu", "A Processor").prices, Prices{});
  EXPECT_EQ(prices_in_use("cpu", "A Processor").note, "");
  const std::string other = (folder_ / "other.json").string();
  base::write_file(other, std::string_view(machine::to_json(sheet(0.25))));
  setenv("TESSERA_PRICES", other.c_str(), 1);
  EXPECT_EQ(prices_in_use("cuda", "Any").prices.term, 0.25);
  setenv("TESSERA_PRICES", (folder_ / "missing.json").c_str(), 1);
  EXPECT_THAT(prices_in_use("cpu", "A Processor").note, HasSubstr("it cannot be read"));
  EXPECT_EQ(prices_in_use("cpu", "A Processor").prices, Prices{});
}

TEST_F(StoredPrices, NeedAFolder) {
  setenv("TESSERA_CACHE", "", 1);
  EXPECT_EQ(prices_in_use("cpu", "A Processor").file, "");
  EXPECT_THROW(store_prices(sheet(0.5)), Error);
  EXPECT_FALSE(forget_prices("cpu", "A Processor"));
}

TEST_F(StoredPrices, AreWholeWhateverManyWrite) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      for (int k = 0; k < 8; ++k) {
        store_prices(sheet(1 + t));
        const PricesInUse found = prices_in_use("cpu", "A Processor");
        EXPECT_EQ(found.note, "");
        EXPECT_GE(found.prices.term, 1);
      }
    });
  for (std::thread& t : threads) t.join();
  std::string reason;
  EXPECT_TRUE(machine::price_sheet_of(base::read_text((folder_ / "prices-cpu-a-processor.json").string()), reason));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// ---- fitting -------------------------------------------------------------------------------------------------------

TEST(FittedPrices, AreThoseThatMadeTheTimes) {
  Prices truth;
  truth.term *= 1.7, truth.tap *= 0.6, truth.kept *= 2, truth.tile_point *= 1.2, truth.large_tile_point *= 0.5;
  const auto foretold = [](std::size_t k, const Prices& p) {
    switch (k) {
      case 0:
        return 81 * p.term;
      case 1:
        return 225 * p.term;
      case 2:
        return 18 * p.tap + p.kept;
      case 3:
        return 62 * p.tap + p.kept;
      case 4:
        return p.tile_point;
      default:
        return p.tile_point + 3 * p.large_tile_point;
    }
  };
  std::vector<double> times;
  for (std::size_t k = 0; k < 6; ++k) times.push_back(foretold(k, truth));
  const Prices found = fitted({}, times, foretold);
  for (std::size_t k = 0; k < times.size(); ++k) EXPECT_NEAR(foretold(k, found) / times[k], 1, 0.02) << k;
  EXPECT_NEAR(found.term / truth.term, 1, 0.02);
  EXPECT_NEAR(found.tap / truth.tap, 1, 0.05);
}

TEST(FittedPrices, FollowACommonFactorWhereNothingWasMeasured) {
  const auto foretold = [](std::size_t k, const Prices& p) { return k == 0 ? 81 * p.term : 49 * p.row_term; };
  const Prices start;
  const Prices found = fitted(start, {3 * 81 * start.term, 3 * 49 * start.row_term}, foretold);
  for (const machine::PriceName& p : machine::price_names())
    EXPECT_NEAR(found.*p.value / start.*p.value, 3, 0.01) << p.name;
  EXPECT_EQ(fitted(start, {}, foretold), start);
}

TEST(FittedPrices, BelieveShortTimesMore) {
  const auto foretold = [](std::size_t, const Prices& p) { return p.term; };
  EXPECT_NEAR(fitted({}, {1, 1.02, 1, 2.5}, foretold).term, 1, 0.05);
  EXPECT_GT(fitted({}, {1, 1, 1.1, 1.1}, foretold).term, 1);
}

TEST(FittedPrices, OfSumsThatWereMeasured) {
  TuneOptions options;
  options.quick = true, options.only = "9x9 weights", options.shrink = 16;
  std::vector<std::string> seen;
  options.on_progress = [&](const std::string& what, int done, int total) {
    EXPECT_EQ(done, static_cast<int>(seen.size()));
    EXPECT_EQ(total, 4);
    seen.push_back(what);
  };
  const Tuned found = tune(options);
  EXPECT_EQ(found.target, "cpu");
  EXPECT_NE(found.device, "");
  EXPECT_TRUE(found.prices.measured);
  EXPECT_THAT(seen, testing::ElementsAre("9x9 weights, direct", "9x9 weights, separable", "9x9 weights, transform",
                                         "9x9 weights of bytes, transform"));
  ASSERT_EQ(found.trials.size(), 4u);
  for (const Trial& t : found.trials) {
    EXPECT_TRUE(t.nanoseconds > 0 && std::isfinite(t.nanoseconds)) << t.name;
    EXPECT_TRUE(t.before > 0 && t.after > 0) << t.name;
  }
  options.only = "no such sum";
  EXPECT_THROW(tune(options), Error);
}

}  // namespace
}  // namespace tessera::engine
