// Zarr folders of strangers: what is wrong with them is said, with the file's name, and nothing is taken for it.
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <random>

#include "support/sample.hpp"
#include "zarr_support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

class ZarrDamage : public ZarrTest {
 protected:
  std::string of_v3(const Changes& changes) const {
    put("3/zarr.json", v3(changes));
    return failure("3");
  }
  std::string of_v2(const Changes& changes) const {
    put("2/.zarray", v2(changes));
    return failure("2");
  }
  static std::string codecs(const std::string& list) { return list; }
  std::string of_codecs(const std::string& list) const { return of_v3({{"codecs", list}}); }
  static std::string grid(const std::string& chunk) {
    return R"({"name": "regular", "configuration": {"chunk_shape": )" + chunk + "}}";
  }
  std::string of_shard(const std::string& configuration) const {
    return of_codecs(R"([{"name": "sharding_indexed", "configuration": {)" + configuration + "}}]");
  }
};

TEST_F(ZarrDamage, TextsThatAreNoMetadata) {
  put("a/zarr.json", "");
  EXPECT_THAT(failure("a"), HasSubstr("/a/zarr.json' as Zarr: its JSON is damaged at byte 1"));
  put("a/zarr.json", "{\"zarr_format\": 3,");
  EXPECT_THAT(failure("a"), HasSubstr("its JSON is damaged at byte 19"));
  put("a/zarr.json", "[3]");
  EXPECT_THAT(failure("a"), HasSubstr("it is array, expected an object"));
  put("a/zarr.json", std::string(100000, '['));
  EXPECT_THAT(failure("a"), HasSubstr("its JSON is damaged"));
  put("a/zarr.json", std::string(100000, '[') + std::string(100000, ']'));
  EXPECT_THAT(failure("a"), HasSubstr("expected an object"));
  put("a/zarr.json", "{\"zarr_format\": 1e999}");
  EXPECT_THAT(failure("a"), HasSubstr("its JSON is damaged"));
  EXPECT_THAT(of_v3({{"zarr_format", "4"}}), HasSubstr("its 'zarr_format' is 4, expected a whole number from 3 to 3"));
  EXPECT_THAT(of_v3({{"node_type", R"("table")"}}), HasSubstr("'node_type' is 'table', expected array or group"));
  EXPECT_THAT(of_v2({{"zarr_format", "3"}}), HasSubstr("its 'zarr_format' is 3"));
  EXPECT_THAT(of_v3({{"new_key", R"({"must_understand": true})"}}), HasSubstr("it has 'new_key', which is not known"));
  put("3/zarr.json", v3({{"new_key", R"({"must_understand": false})"}}));
  EXPECT_NE(open("3"), nullptr);
  EXPECT_THAT(of_v3({{"storage_transformers", R"([{"name": "cloud"}])"}}), HasSubstr("storage transformers"));
  for (const char* key : {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"})
    EXPECT_THAT(of_v3({{key, ""}}), HasSubstr(std::string("it lacks '") + key + "'"));
  for (const char* key : {"shape", "chunks", "dtype", "order"})
    EXPECT_THAT(of_v2({{key, ""}}), HasSubstr(std::string("it lacks '") + key + "'"));
}

TEST_F(ZarrDamage, ExtentsThatLie) {
  EXPECT_THAT(of_v3({{"shape", "[-1, 5]"}}), HasSubstr("'shape[0]' is -1, expected a whole number from 0 to 2^62"));
  EXPECT_THAT(of_v3({{"shape", "[1.5, 5]"}}), HasSubstr("'shape[0]' is 1.5, expected a whole number"));
  EXPECT_THAT(of_v3({{"shape", "[\"3\", 5]"}}), HasSubstr("'shape[0]' is string, expected a whole number"));
  EXPECT_THAT(of_v3({{"shape", "[4611686018427387905, 5]"}}), HasSubstr("expected a whole number from 0 to 2^62"));
  EXPECT_THAT(of_v3({{"shape", "[18446744073709551615, 5]"}}), HasSubstr("expected a whole number from 0 to 2^62"));
  EXPECT_THAT(of_v3({{"shape", "[99999999999999999999, 5]"}}), HasSubstr("expected a whole number from 0 to 2^62"));
  EXPECT_THAT(of_v3({{"shape", "[4294967296, 4294967296]"}}), HasSubstr("more than any file holds: it is damaged"));
  EXPECT_THAT(of_v3({{"shape", "[3]"}}), HasSubstr("it has 1 dimensions, but its chunks have 2"));
  std::string many = "[1";
  for (int d = 1; d < 33; ++d) many += ", 1";
  EXPECT_THAT(of_v3({{"shape", many + "]"}}), HasSubstr("has 33 dimensions, expected up to 32"));
  EXPECT_THAT(of_v3({{"chunk_grid", grid("[0, 3]")}}), HasSubstr("'chunk_grid.configuration.chunk_shape[0]' is 0"));
  EXPECT_THAT(of_v3({{"chunk_grid", grid("[-2, 3]")}}), HasSubstr("is -2, expected a whole number from 1"));
  EXPECT_THAT(of_v3({{"chunk_grid", R"({"name": "rectilinear"})"}}), HasSubstr("is 'rectilinear', expected regular"));
  EXPECT_THAT(of_v2({{"chunks", "[0, 3]"}}), HasSubstr("'chunks[0]' is 0"));
  EXPECT_THAT(of_v2({{"chunks", "null"}}), HasSubstr("lacks 'chunks'"));
  EXPECT_THAT(of_v3({{"chunk_grid", grid("[1099511627776, 3]")}}), HasSubstr("6 TiB: it is damaged"));
  EXPECT_THAT(of_v3({{"chunk_grid", grid("[4611686018427387904, 4611686018427387904]")}}), HasSubstr("it is damaged"));
  put("3/zarr.json", v3({{"chunk_grid", grid("[1024, 1024]")}}));
  EXPECT_THAT(failure("3", {.max_bytes = 1 << 20}),
              HasSubstr("it declares chunks of 1024x1024 elements of uint16, 2 MiB; the limit is 1 MiB"));
  EXPECT_NE(open("3", {.max_bytes = 1 << 21}), nullptr);
}

TEST_F(ZarrDamage, TypesAndFillValues) {
  EXPECT_THAT(
      of_v3({{"data_type", R"("int64")"}}),
      HasSubstr("'data_type' is 'int64', expected bool, uint8, int16, uint16, int32, uint32, float16, float32 or"));
  EXPECT_THAT(of_v3({{"data_type", R"({"name": "numpy.datetime64", "configuration": {}})"}}), HasSubstr("datetime64"));
  EXPECT_THAT(of_v2({{"dtype", R"("|i1")"}}),
              HasSubstr("'dtype' is 'i1', expected b1, u1, i2, u2, i4, u4, f2, f4 or f8"));
  EXPECT_THAT(of_v2({{"dtype", R"("")"}}), HasSubstr("expected a byte order and a type, as in <u2"));
  EXPECT_THAT(of_v2({{"dtype", R"([["a", "<u2"]])"}}), HasSubstr("is one of structs, expected numbers"));
  EXPECT_THAT(of_v3({{"fill_value", "70000"}}), HasSubstr("'fill_value' is 70000, which is no uint16"));
  EXPECT_THAT(of_v3({{"fill_value", "0.5"}}), HasSubstr("which is no uint16"));
  EXPECT_THAT(of_v3({{"fill_value", "[1]"}}), HasSubstr("'fill_value' is array, expected a number"));
  EXPECT_THAT(of_v3({{"fill_value", R"("NaN")"}}), HasSubstr("'fill_value' is string, expected a number"));
  EXPECT_THAT(of_v3({{"data_type", R"("float32")"}, {"fill_value", R"("0x3f80")"}}), HasSubstr("or its 32 bits as 0x"));
  EXPECT_THAT(of_v3({{"data_type", R"("float32")"}, {"fill_value", R"("0x3f80zz00")"}}), HasSubstr("or its 32 bits"));
  EXPECT_THAT(of_v2({{"order", R"("K")"}}), HasSubstr("'order' is 'K', expected C or F"));
  EXPECT_THAT(of_v2({{"dimension_separator", R"("-")"}}), HasSubstr("is '-', expected . or /"));
  EXPECT_THAT(of_v3({{"chunk_key_encoding", R"({"name": "hash"})"}}), HasSubstr("is 'hash', expected default or v2"));
  EXPECT_THAT(of_v3({{"chunk_key_encoding", R"({"name": "v2", "configuration": {"separator": "//"}})"}}),
              HasSubstr("is '//', expected / or ."));
  EXPECT_THAT(of_v3({{"dimension_names", R"(["x"])"}}), HasSubstr("names 1 dimensions, but the array has 2"));
}

TEST_F(ZarrDamage, CodecsThatAreNotKnown) {
  const std::string bytes = R"({"name": "bytes", "configuration": {"endian": "little"}})";
  EXPECT_THAT(of_codecs("[" + bytes + R"(, {"name": "lzma"}])"),
              HasSubstr("is 'lzma', expected blosc, bytes, crc32c, gzip, sharding_indexed, transpose or zstd"));
  EXPECT_THAT(of_codecs("[]"), HasSubstr("makes no bytes of an array"));
  EXPECT_THAT(of_codecs(R"([{"name": "gzip"}])"), HasSubstr("is gzip, which takes bytes, but nothing before it makes"));
  EXPECT_THAT(of_codecs("[" + bytes + "," + bytes + "]"), HasSubstr("is bytes, which takes an array"));
  EXPECT_THAT(of_codecs(R"([{"name": "bytes"}])"), HasSubstr("does not say its byte order"));
  EXPECT_THAT(of_codecs(R"(["bytes"])"), HasSubstr("does not say its byte order"));
  EXPECT_THAT(of_codecs(R"([{"name": "bytes", "configuration": {"endian": "middle"}}])"), HasSubstr("is 'middle'"));
  for (const std::string order : {"[0]", "[0, 0]", "[0, 2]", "[1, -1]", "\"C\""})
    EXPECT_THAT(of_codecs(R"([{"name": "transpose", "configuration": {"order": )" + order + "}}," + bytes + "]"),
                HasSubstr("cannot read"));
  std::string many = bytes;
  for (int k = 0; k < 8; ++k) many += R"(, {"name": "gzip"})";
  EXPECT_THAT(of_codecs("[" + many + "]"), HasSubstr("has 9 codecs, expected up to 8"));
  EXPECT_THAT(of_v2({{"compressor", R"({"id": "lzma"})"}}),
              HasSubstr("'compressor.id' is 'lzma', expected blosc, gzip, zlib or zstd"));
  EXPECT_THAT(of_v2({{"filters", R"([{"id": "delta"}, {"id": "shuffle"}])"}}),
              HasSubstr("names 'delta' and 'shuffle'; arrays with filters are not read"));
}

TEST_F(ZarrDamage, ShardsThatCannotBe) {
  const std::string bytes = R"([{"name": "bytes", "configuration": {"endian": "little"}}])";
  const std::string inner = R"("codecs": )" + bytes + R"(, "index_codecs": )" + bytes;
  EXPECT_THAT(of_shard(R"("chunk_shape": [2, 2], )" + inner), HasSubstr("is 2x2, which does not divide shards of 2x3"));
  EXPECT_THAT(of_shard(R"("chunk_shape": [2], )" + inner), HasSubstr("has 1 dimensions, but the array has 2"));
  EXPECT_THAT(of_shard(R"("chunk_shape": [0, 3], )" + inner), HasSubstr("chunk_shape[0]' is 0"));
  EXPECT_THAT(of_shard(R"("chunk_shape": [1, 1], "index_location": "middle", )" + inner), HasSubstr("is 'middle'"));
  EXPECT_THAT(of_shard(R"("chunk_shape": [1, 1], "codecs": )" + bytes + R"(, "index_codecs": [{"name": "gzip"}])"),
              HasSubstr("is not understood, expected bytes, or bytes and crc32c"));
  const std::string within =
      R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], )" + inner + "}}]";
  EXPECT_THAT(of_shard(R"("chunk_shape": [1, 1], "codecs": )" + within + R"(, "index_codecs": )" + bytes),
              HasSubstr("is a shard within a shard, which is not read"));
  EXPECT_THAT(of_codecs(R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], )" + inner +
                        R"(}}, {"name": "gzip"}])"),
              HasSubstr("shards that are packed are not read"));
  // An index of more bytes than there is memory.
  EXPECT_THAT(
      of_v3({{"chunk_grid", grid("[1000000000, 1000000000]")},
             {"codecs", R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1], )" + inner + "}}]"}}),
      HasSubstr("the index of a shard of 1000000000x1000000000 elements takes"));
}

