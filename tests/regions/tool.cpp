// The command of the tests in Python: files by region, there and back.
//
//   regions_tool read FORMAT FILE OUT.npy [LEVEL]
//       reads the file box by box, or whole where its places are not known; the array of an image
//   regions_tool whole IN OUT [PACKING]
//       reads a file whole and writes it whole, with its header
//   regions_tool write FORMAT IN.npy OUT LETTERS PACKING [CHUNK]
//       writes it chunk by chunk, last ones first
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/formats/volume.hpp"
#include "io/image.hpp"
#include "io/tiff/regions.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;
using namespace tessera::io;

constexpr int wrong_use = 2;

struct Way {
  std::string name;
  std::unique_ptr<FileReader> (*open)(const std::string&, const ReadOptions&);
  std::unique_ptr<FileWriter> (*create)(const std::string&, const FileLayout&, const RegionWriteOptions&);
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{"tiff", open_tiff, create_tiff},
                                       {"nrrd", open_nrrd, create_nrrd},
                                       {"metaimage", open_metaimage, create_metaimage}};
  return all;
}

// Boxes that cover the shape, `step` long in each dimension.
std::vector<Region> boxes(const Shape& shape, const Shape& step) {
  std::vector<Region> all = {{{}, {}}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<Region> longer;
    for (const Region& box : all) {
      for (i64 at = 0; at < shape[d]; at += step[d]) {
        longer.push_back(box);
        longer.back().begin.push_back(at);
        longer.back().end.push_back(std::min(at + step[d], shape[d]));
      }
    }
    all = std::move(longer);
  }
  return all;
}

void read(const Way& way, const std::vector<std::string>& words) {
  const ReadOptions options{.level = words.size() > 4 ? std::stoi(words[4]) : 0};
  const std::unique_ptr<FileReader> reader = way.open(words[2], options);
  if (reader == nullptr) {
    write_array(words[3], read_array(words[2], options));
    return;
  }
  const FileLayout& layout = reader->layout();
  const Array whole(layout.element, layout.shape);
  std::mt19937 random(1);
  Shape step;
  for (const i64 extent : layout.shape) step.push_back(1 + static_cast<i64>(random() % 40u) % extent);
  for (const Region& box : boxes(layout.shape, step)) reader->read(box, whole.region(box.begin, box.end));
  const Array image = layout.letters.empty() ? whole : arrange(whole, layout.letters, layout.steps).array;
  write_array(words[3], image);
}

Packing packing_of(const std::string& name) {
  constexpr const char* names[] = {"none", "deflate", "lzw", "packbits", "zstd"};
  for (int k = 0; k < 5; ++k)
    if (name == names[k]) return static_cast<Packing>(k);
  throw Error(ErrorClass::argument, "no packing " + name);
}

void write(const Way& way, const std::vector<std::string>& words) {
  const Array array = read_array(words[2]);
  FileLayout layout;
  layout.element = array.format();
  layout.shape = array.shape();
  if (words[4] != "-") layout.letters = words[4];
  for (std::size_t k = 6; k < words.size(); ++k) layout.chunk.push_back(std::stoll(words[k]));
  RegionWriteOptions options;
  options.write.packing = packing_of(words[5]);
  const std::unique_ptr<FileWriter> writer = way.create(words[3], layout, options);
  std::vector<Region> regions = boxes(layout.shape, writer->layout().chunk);
  for (auto box = regions.rbegin(); box != regions.rend(); ++box)
    writer->write(*box, array.region(box->begin, box->end));
  writer->commit();
}

void whole(const std::vector<std::string>& words) {
  const Image image = read_image(words[1]);
  WriteOptions options{.header = image.header};
  if (words.size() > 3) options.packing = packing_of(words[3]);
  write_array(words[2], image.array, options);
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> all(words + 1, words + count);
  try {
    if (all.size() >= 3 && all[0] == "whole") return whole(all), 0;
    for (const Way& way : ways()) {
      if (all.size() >= 4 && all[0] == "read" && all[1] == way.name) return read(way, all), 0;
      if (all.size() >= 6 && all[0] == "write" && all[1] == way.name) return write(way, all), 0;
    }
  } catch (const Error& e) {
    std::fprintf(stderr, "regions_tool: %s\n", e.what());
    return 1;
  }
  std::fprintf(stderr,
               "regions_tool: whole IN OUT, read FORMAT FILE OUT.npy or write FORMAT IN.npy OUT LETTERS PACKING\n");
  return wrong_use;
}
