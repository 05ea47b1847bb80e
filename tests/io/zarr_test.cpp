// Zarr and OME-Zarr, read by region: folders made by hand, whose bytes the test knows.
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "io/zarr/metadata.hpp"
#include "io/zarr/ome.hpp"
#include "zarr_support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;
using zarr::ByteCodec;
using zarr::Chain;

class Zarr : public ZarrTest {
 protected:
  void put_chunks(const std::string& folder, const std::vector<std::string>& names) const {
    for (std::size_t k = 0; k < names.size(); ++k) put(folder + "/" + names[k], chunk(10 * static_cast<int>(k + 1)));
  }
};

TEST_F(Zarr, ArraysOfBothVersions) {
  put("3.zarr/zarr.json", v3());
  put_chunks("3.zarr", {"c/0/0", "c/0/1", "c/1/0", "c/1/1"});
  put("2.zarr/.zarray", v2());
  put_chunks("2.zarr", {"0.0", "0.1", "1.0", "1.1"});
  for (const std::string name : {"3.zarr", "2.zarr", "3.zarr/", "2.zarr//"}) {
    const std::unique_ptr<FileReader> reader = open(name);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->layout().format_name, "Zarr");
    EXPECT_EQ(reader->layout().shape, (Shape{3, 5}));
    EXPECT_EQ(reader->layout().chunk, (Shape{2, 3}));
    EXPECT_TRUE(reader->layout().letters.empty());
    expect_same(read_region(*reader, all_of({3, 5})), four_chunks(), name);
  }
}

TEST_F(Zarr, NamesOfChunks) {
  const std::pair<std::string, std::vector<std::string>> encodings[] = {
      {R"({"name": "default", "configuration": {"separator": "."}})", {"c.0.0", "c.0.1", "c.1.0", "c.1.1"}},
      {R"({"name": "v2"})", {"0.0", "0.1", "1.0", "1.1"}},
      {R"({"name": "v2", "configuration": {"separator": "/"}})", {"0/0", "0/1", "1/0", "1/1"}}};
  int k = 0;
  for (const auto& [encoding, names] : encodings) {
    const std::string folder = std::to_string(k++);
    put(folder + "/zarr.json", v3({{"chunk_key_encoding", encoding}}));
    put_chunks(folder, names);
    expect_same(read(folder), four_chunks(), encoding);
  }
  put("2/.zarray", v2({{"dimension_separator", R"("/")"}}));
  fs::remove(path("2/zarr.json"));
  expect_same(read("2"), four_chunks());
}

TEST_F(Zarr, ChunksThatAreNotThereAreTheFillValue) {
  put("a/zarr.json", v3());
  put("a/c/0/1", chunk(20));
  const std::uint16_t values[] = {7, 7, 7, 20, 21, 7, 7, 7, 23, 24, 7, 7, 7, 7, 7};
  expect_same(read("a"), Array::from<std::uint16_t>(values, {3, 5}));
}

