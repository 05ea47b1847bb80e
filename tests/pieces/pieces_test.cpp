// Grids cover their whole once, conveyors keep the order and hold few pieces, journals forget nothing that is on the
// disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>

#include "pieces/conveyor.hpp"
#include "pieces/grid.hpp"
#include "pieces/journal.hpp"
#include "pieces/pass_record.hpp"
#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

double points(const Region& box) {
  double n = 1;
  for (std::size_t d = 0; d < box.begin.size(); ++d) n *= static_cast<double>(box.end[d] - box.begin[d]);
  return n;
}

// Floats that are read with a halo on all sides.
Demand stencil(const Region& box, i64 halo) {
  double read = 4;
  for (std::size_t d = 0; d < box.begin.size(); ++d) read *= static_cast<double>(box.end[d] - box.begin[d] + 2 * halo);
  const double bytes = 2 * read + 8 * points(box);
  return {static_cast<i64>(bytes), bytes};
}

TEST(Grid, CoversItsWholeOnce) {
  const Grid grid{{{3, 5}, {25, 40}}, {10, 8}};
  std::vector<int> covered(25 * 40);
  for (i64 k = 0; k < grid.count(); ++k) {
    const Region box = grid.box(k);
    for (i64 y = box.begin[0]; y < box.end[0]; ++y)
      for (i64 x = box.begin[1]; x < box.end[1]; ++x) ++covered[static_cast<std::size_t>(y * 40 + x)];
  }
  EXPECT_EQ(grid.count(), 15);
  for (i64 y = 0; y < 25; ++y)
    for (i64 x = 0; x < 40; ++x)
      ASSERT_EQ(covered[static_cast<std::size_t>(y * 40 + x)], y >= 3 && x >= 5 ? 1 : 0) << y << "," << x;
}

TEST(Grid, FitsTheMemoryAndItsEdges) {
  const Region whole{{0, 0, 0}, {5000, 4000, 3000}};
  for (const i64 memory : {i64{1} << 22, i64{1} << 26, i64{1} << 30}) {
    const Chosen chosen = choose_grid(whole, {16, 32, 64}, memory, [](const Region& r) { return stencil(r, 4); });
    const Grid& grid = chosen.grid;
    EXPECT_EQ(stencil(grid.box(grid.count() / 2), 4).memory, chosen.memory);
    EXPECT_LE(chosen.memory, memory);
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_TRUE(grid.piece[d] == whole.end[d] || grid.piece[d] % (16 << d) == 0) << grid.piece[d];
  }
  // With more memory less is read twice.
  const auto work = [&](i64 memory) {
    const Grid grid = choose_grid(whole, {1, 1, 64}, memory, [](const Region& r) { return stencil(r, 20); }).grid;
    const Region box = grid.box(grid.count() / 2);
    return stencil(box, 20).work / points(box);
  };
  EXPECT_LT(work(i64{1} << 30), 1.5 * 16);
  EXPECT_LT(work(i64{1} << 30), work(i64{1} << 24));
}

// Some boxes take more than those at the ends and in the middle.
TEST(Grid, FitsWhereverItsBoxesLie) {
  const auto demand = [](const Region& r) {
    Demand d = stencil(r, 2);
    if (r.begin[0] <= 1300 && r.end[0] > 1300) d.memory *= 3;
    return d;
  };
  const i64 memory = i64{1} << 26;
  const auto [grid, taken] = choose_grid({{0, 0}, {6000, 5000}}, {1, 64}, memory, demand);
  for (i64 k = 0; k < grid.count(); ++k) ASSERT_LE(demand(grid.box(k)).memory, memory) << k;
  EXPECT_LE(taken, memory);
}

