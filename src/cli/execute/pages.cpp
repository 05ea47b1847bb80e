// Pages as views, and results as a stack; see pages.hpp.
#include "cli/execute/pages.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

constexpr std::string_view page_field = "{page}";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace

Array page_of(const Array& array, const Shape& leading, i64 page) {
  Shape shape(array.shape().begin() + static_cast<std::ptrdiff_t>(leading.size()), array.shape().end());
  std::vector<i64> strides(array.strides().begin() + static_cast<std::ptrdiff_t>(leading.size()),
                           array.strides().end());
  i64 offset = 0;
  for (std::size_t d = leading.size(); d-- > 0; page /= leading[d]) offset += page % leading[d] * array.strides()[d];
  return Array::share(array.owner(), static_cast<std::byte*>(array.data()) + offset, array.format(), std::move(shape),
                      std::move(strides));
}

i64 page_count(const Lanes& lanes) {
  return element_count(lanes.leading);
}

Lanes page_of(const Lanes& lanes, i64 page) {
  Lanes result = lanes;
  result.leading.clear();
  for (auto& lane : result.inputs)
    for (std::size_t i = 0; i < lane.size(); ++i)
      if (lanes.paged[i]) lane[i] = page_of(lane[i], lanes.leading, page);
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
        page_of(outputs.back(), lanes.leading, static_cast<i64>(page)).copy_from(pages[page][lane][k]);
    }
  }
  return result;
}

std::string mark_page(std::string word, bool pages) {
  if (word.find(page_field) != std::string::npos && !pages)
    throw Error(ErrorClass::argument,
                fmt::format("-o {} has a number of pages, but the whole input is one", base::quoted(word)), {},
                "add --pages, which runs on each page by itself");
  word = replaced(std::move(word), page_field, std::string_view(&page_mark, 1));
  const std::size_t slash = word.rfind('/');
  if (slash != std::string::npos && word.find(page_mark) < slash)
    throw Error(ErrorClass::argument,
                fmt::format("-o {} has {} in the name of a folder, expected it in that of the file",
                            base::quoted(unmarked(word)), page_field));
  return word;
}

void mark_pages(std::vector<std::string>& words, bool pages) {
  for (std::string& word : words) word = mark_page(std::move(word), pages);
}

std::string unmarked(std::string word) {
  return replaced(std::move(word), std::string_view(&page_mark, 1), page_field);
}

std::string name_of_page(const std::string& marked, i64 page, i64 count) {
  const std::string number = fmt::format("{:0{}}", page, std::to_string(count - 1).size());
  return replaced(marked, std::string_view(&page_mark, 1), number);
}

}  // namespace tessera::cli
