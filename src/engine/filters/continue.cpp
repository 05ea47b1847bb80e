// Images continued by their borders: a map per dimension, applied from the slowest to the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "data/border.hpp"
#include "data/element.hpp"
#include "engine/filters/check.hpp"

namespace tessera::engine {
namespace {

// One element whose every scalar is this number, which continues() the image.
std::vector<std::byte> element_of(const Format& format, double value) {
  std::vector<std::byte> bytes(format.size());
  if (!format.is_struct()) store_element(format.scalar, bytes.data(), value);
  for (const Format::Field& f : format.fields) store_element(f.type, bytes.data() + f.offset, value);
  return bytes;
}

// What stands at every place of a region along one dimension: an index of the image, -1 for a constant.
std::vector<i64> map_of(BorderMode mode, i64 begin, i64 end, i64 margin, i64 n) {
  std::vector<i64> map;
  for (i64 i = begin; i < end; ++i) map.push_back(map_index(mode, i - margin, n));
  return map;
}

// `from`: the image from `first` on, as far as the maps name it.
class Continuation {
 public:
  Continuation(const Array& from, const Array& to, const std::vector<Border>& borders,
               std::vector<std::vector<i64>> maps, const std::vector<i64>& first)
      : from_(from), to_(to), size_(from.format().size()), maps_(std::move(maps)) {
    for (std::size_t d = 0; d < borders.size(); ++d) {
      for (i64& source : maps_[d])
        if (source >= 0) source -= first[d];
      fills_.push_back(element_of(from.format(), borders[d].mode == BorderMode::constant ? borders[d].value : 0));
    }
    const std::vector<i64>& last = maps_.back();
    for (std::size_t i = 0; i < last.size(); i += static_cast<std::size_t>(runs_[i])) {
      std::size_t end = i + 1;
      while (end < last.size() && last[i] >= 0 && last[end] == last[end - 1] + 1) ++end;
      runs_.resize(end, static_cast<i64>(end - i));
    }
  }

  void run() { fill(0, static_cast<const std::byte*>(from_.data()), static_cast<std::byte*>(to_.data()), nullptr); }

 private:
  // `constant`: the element that stands here, whatever the faster dimensions are; null for those of the image.
  void fill(std::size_t d, const std::byte* from, std::byte* to, const std::byte* constant) {
    const bool last = d + 1 == maps_.size();
    const i64 step = from_.strides()[d], extent = to_.shape()[d];
    for (i64 i = 0; i < extent; ++i) {
      std::byte* target = to + i * to_.strides()[d];
      const i64 source = maps_[d][static_cast<std::size_t>(i)];
      const i64 count = last ? runs_[static_cast<std::size_t>(i)] : 1;
      if (count > 1 && constant == nullptr && step == static_cast<i64>(size_)) {
        std::memcpy(target, from + source * step, static_cast<std::size_t>(count) * size_);
        i += count - 1;
        continue;
      }
      const std::byte* here = constant != nullptr ? constant : source < 0 ? fills_[d].data() : nullptr;
      const std::byte* row = from + std::max<i64>(source, 0) * step;
      if (last)
        std::memcpy(target, here != nullptr ? here : row, size_);
      else
        fill(d + 1, row, target, here);
    }
  }

  const Array &from_, &to_;
  std::size_t size_;  // of an element
  std::vector<std::vector<i64>> maps_;
  std::vector<i64> runs_;                      // elements that follow each other in the image, along the last dimension
  std::vector<std::vector<std::byte>> fills_;  // of constants, per dimension
};

// Scalars from one place to another, the dimensions from `d` on.
void convert(const Array& from, const Array& to, std::size_t d, const std::byte* source, std::byte* target) {
  const i64 n = from.shape()[d];
  for (i64 i = 0; i < n; ++i, source += from.strides()[d], target += to.strides()[d]) {
    if (d + 1 < from.shape().size())
      convert(from, to, d + 1, source, target);
    else
      store_element(to.format().scalar, target, load_element(from.format().scalar, source));
  }
}

}  // namespace

Array in_type(const Array& image, ElementType type) {
  const Array host = image.to_host();
  Format format = type;
  if (host.format().is_struct()) {
    std::vector<std::pair<std::string, ElementType>> fields;
    for (const Format::Field& f : host.format().fields) fields.emplace_back(f.name, type);
    format = Format::record(host.format().struct_name, fields);
  }
  const Array result(format, host.shape());
  const auto plane = [](const Array& a, std::size_t k) {
    return a.format().is_struct() ? a.field(a.format().fields[k].name) : a;
  };
  for (std::size_t k = 0; k < std::max<std::size_t>(1, host.format().fields.size()); ++k) {
    const Array from = plane(host, k), to = plane(result, k);
    convert(from, to, 0, static_cast<const std::byte*>(from.data()), static_cast<std::byte*>(to.data()));
  }
  if (!image.on_device()) return result;
  const Array there = image.memory()->make(format, host.shape());
  there.copy_from(result);
  return there;
}

Region read_by(const Region& region, const std::vector<Border>& borders, const std::vector<i64>& margin,
               const Shape& image) {
  Region read;
  for (std::size_t d = 0; d < borders.size(); ++d) {
    i64 first = image[d] - 1, last = 0;
    for (const i64 source : map_of(borders[d].mode, region.begin[d], region.end[d], margin[d], image[d]))
      if (source >= 0) first = std::min(first, source), last = std::max(last, source + 1);
    read.begin.push_back(first);
    read.end.push_back(std::max(last, first + 1));
  }
  return read;
}

Array continued(const InputWindow& image, const std::vector<Border>& borders, const std::vector<i64>& margin,
                const Region& region, std::optional<ElementType> type) {
  const Region read = read_by(region, borders, margin, image.whole);
  std::vector<std::vector<i64>> maps;
  std::vector<i64> first, last;  // of what is read, in the part
  Shape shape;
  for (std::size_t d = 0; d < borders.size(); ++d) {
    maps.push_back(map_of(borders[d].mode, region.begin[d], region.end[d], margin[d], image.whole[d]));
    shape.push_back(region.end[d] - region.begin[d]);
    first.push_back(read.begin[d] - image.at[d]);
    last.push_back(read.end[d] - image.at[d]);
  }
  Array part = image.array.region(first, last).to_host();
  if (type) part = in_type(part, *type);
  const Array result(part.format(), shape);
  Continuation(part, result, borders, std::move(maps), read.begin).run();
  if (!image.array.on_device()) return result;
  const Array there = image.array.memory()->make(part.format(), shape);
  there.copy_from(result);
  return there;
}

}  // namespace tessera::engine