// With so much, whatever the place of the box that takes most, boxes are found.
TEST(Grid, SaysHowMuchIsEnough) {
  const Region whole{{0, 0}, {100, 100000}};
  const auto demand = [](const Region& r) {
    Demand d = stencil(r, 1);
    if (r.begin[0] <= 37 && r.end[0] > 37) d.memory *= 5;
    return d;
  };
  const std::function<Chosen(i64)> ways[] = {
      [&](i64 memory) { return choose_grid(whole, {1, 100000}, memory, demand); },
      [&](i64 memory) { return choose_rows(whole, memory, demand); }};
  for (const auto& choose : ways) {
    i64 needed = 0;
    try {
      choose(1000);
      ADD_FAILURE();
    } catch (const TooLittle& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("the least piece of the result, 1x100000, takes"));
      needed = e.needed;
    }
    EXPECT_THROW(choose(needed - 1), TooLittle);
    const auto [grid, taken] = choose(needed);
    EXPECT_LE(taken, needed);
    for (i64 k = 0; k < grid.count(); ++k) ASSERT_LE(demand(grid.box(k)).memory, needed) << k;
  }
}

Array number(i64 value) {
  Array a(ElementType::i32, {1});
  *a.as<std::int32_t>() = static_cast<std::int32_t>(value);
  return a;
}

TEST(Conveyor, KeepsTheOrderAndHoldsFewPieces) {
  std::vector<i64> pieces(50), written;
  std::iota(pieces.begin(), pieces.end(), 0);
  std::atomic<int> read = 0, computed = 0, most_read = 0, most_computed = 0;
  const auto raise = [](std::atomic<int>& most, int now) {
    if (now > most) most = now;
  };
  convey(pieces, {.read =
                      [&](i64 k) {
                        raise(most_read, ++read);
                        return Arrays{number(k)};
                      },
                  .compute =
                      [&](i64 k, Arrays in) {
                        EXPECT_EQ(*in[0].as<std::int32_t>(), k);
                        raise(most_computed, ++computed);
                        --read;
                        return Arrays{number(2 * k)};
                      },
                  .write =
                      [&](i64 k, Arrays out) {
                        EXPECT_EQ(*out[0].as<std::int32_t>(), 2 * k);
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        written.push_back(k);
                        --computed;
                      }});
  EXPECT_EQ(written, pieces);
  EXPECT_LE(most_read, 2);
  EXPECT_LE(most_computed, 2);
}

TEST(Conveyor, WritesSeveralPiecesAtOnce) {
  std::vector<i64> pieces(60);
  std::iota(pieces.begin(), pieces.end(), 0);
  constexpr int writers = 4;
  std::atomic<int> computed = 0, writing = 0, most_computed = 0, most_writing = 0;
  std::vector<std::atomic<int>> written(pieces.size());
  convey(pieces, {.read = [&](i64 k) { return Arrays{number(k)}; },
                  .compute =
                      [&](i64, const Arrays& in) {
                        if (const int now = ++computed; now > most_computed) most_computed = now;
                        return in;
                      },
                  .write =
                      [&](i64 k, const Arrays& out) {
                        if (const int now = ++writing; now > most_writing) most_writing = now;
                        EXPECT_EQ(*out[0].as<std::int32_t>(), k);
                        std::this_thread::sleep_for(std::chrono::milliseconds(3));
                        ++written[static_cast<std::size_t>(k)];
                        --writing;
                        --computed;
                      },
                  .writers = writers});
  for (const auto& count : written) EXPECT_EQ(count, 1);
  EXPECT_LE(most_computed, writers + 1);
  EXPECT_EQ(most_writing, writers);
}

TEST(Conveyor, EndsWithTheFirstFailure) {
  const std::vector<i64> pieces = {0, 1, 2, 3, 4, 5};
  for (const int where : {0, 1, 2, 3}) {
    const auto at = [&](int station, i64 k) {
      if (station == std::min(where, 2) && k == 3) throw Error(ErrorClass::io, "piece 3");
      return Arrays{number(k)};
    };
    try {
      convey(pieces, {.read = [&](i64 k) { return at(0, k); },
                      .compute = [&](i64 k, const Arrays&) { return at(1, k); },
                      .write = [&](i64 k, const Arrays&) { at(2, k); },
                      .writers = 1 + where});
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.message(), "piece 3");
    }
  }
  std::atomic<bool> cancel = false;
  EXPECT_THROW(convey(pieces,
                      {.read =
                           [&](i64 k) {
                             if (k == 2) cancel = true;
                             if (k == 2) std::this_thread::sleep_for(std::chrono::milliseconds(200));
                             return Arrays{number(k)};
                           },
                       .compute = [&](i64 k, const Arrays&) { return Arrays{number(k)}; },
                       .write = [](i64, const Arrays&) {}},
                      &cancel),
               Error);
}

