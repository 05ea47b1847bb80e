// Fuzz target: any bytes as the metadata of a Zarr array or group, and as the file of a chunk.
//
// The first byte says what the others are: 2 .zarray, 3 zarr.json of an array, g zarr.json of a group, h .zattrs of
// one, c zarr.json of an array, a zero byte and the file of a chunk. The law: a value or an Error(io), nothing else,
// and no more memory than the limit. What is understood prints, and what was printed reads back as the same text.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/zarr/metadata.hpp"
#include "io/zarr/ome.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;
using namespace tessera::io::zarr;

[[noreturn]] void die(const char* reason) {
  std::fprintf(stderr, "zarr: %s\n", reason);
  std::abort();
}

const std::string name = "fuzz";
const io::ReadOptions options{.max_bytes = i64{1} << 22};

// Every unit of a file, some hundred at most.
void read_units(const ArrayMetadata& array, std::span<const std::byte> file) {
  const Bytes bytes{static_cast<i64>(file.size()), [&](i64 offset, std::span<std::byte> to) {
                      if (offset < 0 || static_cast<std::size_t>(offset) > file.size() ||
                          to.size() > file.size() - static_cast<std::size_t>(offset))
                        die("a read outside of the file");
                      std::copy_n(file.begin() + offset, to.size(), to.begin());
                    }};
  std::vector<std::byte> to(static_cast<std::size_t>(unit_bytes(array)));
  unsigned sum = 0;
  const auto look = [&] {
    for (const std::byte b : to) sum += std::to_integer<unsigned>(b);
  };
  if (!array.shards) {
    read_chunk(array, bytes, to, name);
    return look();
  }
  const ShardIndex index = read_index(array, bytes, name);
  std::vector<i64> within(array.chunk.size(), 0);
  for (int k = 0; k < 100; ++k) {
    if (read_unit(array, index, within, bytes, to, name)) look();
    std::size_t d = within.size();
    for (; d-- > 0; within[d] = 0)
      if (++within[d] < array.chunk[d] / array.unit[d]) break;
    if (d == SIZE_MAX) break;
  }
  if (sum == 0xffffffffu) die("the sum of fewer bytes");
}

void print_and_read(const ArrayMetadata& array) {
  if (array.shards) return;
  const std::string text = print_v3(array);
  if (print_v3(parse_v3(text, name, options)) != text) die("printing is no fixed point");
}

void describe_levels(std::string_view text, bool v3) {
  const std::optional<Multiscale> image = parse_multiscale(text, v3, name);
  if (!image) return;
  for (const Multiscale::Level& level : image->levels) {
    io::FileLayout layout;
    layout.shape.assign(image->axes.size(), 1);
    describe(*image, level, layout, name);
    if (!layout.letters.empty() && layout.letters.size() != layout.shape.size()) die("letters of another rank");
    for (const io::Step& step : layout.steps)
      if (!(step.size >= 0)) die("a distance that is none");
  }
}

void run(char what, std::string_view text) {
  if (what == '2') parse_v2(text, "", name, options);
  if (what == '3') {
    is_v3_array(text, name);
    print_and_read(parse_v3(text, name, options));
  }
  if (what == 'g' || what == 'h') describe_levels(text, what == 'g');
  if (what != 'c') return;
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view file = text.substr(std::min(end + 1, text.size()));
  const ArrayMetadata array = parse_v3(text.substr(0, end), name, options);
  read_units(array, std::as_bytes(std::span(file)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    run(text[0], text.substr(1));
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::io) die(e.what());
  }
  return 0;
}
