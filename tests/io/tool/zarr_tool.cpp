// Reads and writes files by region for tests in other languages, without anything between it and the format.
//
//   zarr_tool sum IN
//   zarr_tool copy IN OUT [chunk=8x8x8] [levels=3] [packing=none|zstd|deflate] [resume=1]
//
// It reads by random regions, from several threads, and prints what it read: a SHA-256 of the elements in C order,
// type, extents, chunks, letters and steps, each on a line. An error is one line on standard error; the exit status is
// 2 then.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "io/zarr/zarr.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;

// Boxes that make up the region, cut at random until they are small.
void cut(const Region& region, std::mt19937& random, std::vector<Region>& out) {
  i64 points = 1;
  std::vector<std::size_t> long_ones;
  for (std::size_t d = 0; d < region.begin.size(); ++d) {
    points *= region.end[d] - region.begin[d];
    if (region.end[d] - region.begin[d] > 1) long_ones.push_back(d);
  }
  if (points == 0) return;
  if (long_ones.empty() || points < static_cast<i64>(1 + random() % 40000)) return out.push_back(region);
  const std::size_t d = long_ones[random() % long_ones.size()];
  const i64 at = region.begin[d] + 1 + static_cast<i64>(random()) % (region.end[d] - region.begin[d] - 1);
  Region low = region, high = region;
  low.end[d] = high.begin[d] = at;
  cut(low, random, out);
  cut(high, random, out);
}

Array read_all(const io::FileReader& reader) {
  const Shape& shape = reader.layout().shape;
  const Array all(reader.layout().element, shape);
  std::mt19937 random(7);
  std::vector<Region> regions;
  cut({std::vector<i64>(shape.size(), 0), shape}, random, regions);
  constexpr std::size_t threads = 3;
  std::vector<std::string> errors(threads);
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      try {
        for (std::size_t k = t; k < regions.size(); k += threads)
          reader.read(regions[k], all.region(regions[k].begin, regions[k].end));
      } catch (const std::exception& e) {
        errors[t] = e.what();
      }
    });
  for (std::thread& thread : running) thread.join();
  for (const std::string& error : errors)
    if (!error.empty()) throw std::runtime_error(error);
  return all;
}

void print(const io::FileReader& reader, const Array& all) {
  const io::FileLayout& layout = reader.layout();
  const auto bytes = static_cast<std::size_t>(all.count()) * all.format().size();
  base::Hasher hash;
  hash.bytes({static_cast<const std::byte*>(all.data()), bytes});
  fmt::print("sha256 {}\nformat {}\ntype {}\nshape {}\nchunk {}\nletters {}\n", base::to_hex(hash.finish()),
             layout.format_name, layout.element.name(), to_string(layout.shape), to_string(layout.chunk),
             layout.letters);
  for (const io::Step& step : layout.steps) {
    constexpr const char* units[] = {"?", "mm", "s"};
    fmt::print("step {} {}\n", step.size, units[static_cast<int>(step.unit)]);
  }
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  for (const std::string_view part : base::split(text, 'x')) shape.push_back(base::parse_integer(part).value());
  return shape;
}

void copy(const io::FileReader& reader, const Array& all, const std::vector<std::string>& arguments) {
  io::FileLayout layout = reader.layout();
  io::RegionWriteOptions options;
  layout.chunk.clear();
  for (std::size_t k = 3; k < arguments.size(); ++k) {
    const std::string& text = arguments[k];
    const std::string value = text.substr(text.find('=') + 1);
    if (text.starts_with("chunk=")) layout.chunk = parse_shape(value);
    if (text.starts_with("levels=")) options.levels = static_cast<int>(base::parse_integer(value).value());
    if (text.starts_with("resume=")) options.resume = value == "1";
    if (text.starts_with("packing="))
      options.write.packing = value == "none"      ? io::Packing::none
                              : value == "deflate" ? io::Packing::deflate
                                                   : io::Packing::zstd;
  }
  const std::unique_ptr<io::FileWriter> writer = io::create_zarr(arguments[2], layout, options);
  // Some chunks of the slowest dimension at a time.
  const Shape& shape = writer->layout().shape;
  const i64 rows = shape.empty() ? 1 : shape[0], step = shape.empty() ? 1 : 2 * writer->layout().chunk[0];
  for (i64 row = 0; row < rows; row += step) {
    Region region{std::vector<i64>(shape.size(), 0), shape};
    if (!shape.empty()) {
      region.begin[0] = row;
      region.end[0] = std::min(row + step, rows);
    }
    writer->write(region, all.region(region.begin, region.end));
  }
  writer->sync();
  writer->commit();
}

}  // namespace

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (arguments.size() < 2 || (arguments[0] == "copy" && arguments.size() < 3)) {
    fmt::print(stderr, "zarr_tool sum IN, zarr_tool copy IN OUT [chunk=8x8x8] [levels=3] [packing=none]\n");
    return 2;
  }
  try {
    const std::unique_ptr<io::FileReader> reader = io::open_zarr(arguments[1], {});
    if (!reader) throw std::runtime_error(fmt::format("{} is no Zarr folder", arguments[1]));
    const Array all = read_all(*reader);
    print(*reader, all);
    if (arguments[0] == "copy") copy(*reader, all, arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "error: {}\n", e.what());
    return 2;
  }
  return 0;
}
