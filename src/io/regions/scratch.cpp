// See scratch.hpp.
#include "io/regions/scratch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <random>
#include <utility>

#include "io/regions/raw.hpp"
#include "io/regions/regions.hpp"

namespace tessera::io {

namespace {

std::string name_beside(const std::string& path) {
  static std::atomic<int> count = 0;
  std::random_device random;  // several machines may have the folder
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return fmt::format("{}.pass-{}-{:08x}-{}", name, ::getpid(), random(), ++count);
}

}  // namespace

// Rows are what is written at once; a list is an image of columns of one element.
struct Scratch::File {
  std::unique_ptr<FileWriter> writer;
  std::unique_ptr<FileReader> reader;

  File(const std::string& path, const Format& format, const Shape& shape, bool kept) {
    FileLayout layout{.format_name = "scratch", .element = format, .shape = rows(shape)};
    const std::string name = partial_name(path);
    RegionWriteOptions how;
    how.resume = kept;
    writer = create_raw(path, layout, "", how);
    try {
      reader = open_raw(name, layout, {static_cast<i64>(format.size())}, {{name, 0}});
    } catch (...) {
      if (!kept) std::filesystem::remove(name);
      throw;
    }
    if (!kept) std::filesystem::remove(name);
  }

  static Shape rows(Shape shape) {
    if (shape.size() == 1) shape.push_back(1);
    return shape;
  }
  static Region rows(Region region) {
    if (region.begin.size() == 1) region.begin.push_back(0), region.end.push_back(1);
    return region;
  }
  static Array rows(const Array& a) {
    if (a.shape().size() != 1) return a;
    return Array::share(a.owner(), a.data(), a.format(), {a.shape()[0], 1},
                        {a.strides()[0], static_cast<i64>(a.format().size())});
  }
};

Scratch::Scratch(const std::string& beside, const Format& format, const Shape& shape)
    : shape_(shape), file_(std::make_unique<File>(name_beside(beside), format, shape, false)) {}

Scratch::Scratch(const Kept& kept, const Format& format, const Shape& shape)
    : shape_(shape), path_(partial_name(kept.path)), file_(std::make_unique<File>(kept.path, format, shape, true)) {}

Scratch::~Scratch() = default;

void Scratch::read(const Region& region, const Array& to) const {
  file_->reader->read(File::rows(region), File::rows(to));
}

void Scratch::write(const Region& region, const Array& from) {
  file_->writer->write(File::rows(region), File::rows(from));
}

}  // namespace tessera::io