TEST_F(Zarr, FillValues) {
  const auto first = [&](const std::string& type, const std::string& fill) {
    put("a/zarr.json", v3({{"data_type", "\"" + type + "\""}, {"fill_value", fill}}));
    return read("a");
  };
  EXPECT_EQ(first("int32", "-5").as<std::int32_t>()[14], -5);
  EXPECT_EQ(first("uint32", "4294967295").as<std::uint32_t>()[14], 4294967295u);
  EXPECT_EQ(first("float64", "0.1").as<double>()[14], 0.1);
  EXPECT_EQ(first("bool", "true").as<std::uint8_t>()[14], 1);
  EXPECT_TRUE(std::isnan(first("float32", R"("NaN")").as<float>()[14]));
  EXPECT_EQ(first("float32", R"("-Infinity")").as<float>()[14], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(first("float32", R"("0x3f800000")").as<float>()[14], 1.0f);
  EXPECT_EQ(first("float16", R"("0x3C00")").as<std::uint16_t>()[14], 0x3c00);
  put("a/.zarray", v2({{"fill_value", "null"}}));
  fs::remove(path("a/zarr.json"));
  EXPECT_EQ(read("a").as<std::uint16_t>()[14], 0);
}

TEST_F(Zarr, AnyRegionIsThatOfTheWhole) {
  put("a/zarr.json", v3());
  put_chunks("a", {"c/0/0", "c/0/1", "c/1/0", "c/1/1"});
  const std::unique_ptr<FileReader> reader = open("a");
  const Array whole = four_chunks();
  for (i64 y = 0; y <= 3; ++y)
    for (i64 y_end = y; y_end <= 3; ++y_end)
      for (i64 x = 0; x <= 5; ++x)
        for (i64 x_end = x; x_end <= 5; ++x_end) {
          const Region region{{y, x}, {y_end, x_end}};
          expect_same(read_region(*reader, region), whole.region(region.begin, region.end).clone());
        }
  const Array wrong(E::u16, {1, 1});
  EXPECT_THAT(message_of([&] { reader->read({{0, 0}, {4, 1}}, Array(E::u16, {4, 1})); }, ErrorClass::argument),
              HasSubstr("not within"));
  EXPECT_THAT(message_of([&] { reader->read({{0, 0}, {2, 1}}, wrong); }, ErrorClass::argument), HasSubstr("needs an"));
  message_of([&] { reader->read({{0, 0}, {1, 1}}, Array(E::u8, {1, 1})); }, ErrorClass::argument);
  message_of([&] { reader->read({{0}, {1}}, wrong); }, ErrorClass::argument);
}

TEST_F(Zarr, StridesOfTheArrayAreItsOwn) {
  put("a/zarr.json", v3());
  put_chunks("a", {"c/0/0", "c/0/1", "c/1/0", "c/1/1"});
  std::vector<std::uint16_t> values(15);
  const Array turned = Array::borrow(values.data() + 14, E::u16, {3, 5}, {-2, -6});
  open("a")->read(all_of({3, 5}), turned);
  expect_same(turned, four_chunks());
}

// ---- codecs ------------------------------------------------------------------------------------------------------

std::vector<Chain> chains() {
  using K = ByteCodec::Kind;
  const auto packed = [](K kind, int level) {
    ByteCodec codec;
    codec.kind = kind;
    codec.level = level;
    return codec;
  };
  std::vector<Chain> out{{}, {{2, 0, 1}, false, {}}, {{}, true, {}}, {{1, 0, 2}, true, {packed(K::zlib, 9)}}};
  for (const K kind : {K::gzip, K::zlib, K::zstd, K::crc32c}) out.push_back({{}, false, {packed(kind, 1)}});
  ByteCodec checked = packed(K::zstd, 5);
  checked.checksum = true;
  out.push_back({{}, false, {checked}});
  for (const char* compressor : {"blosclz", "lz4", "lz4hc", "zlib", "zstd"})
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      ByteCodec codec = packed(K::blosc, 5);
      codec.compressor = compressor;
      codec.shuffle = shuffle;
      codec.type_size = 4;
      out.push_back({{}, false, {codec}});
    }
  out.push_back({{2, 1, 0}, true, {packed(K::zstd, 3), packed(K::gzip, 1), packed(K::crc32c, 0)}});
  return out;
}

TEST(ZarrCodecs, WhatIsEncodedIsDecoded) {
  for (const E type : {E::boolean, E::u8, E::i16, E::u32, E::f16, E::f32, E::f64}) {
    for (const Chain& chain : chains()) {
      const Shape shape{7, 5, 33};
      const Array array = random_array(type, shape);
      const std::vector<std::byte> elements = bytes_of(array);
      const std::vector<std::byte> stored = zarr::encode(chain, type, shape, elements);
      EXPECT_LE(static_cast<i64>(stored.size()), zarr::most_stored(chain, static_cast<i64>(elements.size())));
      std::vector<std::byte> back(elements.size());
      zarr::decode(chain, type, shape, stored, back, "a");
      EXPECT_TRUE(back == elements);
    }
  }
}

TEST(ZarrCodecs, NothingBeyondTheChunkComesOut) {
  const Shape shape{4, 4, 4};
  const Array array = random_array(E::u16, shape), larger = random_array(E::u16, {4, 4, 5});
  for (const Chain& chain : chains()) {
    for (const Array& other : {larger, larger.region(std::vector<i64>{0, 0, 0}, std::vector<i64>{4, 4, 3}).clone()}) {
      const std::vector<std::byte> stored = zarr::encode(chain, E::u16, other.shape(), bytes_of(other));
      std::vector<std::byte> to(128);
      EXPECT_THAT(message_of([&] { zarr::decode(chain, E::u16, shape, stored, to, "a"); }),
                  HasSubstr("cannot read 'a' as Zarr"));
    }
  }
}