TEST_F(ZarrDamage, FilesOfChunksThatAreNone) {
  put("3/zarr.json", v3());
  put("3/c/0/0", chunk(1));
  put("3/c/0/1", std::string(11, 'a'));
  EXPECT_THAT(failure("3"), HasSubstr("/3/c/0/1' as Zarr: it holds 11 bytes, but its extents ask for 12"));
  put("3/c/0/1", std::string(13, 'a'));
  EXPECT_THAT(failure("3"), HasSubstr("but its extents ask for 12"));
  put("3/c/0/1", "");
  EXPECT_THAT(failure("3"), HasSubstr("it holds 0 bytes"));
  fs::remove(path("3/c/0/1"));
  fs::create_directory(path("3/c/0/1"));
  EXPECT_THAT(failure("3"), HasSubstr("it is a folder, expected a file"));
  fs::remove(path("3/c/0/1"));
  ASSERT_EQ(::mkfifo(path("3/c/0/1").c_str(), 0600), 0);
  EXPECT_THAT(failure("3"), HasSubstr("it is no file"));
  fs::remove(path("3/c/0/1"));
  fs::create_symlink("1", path("3/c/0/1"));
  EXPECT_THAT(failure("3"), HasSubstr("/3/c/0/1' as Zarr: "));
  fs::remove(path("3/c/0/1"));
  put("3/c/0/1", chunk(1));
  fs::permissions(path("3/c/0/1"), fs::perms::none);
  if (::geteuid() != 0) {
    EXPECT_THAT(failure("3"), HasSubstr("/3/c/0/1' as Zarr: permission denied"));
  }
  // What can be read of it is read.
  EXPECT_EQ(read_region(*open("3"), {{0, 0}, {1, 1}}).as<std::uint16_t>()[0], 1);
  // A name that leads through a file is no chunk that is missing.
  fs::remove_all(path("3/c/0"));
  put("3/c/0", "text");
  EXPECT_THAT(failure("3"), HasSubstr("/3/c/0/0' as Zarr: "));
}