TEST(Buffers, AreUsedAgain) {
  Buffers buffers;
  void* first = nullptr;
  {
    const Array a = buffers.take(ElementType::f32, {100, 100});
    first = a.data();
  }
  EXPECT_EQ(buffers.take(ElementType::f32, {90, 100}).data(), first);
  // By two threads, of many sizes: each has its own.
  std::vector<i64> pieces(300);
  std::iota(pieces.begin(), pieces.end(), 0);
  const auto filled = [&](i64 k) {
    const Array a = buffers.take(ElementType::u8, {1000 * (1 + k % 13)});
    std::fill_n(a.as<std::uint8_t>(), a.count(), static_cast<std::uint8_t>(k));
    return a;
  };
  const auto expect_filled = [](const Array& a, i64 k) {
    EXPECT_EQ(std::count(a.as<std::uint8_t>(), a.as<std::uint8_t>() + a.count(), static_cast<std::uint8_t>(k)),
              a.count());
  };
  convey(pieces, {.read = [&](i64 k) { return Arrays{filled(k)}; },
                  .compute =
                      [&](i64 k, const Arrays& in) {
                        const Array out = filled(k + 7);
                        expect_filled(in[0], k);
                        return Arrays{out};
                      },
                  .write = [&](i64 k, const Arrays& out) { expect_filled(out[0], k + 7); }});
}

class Journals : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-journal-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/out.npy";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static base::Digest work(int n) { return base::Hasher().number(n).finish(); }
  std::string folder_, path_;
};

TEST_F(Journals, RememberWhatIsOnTheDisk) {
  int synced = 0;
  const auto sync = [&] { ++synced; };
  {
    Journal journal(path_);
    journal.begin(work(1), 10, false);
    EXPECT_FALSE(journal.resumes());
    Written written(sync, [&](const std::vector<i64>& pieces) { journal.name(pieces); });
    written.add(3);
    written.add(7);
    written.flush();
    EXPECT_EQ(synced, 1);
    EXPECT_EQ(journal.count(), 2);
    written.add(8);  // not synchronised
  }
  {
    Journal journal(path_);
    journal.begin(work(1), 10, true);
    EXPECT_EQ(journal.count(), 2);
    EXPECT_TRUE(journal.resumes() && journal.is_done(3) && journal.is_done(7));
    EXPECT_FALSE(journal.is_done(8) || journal.is_done(0));
  }
  EXPECT_THROW(Journal(path_).begin(work(2), 10, true), Error);
  Journal again(path_);
  again.begin(work(2), 10, false);
  EXPECT_FALSE(again.is_done(3));
  again.remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Journals, OfWorkThatDidNotBeginAreGone) {
  Journal(path_).leave();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  {
    Journal journal(path_);
    journal.begin(work(1), 10, false);
    journal.leave();
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }
  {
    Journal journal(path_);
    journal.begin(work(1), 10, false);
    journal.name({3});
  }
  {
    Journal journal(path_);
    EXPECT_THROW(journal.begin(work(2), 10, true), Error);
    journal.leave();
  }
  Journal journal(path_);
  journal.begin(work(1), 10, true);
  journal.leave();
  EXPECT_FALSE(std::filesystem::is_empty(folder_));
}

TEST_F(Journals, OfTwoProcessesAreRefused) {
  const Journal first(path_);
  EXPECT_THROW(Journal{path_}, Error);
}

