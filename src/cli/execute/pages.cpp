// Pages as views, and results as a stack; see pages.hpp.
#include "cli/execute/pages.hpp"

#include <algorithm>

namespace tessera::cli {
namespace {

// Page number `page` of an array whose first dimensions are `leading`; the array itself where they are not.
Array part_of(const Array& array, const Shape& leading, i64 page) {
  Shape shape(array.shape().begin() + static_cast<std::ptrdiff_t>(leading.size()), array.shape().end());
  std::vector<i64> strides(array.strides().begin() + static_cast<std::ptrdiff_t>(leading.size()),
                           array.strides().end());
  i64 offset = 0;
  for (std::size_t d = leading.size(); d-- > 0; page /= leading[d]) offset += page % leading[d] * array.strides()[d];
  return Array::share(array.owner(), static_cast<std::byte*>(array.data()) + offset, array.format(), std::move(shape),
                      std::move(strides));
}

}  // namespace

i64 page_count(const Lanes& lanes) {
  return element_count(lanes.leading);
}

Lanes page_of(const Lanes& lanes, i64 page) {
  Lanes result = lanes;
  result.leading.clear();
  for (auto& lane : result.inputs)
    for (std::size_t i = 0; i < lane.size(); ++i)
      if (lanes.paged[i]) lane[i] = part_of(lane[i], lanes.leading, page);
  const auto shorten = [&](auto& values) {
    if (values.size() >= lanes.leading.size())
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(lanes.leading.size()));
  };
  for (io::ImageHeader& header : result.headers) {
    shorten(header.extents);
    shorten(header.steps);
  }
  return result;
}

void rejoin_headers(Lanes& whole, const Lanes& page) {
  const auto before = static_cast<std::ptrdiff_t>(whole.leading.size());
  for (std::size_t k = 0; k < whole.headers.size(); ++k) {
    io::ImageHeader& header = whole.headers[k];
    const io::ImageHeader& part = page.headers[k];
    header.nifti = part.nifti;
    header.metadata = part.metadata;
    header.extents.assign(whole.leading.begin(), whole.leading.end());
    header.extents.insert(header.extents.end(), part.extents.begin(), part.extents.end());
    if (static_cast<std::ptrdiff_t>(header.steps.size()) < before) continue;
    header.steps.erase(header.steps.begin() + before, header.steps.end());
    header.steps.insert(header.steps.end(), part.steps.begin(), part.steps.end());
  }
}

std::vector<std::vector<Array>> stacked(const Lanes& lanes, const std::vector<std::vector<std::vector<Array>>>& pages) {
  std::vector<std::vector<Array>> result;
  for (std::size_t lane = 0; lane < lanes.inputs.size(); ++lane) {
    std::vector<Array>& outputs = result.emplace_back();
    for (std::size_t k = 0; k < pages.front()[lane].size(); ++k) {
      const Array& first = pages.front()[lane][k];
      Shape shape = lanes.leading;
      shape.insert(shape.end(), first.shape().begin(), first.shape().end());
      outputs.emplace_back(first.format(), shape);
      for (std::size_t page = 0; page < pages.size(); ++page)
        part_of(outputs.back(), lanes.leading, static_cast<i64>(page)).copy_from(pages[page][lane][k]);
    }
  }
  return result;
}

}  // namespace tessera::cli
