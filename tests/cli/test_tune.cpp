// `tessera tune`, and what stored prices do to the choice.
#include <nlohmann/json.hpp>

#include "engine/tune/prices.hpp"
#include "fixture.hpp"
#include "run/cpu/machine.hpp"

namespace tessera::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Not;

class Tune : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    if (const char* old = std::getenv("TESSERA_CACHE")) cache_ = old;
    fs::create_directory(path("cache"));
    setenv("TESSERA_CACHE", path("cache").c_str(), 1);
    unsetenv("TESSERA_PRICES");
    program("sum.forma",
            "table float K[i = 0..14, j = 0..14] = 1.0f / (1 + i * i + j * (15 - j) + (3 * i + 7 * j) % 5);\n"
            "stencil f(vector#2 float X) { return sum(i = 0..14, j = 0..14) (K[i,j] * X@[i-7,j-7]); }\n"
            "parameter M, N;\nvector#2 float x[M,N];\nreturn result = f(x:clamped);\n");
  }
  void TearDown() override {
    if (cache_)
      setenv("TESSERA_CACHE", cache_->c_str(), 1);
    else
      unsetenv("TESSERA_CACHE");
    setenv("TESSERA_PRICES", "", 1);  // what a user stored is no matter of the tests that follow
    Command::TearDown();
  }

  json explained() const {
    const Outcome o = tessera({"explain", "sum.forma", "--size", "2160x3840", "--json"});
    EXPECT_EQ(o.status, 0) << o.err;
    return json::parse(o.out);
  }

  // Prices by which transforms cost nothing, or sums that are written out.
  static std::string store(bool transforms) {
    machine::PriceSheet sheet{"cpu", run::cpu::machine().name, "2026-11-23", {}};
    for (double machine::Prices::* p : {&machine::Prices::tile_point, &machine::Prices::large_tile_point})
      sheet.prices.*p *= transforms ? 1e-3 : 1e3;
    return engine::store_prices(sheet);
  }

 private:
  std::optional<std::string> cache_;
};

TEST_F(Tune, StoredPricesTurnTheChoiceOver) {
  EXPECT_EQ(explained()["prices"], "built in");
  store(true);
  EXPECT_EQ(explained()["sums"][0]["method"], "transform");
  EXPECT_EQ(explained()["prices"], "measured");
  store(false);
  EXPECT_NE(explained()["sums"][0]["method"], "transform");
  const Outcome text = tessera({"explain", "sum.forma", "--size", "2160x3840"});
  EXPECT_THAT(text.out, HasSubstr("prices measured here"));
  EXPECT_EQ(tessera({"tune", "--reset"}).status, 0);
  EXPECT_EQ(explained()["prices"], "built in");
}

TEST_F(Tune, DamagedPricesAreANoteAndNoError) {
  const std::string path = store(false);
  static_cast<void>(tessera({"tune", "--reset"}));
  const json before = explained();
  base::write_file(path, std::string_view("{"));
  // This process has read the file already: a folder that it does not know.
  fs::rename(fs::path(path).parent_path(), this->path("other"));
  setenv("TESSERA_CACHE", this->path("other").c_str(), 1);
  const json after = explained();
  EXPECT_EQ(after["sums"], before["sums"]);
  EXPECT_EQ(after["prices"], "built in");
  EXPECT_THAT(after["remarks"].back().get<std::string>(), HasSubstr("are ignored: it is not JSON"));
  const Outcome shown = tessera({"tune", "--show"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("note: the prices in"), HasSubstr("prices built in")));
  EXPECT_EQ(tessera({"tune", "--reset"}).status, 0);
  EXPECT_THAT(tessera({"tune", "--show"}).out, Not(HasSubstr("note:")));
}

TEST_F(Tune, ShowsEveryPrice) {
  const Outcome o = tessera({"tune", "--show"});
  EXPECT_EQ(o.status, 0) << o.err;
  for (const machine::PriceName& p : machine::price_names())
    EXPECT_THAT(o.out, AllOf(HasSubstr(p.name), HasSubstr(p.meaning)));
  store(true);
  EXPECT_THAT(tessera({"tune", "--show"}).out, HasSubstr("prices measured 2026-11-23, in "));
}

TEST_F(Tune, RefusesWhatIsNotKnown) {
  expect_error(tessera({"tune", "--target", "cdua"}), 2, "unknown target 'cdua', expected cpu, cuda or opencl");
  expect_error(tessera({"tune", "--show", "--reset"}), 2, "--show and --reset");
  expect_error(tessera({"tune", "--device", "1"}), 2, "--device");
  setenv("TESSERA_CACHE", "", 1);
  expect_error(tessera({"tune", "--quick"}), 2, "there is no folder to store prices in");
}

// Before it measures: nothing was printed yet.
TEST_F(Tune, RefusesACacheThatCannotBeWritten) {
  const auto expect_refused = [&](const std::string& part) {
    const Outcome o = tessera({"tune", "--quick"});
    expect_error(o, 2, part);
    EXPECT_THAT(o.err, HasSubstr("help: let TESSERA_CACHE name a folder"));
    EXPECT_EQ(o.out, "");
  };
  const fs::path stored = store(true);
  fs::remove(stored);
  fs::create_directory(stored);
  expect_refused("cannot write '" + stored.string() + "': it is a folder");
  setenv("TESSERA_CACHE", path("grey.png").c_str(), 1);
  expect_refused("there is no folder to store prices in");
  setenv("TESSERA_CACHE", (path("grey.png") + "/below").c_str(), 1);
  expect_refused("there is no folder to store prices in");
}

// A cache of compiled code that is not there costs time alone.
TEST_F(Tune, RunsWithoutACache) {
  setenv("TESSERA_CACHE", (path("grey.png") + "/below").c_str(), 1);
  for (const char* verb : {"run", "explain"}) {
    const Outcome o = tessera({verb, "sum.forma", std::string(verb) == "run" ? "grey.png" : "--size=12x16"});
    EXPECT_EQ(o.status, 0) << o.err;
    EXPECT_EQ(o.err, "");
  }
}

}  // namespace
}  // namespace tessera::cli