TEST_F(ZarrDamage, AFileOfAChunkThatIsTooLongIsNotRead) {
  put("3/zarr.json",
      v3({{"codecs", R"([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}])"}}));
  put("3/c/0/0", std::string(100000, 'a'));
  EXPECT_THAT(failure("3"), HasSubstr("a chunk has 100000 bytes, but its extents ask for 65560 at most"));
}

TEST_F(ZarrDamage, GroupsThatContradictThemselves) {
  const auto of_image = [&](const std::string& image) {
    put("g/zarr.json",
        R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": )" + image + "}}}");
    put("g/0/zarr.json", v3());
    return failure("g");
  };
  const std::string axes = R"("axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}])";
  EXPECT_THAT(of_image("[]"), HasSubstr("'attributes.ome.multiscales' is empty"));
  EXPECT_THAT(of_image("7"), HasSubstr("expected a list"));
  EXPECT_THAT(of_image("[7]"), HasSubstr("expected an object"));
  EXPECT_THAT(of_image("[{" + axes + "}]"), HasSubstr("lacks 'datasets'"));
  EXPECT_THAT(of_image("[{" + axes + R"(, "datasets": []}])"), HasSubstr("is empty"));
  EXPECT_THAT(of_image("[{" + axes + R"(, "datasets": [{"path": 7}]}])"), HasSubstr("is number, expected a text"));
  EXPECT_THAT(of_image(R"([{"axes": [{"type": "space"}], "datasets": [{"path": "0"}]}])"), HasSubstr("lacks 'name'"));
  const auto of_scale = [&](const std::string& scale) {
    return "[{" + axes + R"(, "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": )" +
           scale + "}]}]}]";
  };
  EXPECT_THAT(of_image(of_scale("[1]")), HasSubstr("has 1 numbers, but there are 2 axes"));
  EXPECT_THAT(of_image(of_scale("[1, \"2\"]")), HasSubstr("is no number"));
  put("g/zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": )" +
                         of_scale("[-1, 0]") + "}}}");
  EXPECT_TRUE(open("g")->layout().steps.empty());
}