TEST(ZarrCodecs, TheChecksumOfCastagnoli) {
  const std::string digits = "123456789";  // the check value of the catalogue of CRCs
  EXPECT_EQ(zarr::crc32c(std::as_bytes(std::span(digits))), 0xe3069283u);
  EXPECT_EQ(zarr::crc32c({}), 0u);
}

TEST_F(Zarr, NumbersInTheOtherByteOrder) {
  put("a/.zarray", v2({{"dtype", R"(">u2")"}, {"order", R"("F")"}}));
  put("a/0.0", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12));
  const std::uint16_t values[] = {1, 3, 5, 2, 4, 6};
  expect_same(read_region(*open("a"), {{0, 0}, {2, 3}}), Array::from<std::uint16_t>(values, {2, 3}));
}

TEST_F(Zarr, BooleansAreZeroAndOne) {
  put("a/.zarray", v2({{"dtype", R"("|b1")"}, {"fill_value", "false"}}));
  put("a/0.0", std::string("\0\1\2\xff\0\1", 6));
  const Array array = read_region(*open("a"), {{0, 0}, {2, 3}});
  EXPECT_EQ(std::vector<int>(array.as<std::uint8_t>(), array.as<std::uint8_t>() + 6),
            (std::vector<int>{0, 1, 1, 1, 0, 1}));
}

// ---- shards ------------------------------------------------------------------------------------------------------

std::string number(std::uint64_t value, bool swapped) {
  std::string text;
  for (int k = 0; k < 8; ++k) text += static_cast<char>(value >> 8 * (swapped ? 7 - k : k));
  return text;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(Zarr, ShardsWithTheIndexAtEitherEnd) {
  for (const bool at_end : {false, true}) {
    for (const bool checked : {false, true}) {
      const bool swapped = checked;
      const std::string index_codecs = std::string(R"([{"name": "bytes", "configuration": {"endian": ")") +
                                       (swapped ? "big" : "little") + "\"}}" +
                                       (checked ? R"(, {"name": "crc32c"}])" : "]");
      put("a/zarr.json",
          v3({{"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [2, 6]}})"},
              {"codecs",
               R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "index_location": ")" +
                   std::string(at_end ? "end" : "start") + R"(", "index_codecs": )" + index_codecs +
                   R"(, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}])"}}));
      const std::uint64_t begin = at_end ? 0 : checked ? 36 : 32;
      const auto shard = [&](const std::string& units, const std::vector<std::uint64_t>& places) {
        std::string index;
        for (const std::uint64_t place : places) index += number(place, swapped);
        if (checked) {
          ByteCodec codec;
          codec.kind = ByteCodec::Kind::crc32c;
          const auto bytes = std::as_bytes(std::span(index));
          index = text_of(zarr::encode({{}, false, {codec}}, E::u8, {static_cast<i64>(index.size())}, bytes));
        }
        return at_end ? units + index : index + units;
      };
      const std::string first = text_of(chunk(10)), second = text_of(chunk(20)), third = text_of(chunk(30));
      // Units may lie in any order.
      put("a/c/0/0", shard(second + first, {begin + 12, 12, begin, 12}));
      put("a/c/1/0", shard("some" + third, {begin + 4, 12, zarr::no_unit, zarr::no_unit}));
      const std::unique_ptr<FileReader> reader = open("a");
      EXPECT_EQ(reader->layout().chunk, (Shape{2, 3}));
      const std::uint16_t values[] = {10, 11, 12, 20, 21, 13, 14, 15, 23, 24, 30, 31, 32, 7, 7};
      expect_same(read_region(*reader, all_of({3, 5})), Array::from<std::uint16_t>(values, {3, 5}));
      // A unit that is not asked for may be wrong.
      put("a/c/0/0", shard(second + first, {begin + 12, 12, begin, 13}));
      EXPECT_EQ(read_region(*open("a"), {{0, 0}, {1, 1}}).as<std::uint16_t>()[0], 10);
      EXPECT_THAT(failure("a"), HasSubstr("it holds 13 bytes, but its extents ask for 12"));
      put("a/c/0/0", shard(second + first, {begin + 13, 1u << 20, begin, 12}));
      EXPECT_THAT(failure("a"), HasSubstr("its index says that chunk 0 has 1048576 bytes"));
      put("a/c/0/0", shard(second + first, {zarr::no_unit - 1, 12, begin, 12}));
      EXPECT_THAT(failure("a"), HasSubstr("its index says that chunk 0 has 12 bytes"));
      put("a/c/0/0", std::string(20, 'a'));
      EXPECT_THAT(failure("a"), HasSubstr("too few for the index of a shard"));
      if (!checked) continue;
      std::string wrong = shard(second + first, {begin + 12, 12, begin, 12});
      wrong[at_end ? 24 : 0] ^= 1;
      put("a/c/0/0", wrong);
      EXPECT_THAT(failure("a"), HasSubstr("its checksum is"));
    }
  }
}