TEST_F(Journals, CutShortAnywhereNameWholeLinesAlone) {
  {
    Journal journal(path_);
    journal.begin(work(1), 100, false);
    for (i64 k = 0; k < 20; ++k) journal.name({3 * k});
  }
  const std::string name = path_ + ".journal";
  std::ifstream file(name);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t cut = text.find("piece"); cut <= text.size(); cut += 5)
    for (const bool flip : {false, true}) {
      std::string damaged = text.substr(0, cut);
      if (flip && cut < text.size()) damaged += static_cast<char>(text[cut] ^ 1) + text.substr(cut + 1);
      std::ofstream(name) << damaged;
      Journal journal(path_);
      journal.begin(work(1), 100, true);
      const auto lines =
          static_cast<i64>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut), '\n')) - 2;
      for (i64 k = 0; k < 20; ++k) EXPECT_EQ(journal.is_done(3 * k), k < lines) << cut << " " << k;
    }
}

class PassRecords : public Journals {
 protected:
  static constexpr const char* pieces = "8x40";
  std::string folder() const { return path_ + ".passes"; }
  void make(const std::string& name, i64 bytes) const {
    std::ofstream(folder() + "/" + name) << std::string(static_cast<std::size_t>(bytes), 'x');
  }
  std::string text_of(const char* name) const {
    std::ifstream file(folder() + "/" + name);
    return {(std::istreambuf_iterator<char>(file)), {}};
  }
  // Two passes, and four pieces of a third one, which writes into the image of the first.
  void begin() const {
    PassRecord record(path_);
    record.begin(work(1), false);
    make("0-0.partial", 64);
    record.add({1.5}, {"0-0.partial"});
    make("1-0.partial", 32);
    record.add({-0.0, std::nan("")}, {"1-0.partial"});
    record.set_under_way(pieces, {4, {{std::byte{1}, std::byte{254}}, {}}, {"0-0.partial"}});
  }
  // Passes, and pieces, with which a run of the same work goes on.
  std::pair<i64, i64> left() const {
    PassRecord record(path_);
    record.begin(work(1), true);
    return {record.done(), record.under_way(pieces).pieces};
  }
};