// ---- any damage --------------------------------------------------------------------------------------------------

// Each file with bytes changed, cut off, put in or taken out: what can be read has the extents that it says.
TEST_F(ZarrDamage, AnyBytesChanged) {
  const Array array = random_array(E::u16, {6, 9});
  const std::string bytes = R"({"name": "bytes", "configuration": {"endian": "little"}})";
  const std::vector<std::string> packings = {R"([)" + bytes + R"(, {"name": "zstd"}])",
                                             R"([)" + bytes + R"(, {"name": "gzip"}, {"name": "crc32c"}])",
                                             R"([)" + bytes + R"(, {"name": "blosc"}])"};
  const auto codec = [](zarr::ByteCodec::Kind kind) {
    zarr::ByteCodec c;
    c.kind = kind;
    c.level = 5;
    c.shuffle = 1;
    c.type_size = 2;
    return c;
  };
  using K = zarr::ByteCodec::Kind;
  const std::vector<zarr::Chain> chains = {
      {{}, false, {codec(K::zstd)}}, {{}, false, {codec(K::gzip), codec(K::crc32c)}}, {{}, false, {codec(K::blosc)}}};
  std::mt19937 random(5);
  std::size_t number = 0;
  for (std::size_t k = 0; k < packings.size(); ++k) {
    const std::string name = "a" + std::to_string(k);
    put(name + "/zarr.json", v3({{"shape", "[6, 9]"}, {"chunk_grid", grid("[6, 9]")}, {"codecs", packings[k]}}));
    put(name + "/c/0/0", zarr::encode(chains[k], E::u16, {6, 9}, bytes_of(array)));
    expect_same(read(name), array);
    for (const std::string& file : files_in(name)) {
      const std::string good = base::read_text(path(name + "/" + file));
      for (int t = 0; t < 400; ++t) {
        std::string bad = good;
        const std::size_t at = random() % good.size();
        const int how = static_cast<int>(random() % 4);
        if (how == 0) bad[at] = static_cast<char>(random());
        if (how == 1) bad.resize(at);
        if (how == 2) bad.insert(at, 1, static_cast<char>(random()));
        if (how == 3) bad.erase(at, 1 + random() % 8);
        if (!in_sample(number++)) continue;
        put(name + "/" + file, bad);
        try {
          const std::unique_ptr<FileReader> reader = open(name, {.max_bytes = 1 << 20});
          if (!reader || element_count(reader->layout().shape) > 10000) continue;
          read_region(*reader, all_of(reader->layout().shape));
        } catch (const Error& e) {
          EXPECT_EQ(e.error_class(), ErrorClass::io) << e.what();
          EXPECT_THAT(std::string(e.what()), HasSubstr("cannot read"));
        }
      }
      put(name + "/" + file, good);
    }
  }
}

}  // namespace
}  // namespace tessera::io