// ---- dimensions --------------------------------------------------------------------------------------------------

TEST_F(Zarr, NamesOfDimensionsAreLetters) {
  const auto letters = [&](const std::string& names) {
    put("a/zarr.json", v3({{"dimension_names", names}}));
    return open("a")->layout().letters;
  };
  EXPECT_EQ(letters(R"(["y", "x"])"), "yx");
  EXPECT_EQ(letters(R"(["C", "X"])"), "cx");
  EXPECT_EQ(letters(R"(["time", "x"])"), "qx");
  EXPECT_EQ(letters(R"([null, "x"])"), "qx");
  EXPECT_EQ(letters(R"(["lat", "lon"])"), "");
  EXPECT_EQ(letters(R"(["x", "x"])"), "");
  EXPECT_EQ(letters("null"), "");
  put("b/.zarray", v2());
  put("b/.zattrs", R"({"_ARRAY_DIMENSIONS": ["z", "x"]})");
  EXPECT_EQ(open("b")->layout().letters, "zx");
}

constexpr const char* multiscales = R"({"multiscales": [{"version": "0.4", "name": "a",
  "axes": [{"name": "t", "type": "time", "unit": "millisecond"}, {"name": "c", "type": "channel"},
           {"name": "z", "type": "space", "unit": "micrometer"}, {"name": "y", "type": "space", "unit": "angstrom"},
           {"name": "x", "type": "space"}],
  "datasets": [
    {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 0.5, 2, 3]}, {"type": "translation", "translation": [0, 0, 0, 0, 1]}]},
    {"path": "low/1", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 0.5, 4, 6]}]}],
  "coordinateTransformations": [{"type": "scale", "scale": [20, 1, 1, 1, 1]}]}]})";

TEST_F(Zarr, GroupsOfOmeSayDimensionsAndSteps) {
  const std::string array = v2({{"shape", "[1, 1, 1, 1, 1]"}, {"chunks", "[1, 1, 1, 1, 1]"}});
  put("a/.zgroup", R"({"zarr_format": 2})");
  put("a/.zattrs", multiscales);
  put("a/0/.zarray", array);
  put("a/low/.zgroup", R"({"zarr_format": 2})");
  put("a/low/1/.zarray", array);
  put("b/zarr.json",
      std::string(R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": )") + multiscales + "}}");
  put("b/0/zarr.json",
      v3({{"shape", "[1, 1, 1, 1, 1]"},
          {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [1, 1, 1, 1, 1]}})"}}));
  for (const std::string name : {"a", "a/0", "b", "b/0", "a/low/1", "a/low"}) {
    const FileLayout layout = open(name)->layout();
    EXPECT_EQ(layout.format_name, "OME-Zarr") << name;
    EXPECT_EQ(layout.letters, "tczyx") << name;
    ASSERT_EQ(layout.steps.size(), 5u) << name;
    const bool low = name.starts_with("a/low");
    EXPECT_EQ(layout.steps[0], (Step{0.02, Step::Unit::second}));
    EXPECT_EQ(layout.steps[1], Step{});
    EXPECT_EQ(layout.steps[2], (Step{0.0005, Step::Unit::millimetre}));
    EXPECT_EQ(layout.steps[3], (Step{low ? 4e-7 : 2e-7, Step::Unit::millimetre}));
    EXPECT_EQ(layout.steps[4], (Step{low ? 6.0 : 3.0, Step::Unit::unknown}));
  }
}

TEST_F(Zarr, GroupsOfOlderVersions) {
  put("a/.zgroup", R"({"zarr_format": 2})");
  put("a/.zattrs", R"({"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]})");
  put("a/0/.zarray", v2());
  EXPECT_EQ(open("a")->layout().letters, "yx");
  put("a/.zattrs", R"({"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}]}]})");
  EXPECT_EQ(open("a")->layout().letters, "");
  put("a/0/.zarray", v2({{"shape", "[1, 1, 1, 1, 1]"}, {"chunks", "[1, 1, 1, 1, 1]"}}));
  EXPECT_EQ(open("a")->layout().letters, "tczyx");
  put("a/.zattrs", R"({"multiscales": [{"axes": ["y", "x"], "datasets": [{"path": "0"}]}]})");
  EXPECT_THAT(failure("a"), HasSubstr("names 2 axes, but the array has 5 dimensions"));
}