TEST_F(PassRecords, RememberNumbersAndPieces) {
  begin();
  PassRecord record(path_);
  record.begin(work(1), true);
  ASSERT_EQ(record.done(), 2);
  EXPECT_EQ(record.numbers(0), std::vector<double>{1.5});
  EXPECT_TRUE(std::signbit(record.numbers(1).at(0)) && std::isnan(record.numbers(1).at(1)));
  const PassRecord::UnderWay state = record.under_way(pieces);
  EXPECT_EQ(state.pieces, 4);
  EXPECT_EQ(state.totals.at(0), (std::vector<std::byte>{std::byte{1}, std::byte{254}}));
  EXPECT_EQ(state.images, std::vector<std::string>{"0-0.partial"});
  EXPECT_EQ(record.under_way("9x40").pieces, 0);
  record.add({}, {"0-0.partial"});
  EXPECT_EQ(record.under_way(pieces).pieces, 0);  // of the pass before
  EXPECT_EQ(left(), std::pair(i64{3}, i64{0}));
  record.remove();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(PassRecords, KnowTheirImages) {
  begin();
  PassRecord record(path_);
  record.begin(work(1), true);
  EXPECT_TRUE(record.holds("0-0.partial", 0) && record.holds("1-0.partial", 1));
  EXPECT_FALSE(record.holds("0-0.partial", 1) || record.holds("0-0.partial", 2) || record.holds("2-0.partial", 0));
  // Another file of the same size, and one that is written again.
  std::filesystem::rename(folder() + "/1-0.partial", folder() + "/old");
  make("1-0.partial", 32);
  EXPECT_FALSE(record.holds("1-0.partial", 1));
  std::filesystem::rename(folder() + "/old", folder() + "/1-0.partial");
  EXPECT_TRUE(record.holds("1-0.partial", 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // what a system's clock of files may take
  std::fstream(folder() + "/1-0.partial") << 'y';
  EXPECT_FALSE(record.holds("1-0.partial", 1));
  // The one under way is written all the time, but stays the same file.
  std::fstream(folder() + "/0-0.partial") << 'y';
  EXPECT_EQ(record.under_way(pieces).pieces, 4);
  std::filesystem::remove(folder() + "/0-0.partial");
  EXPECT_EQ(record.under_way(pieces).pieces, 0);
}

TEST_F(PassRecords, OfOtherWorkAreRefused) {
  begin();
  EXPECT_THROW(PassRecord(path_).begin(work(2), true), Error);
  EXPECT_EQ(left(), std::pair(i64{2}, i64{4}));
  PassRecord again(path_);
  again.begin(work(2), false);
  EXPECT_EQ(again.done(), 0);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/0-0.partial"));
  // One of which nothing is done is of any work.
  PassRecord(path_).begin(work(3), true);
}

TEST_F(PassRecords, OfAnotherStartOfTheMachineCountAsNothing) {
  begin();
  std::string text = text_of("record");
  const std::size_t at = text.find('-');
  text[at + 1] = text[at + 1] == '0' ? '1' : '0';
  std::ofstream(folder() + "/record") << text;
  EXPECT_EQ(left(), std::pair(i64{0}, i64{0}));
}

TEST_F(PassRecords, CutShortOrDamagedAnywhereBeginAgain) {
  begin();
  const std::string record = text_of("record"), under_way = text_of("under_way");
  const auto changed = [](std::string text, std::size_t n) {
    text[n] = text[n] == '7' ? '8' : '7';
    return text;
  };
  // A later pass may have written where an earlier one has.
  const std::size_t line = record.find("\npass 1") + 1;
  for (const bool damaged : {false, true})
    for (std::size_t n = 0; n < record.size(); ++n) {
      begin();
      std::ofstream(folder() + "/record") << (damaged ? changed(record, n) : record.substr(0, n));
      std::pair<i64, i64> found;
      try {
        found = left();
      } catch (const Error&) {  // no record, or one of other work
        EXPECT_TRUE(n < record.find("\npass 0"));
        std::filesystem::remove_all(folder());
      }
      EXPECT_EQ(found, std::pair(i64{!damaged && n == line ? 1 : 0}, i64{0})) << n << damaged;
    }
  for (std::size_t n = 0; n < under_way.size(); ++n) {
    begin();
    const std::string now = text_of("under_way");
    std::ofstream(folder() + "/under_way") << now.substr(0, n);
    EXPECT_EQ(left(), std::pair(i64{2}, i64{0})) << n;
    std::ofstream(folder() + "/under_way") << changed(now, n);
    EXPECT_EQ(left(), std::pair(i64{2}, i64{0})) << n;
  }
}

TEST_F(PassRecords, LeaveWhatIsNotTheirs) {
  const auto refused = [&] {
    try {
      PassRecord{path_};
      return std::string();
    } catch (const Error& e) {
      EXPECT_EQ(e.error_class(), ErrorClass::io);
      return std::string(e.what());
    }
  };
  const auto stays = [&](const char* what) {
    EXPECT_THAT(refused(), testing::HasSubstr("stands where the record of its passes goes, and is none")) << what;
    PassRecord::remove(path_);
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(folder()))) << what;
    std::filesystem::remove_all(folder());
  };
  std::filesystem::create_directory(folder());
  make("notes.txt", 5);
  stays("a folder");
  std::filesystem::create_directory(folder());
  make("record", 5);
  stays("a record of something else");
  std::filesystem::create_directories(folder() + "/record");
  stays("a folder in place of the record");
  std::filesystem::create_directory(folder());
  ASSERT_EQ(::mkfifo((folder() + "/record").c_str(), 0600), 0);
  stays("a pipe");
  std::ofstream(folder()) << "mine";
  stays("a file");
  std::filesystem::create_directory_symlink(".", folder());
  stays("a link");
  std::filesystem::create_directory_symlink(folder(), folder());
  stays("a link to itself");
  // Of a record everything goes but what it does not know.
  begin();
  make("notes.txt", 5);
  make("-0.partial", 5);
  PassRecord::remove(path_);
  EXPECT_FALSE(std::filesystem::exists(folder() + "/record") || std::filesystem::exists(folder() + "/0-0.partial"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/notes.txt") && std::filesystem::exists(folder() + "/-0.partial"));
}

}  // namespace
}  // namespace tessera::pieces
