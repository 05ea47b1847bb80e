// See plain.hpp.
#include "io/formats/plain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "io/metadata.hpp"
#include "io/regions/raw.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::array<std::pair<std::string_view, FileNumber>, 13> numbers = {{{"uint8", {'u', 1}},
                                                                              {"uint16", {'u', 2}},
                                                                              {"uint32", {'u', 4}},
                                                                              {"uint64", {'u', 8}},
                                                                              {"int8", {'i', 1}},
                                                                              {"int16", {'i', 2}},
                                                                              {"int32", {'i', 4}},
                                                                              {"int64", {'i', 8}},
                                                                              {"int", {'i', 4}},
                                                                              {"half", {'f', 2}},
                                                                              {"float", {'f', 4}},
                                                                              {"float32", {'f', 4}},
                                                                              {"double", {'f', 8}}}};

[[noreturn]] void wrong(const std::string& text, const std::string& why, std::string help = {}) {
  throw Error(ErrorClass::argument, fmt::format("--raw {} cannot be used: {}", base::quoted(text), why), {},
              help.empty() ? "write TYPE,EXTENTS, then the bytes before the first element, then big, as in "
                             "uint16,40x512x512,1024,big"
                           : std::move(help));
}

FileNumber number_of(const std::string& text, std::string_view word) {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers) {
    if (name == word) return number;
    names.emplace_back(name);
  }
  wrong(text, fmt::format("its type is {}, expected {}", base::quoted(std::string(word)), base::list_of(names)),
        base::did_you_mean(std::string(word), names));
}

// The elements of an array, as a reader describes them.
std::string described(const FileLayout& layout) {
  const Format& element = layout.element;
  Shape shape = layout.shape;
  if (element.is_struct()) shape.push_back(static_cast<i64>(element.fields.size()));
  const ElementType type = element.is_struct() ? element.fields[0].type : element.scalar;
  const std::string name = type == ElementType::boolean ? "uint8" : std::string(name_of(type));
  return fmt::format("--raw {},{}", name, to_string(shape));
}

}  // namespace

PlainFile parse_plain(const std::string& text) {
  PlainFile file;
  const std::vector<std::string_view> words = base::split(text, ',');
  if (words.size() < 2) wrong(text, "it has no extents");
  file.number = number_of(text, base::trim(words[0]));
  double bytes = static_cast<double>(file.number.size);
  for (const std::string_view part : base::split(words[1], 'x')) {
    const auto extent = base::parse_integer(base::trim(part));
    if (!extent || *extent < 1 || *extent > (i64{1} << 40))
      wrong(text, fmt::format("its extents are {}, expected such as 40x512x512", base::quoted(std::string(words[1]))));
    file.shape.push_back(*extent);
    bytes *= static_cast<double>(*extent);
  }
  if (bytes > 0x1p60) wrong(text, "no file has so many elements");
  bool big = false;
  for (std::size_t k = 2; k < words.size(); ++k) {
    const std::string_view word = base::trim(words[k]);
    const auto number = base::parse_integer(word);
    if (word == "big" || word == "little") {
      big = word == "big";
      if (k + 1 < words.size()) wrong(text, "something follows the order of bytes");
    } else if (k == 2 && number && *number >= 0 && *number <= (i64{1} << 50)) {
      file.offset = *number;
    } else {
      wrong(text, fmt::format("{} is neither a number of bytes nor big or little", base::quoted(std::string(word))));
    }
  }
  file.number.swapped = big != (std::endian::native == std::endian::big);
  return file;
}

std::unique_ptr<FileReader> open_plain(const std::string& path, const ReadOptions& options) {
  if (options.raw.empty()) return nullptr;
  const PlainFile file = parse_plain(options.raw);
  const Source source{{}, path, options};
  const std::optional<i64> size = base::file_size(path);
  if (!size) source.fail("raw elements", "it is a stream, and its elements are read at their places");
  FileLayout layout{.format_name = "raw", .element = file.number.type(), .shape = file.shape};
  const i64 end = file.offset + element_count(file.shape) * static_cast<i64>(file.number.size);
  if (*size != end)
    source.fail(
        "raw elements",
        fmt::format("--raw {} says that it has {} bytes, but it has {}", base::quoted(options.raw), end, *size),
        *size > end ? "give the number of bytes before the first element behind the extents, or other extents" : "");
  RawElements elements = raw_elements(path, layout, file.number);
  return open_raw(path, std::move(layout), std::move(elements), {{path, file.offset}});
}

std::unique_ptr<FileWriter> create_plain(const std::string& path, const FileLayout& layout,
                                         const RegionWriteOptions& options) {
  FileLayout plain = layout;
  plain.format_name = "raw";
  std::vector<std::string> lost = lost_in_array(layout.header, plain.format_name, layout.shape);
  lost.push_back("its type and extents, which " + described(layout) + " says");
  return create_raw(path, std::move(plain), "", options, std::move(lost));
}

}  // namespace tessera::io