TEST_F(Zarr, GroupsOfArrays) {
  put("a/zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  EXPECT_THAT(failure("a"), HasSubstr("a group without arrays"));
  put("a/one/zarr.json", v3());
  EXPECT_EQ(open("a")->layout().shape, (Shape{3, 5}));
  put("a/two/.zarray", v2());
  put("a/other/file", "text");
  EXPECT_THAT(failure("a"), HasSubstr("it is a group of the arrays 'one' and 'two'"));
  put("a/more/.zgroup", R"({"zarr_format": 2})");
  EXPECT_THAT(failure("a"), HasSubstr("arrays 'one' and 'two', and group 'more'"));
  put("a/zarr.json",
      R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{"datasets": [{"path": "0"}]}]}}})");
  EXPECT_THAT(failure("a"), HasSubstr("said to be in '0', but no array is there"));
  for (const std::string out : {"../b", "/b", "a//b", ".", "b/..", ""}) {
    put("a/zarr.json",
        R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{"datasets": [{"path": ")" +
            out + R"("}]}]}}})");
    EXPECT_THAT(failure("a"), HasSubstr("expected a path within the folder"));
  }
}

TEST_F(Zarr, WhatIsNoZarrFolder) {
  put("a/file", "text");
  EXPECT_EQ(open("a"), nullptr);
  EXPECT_EQ(open("a/file"), nullptr);
  EXPECT_EQ(open("nothing"), nullptr);
  EXPECT_EQ(open_zarr("", {}), nullptr);
}

// ---- beside each other -------------------------------------------------------------------------------------------

TEST_F(Zarr, ThreadsReadAnyRegions) {
  const Shape shape{40, 61, 77};
  const Array whole = random_array(E::f32, shape);
  FileLayout layout;
  layout.element = E::f32;
  layout.shape = shape;
  layout.chunk = {7, 16, 20};
  const std::unique_ptr<FileWriter> writer = create_zarr(path("a.zarr"), layout, {});
  writer->write(all_of(shape), whole);
  writer->commit();
  for (const i64 kept : {i64{0}, i64{20000}, i64{1} << 30}) {
    const std::unique_ptr<FileReader> reader = open("a.zarr");
    reader->keep_chunks(kept);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        for (int k = 0; k < 30; ++k) {
          Region region{{0, 0, 0}, shape};
          for (std::size_t d = 0; d < 3; ++d) {
            region.begin[d] = static_cast<i64>(random()) % shape[d];
            region.end[d] = region.begin[d] + 1 + static_cast<i64>(random()) % (shape[d] - region.begin[d]);
          }
          expect_same(read_region(*reader, region), whole.region(region.begin, region.end));
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(reader->beside(all_of(shape)), 0);
  }
}

TEST_F(Zarr, AnotherFileHasAnotherIdentity) {
  put("a/zarr.json", v3());
  put("a/c/0/0", chunk(10));
  const std::string before = open("a")->identity();
  EXPECT_EQ(open("a")->identity(), before);
  const std::unique_ptr<FileReader> reader = open("a");
  put("a/zarr.json", v3({{"fill_value", "8"}}));
  const std::string changed = reader->identity();
  EXPECT_NE(changed, before);
  // A folder of chunks that comes changes the folder that it is in.
  fs::last_write_time(path("a/c"), fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(reader->identity(), changed);
}

}  // namespace
}  // namespace tessera::io
