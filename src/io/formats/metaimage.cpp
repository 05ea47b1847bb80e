// MetaImage, https://itk.org/Wiki/ITK/MetaIO/Documentation: .mha, and .mhd with the numbers in files of their own, raw
// and packed by zlib.
//
// Dimensions go from the fastest: x, y, z, time. Samples of a point stand together: three or four of 8 bits are
// colours, others channels. Distances are millimetres unless the header says else. Fields that do not belong to
// elements travel with the volume; those that would change what the numbers mean are understood or refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/codec.hpp"
#include "io/formats/volume.hpp"
#include "io/tiff/text.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view name = "MetaImage";
constexpr i64 most_dimensions = 10;  // that MetaIO has
constexpr i64 longest_number = 20;   // digits
constexpr std::size_t points_of_space = 3;

std::string canonical(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"Rotation", "TransformMatrix"},
      {"Orientation", "TransformMatrix"},
      {"Position", "Offset"},
      {"Origin", "Offset"},
      {"BinaryDataByteOrderMSB", "ElementByteOrderMSB"}};
  for (const auto& [other, own] : others)
    if (key == other) return std::string(own);
  return std::string(key);
}

std::optional<FileNumber> number_of(std::string_view type) {
  constexpr std::pair<std::string_view, std::pair<char, std::size_t>> known[] = {
      {"MET_CHAR", {'i', 1}},  {"MET_UCHAR", {'u', 1}},     {"MET_SHORT", {'i', 2}},      {"MET_USHORT", {'u', 2}},
      {"MET_INT", {'i', 4}},   {"MET_UINT", {'u', 4}},      {"MET_LONG", {'i', 4}},       {"MET_ULONG", {'u', 4}},
      {"MET_FLOAT", {'f', 4}}, {"MET_LONG_LONG", {'i', 8}}, {"MET_ULONG_LONG", {'u', 8}}, {"MET_DOUBLE", {'f', 8}}};
  for (const auto& [word, stored] : known) {
    if (type == word || type == std::string(word) + "_ARRAY") return FileNumber{stored.first, stored.second};
  }
  return std::nullopt;
}

// ---- reading -----------------------------------------------------------------------------------------------------

class Parser {
 public:
  Parser(const Source& source, InOrder& in) : source_(source), lines_(source, in, name) {}

  VolumeFile parse() {
    read_lines();
    file_.header_end = lines_.read();
    check_meaning();
    take_numbers();
    take_layout();
    take_place();
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { source_.fail(name, reason); }

  void read_lines() {
    std::string line;
    while (lines_.next(line)) {
      if (base::trim(line).empty()) continue;
      const std::size_t at = line.find('=');
      if (at == std::string::npos) fail(fmt::format("the line {} is no field", base::quoted(line, 80)));
      const std::string key = canonical(base::trim(std::string_view(line).substr(0, at)));
      const std::string value(base::trim(std::string_view(line).substr(at + 1)));
      if (!fields_.emplace(key, value).second)
        fail(fmt::format("its header has the field {} twice", base::quoted(key, 80)));
      order_.push_back(key);
      if (key == "ElementDataFile") return take_files(value);
    }
    fail("its header does not say where its numbers are (ElementDataFile)");
  }

  void take_files(const std::string& value) {
    if (value == "LOCAL" || value == "Local" || value == "local") return;
    const std::vector<std::string_view> words = base::split_words(value);
    if (words.empty()) fail("its header does not say where its numbers are (ElementDataFile)");
    if (words[0] == "LIST") {
      std::string line;
      while (lines_.next(line))
        if (!base::trim(line).empty()) file_.files.emplace_back(base::trim(line));
      if (file_.files.empty()) fail("its list of files is empty");
    } else if (words[0].find('%') != std::string_view::npos && words.size() >= 3) {
      const auto first = base::parse_integer(words[1]), last = base::parse_integer(words[2]),
                 step = words.size() > 3 ? base::parse_integer(words[3]) : 1;
      if (first && last && step) file_.files = files_of_pattern(std::string(words[0]), *first, *last, *step);
      if (file_.files.empty()) wrong("ElementDataFile");
    } else {
      file_.files.push_back(value);
    }
  }

  const std::string* find(const std::string& key) const {
    const auto found = fields_.find(key);
    return found == fields_.end() ? nullptr : &found->second;
  }
  [[noreturn]] void wrong(const std::string& key) const {
    fail(fmt::format("its field {} is {}, which is not understood", base::quoted(key), base::quoted(*find(key), 80)));
  }
  i64 integer(const std::string& key, i64 missing, i64 least, i64 most) const {
    const std::string* text = find(key);
    if (text == nullptr) return missing;
    const auto value = base::parse_integer(*text);
    if (!value || *value < least || *value > most) wrong(key);
    return *value;
  }
  bool flag(const std::string& key, bool missing) const {
    const std::string* text = find(key);
    if (text == nullptr || text->empty()) return missing;
    const std::string lower = base::to_lower(*text);
    if (lower != "true" && lower != "false" && lower != "1" && lower != "0") wrong(key);
    return lower == "true" || lower == "1";
  }
  std::vector<double> numbers(const std::string& key, std::size_t count) const {
    const std::string* text = find(key);
    if (text == nullptr) return {};
    std::vector<double> values;
    for (const std::string_view word : base::split_words(*text)) {
      const auto value = base::parse_number(word);
      if (!value || !std::isfinite(*value)) wrong(key);
      values.push_back(*value);
    }
    if (values.size() != count) wrong(key);
    return values;
  }

  // What would make other numbers of those in the file.
  void check_meaning() const {
    if (const std::string* type = find("ObjectType"); type != nullptr && *type != "Image")
      fail(fmt::format("it is a {}, expected an Image", base::quoted(*type, 80)));
    if (!flag("BinaryData", true)) fail("its numbers are written as text (BinaryData = False), which is not read");
    for (const auto& [key, usual] : {std::pair<const char*, double>{"ElementToIntensityFunctionSlope", 1},
                                     {"ElementToIntensityFunctionOffset", 0}}) {
      if (const std::vector<double> value = numbers(key, 1); !value.empty() && value[0] != usual)
        fail(fmt::format("its header scales the numbers ({} = {}), which is not read", key, value[0]));
    }
    if (find("HeaderSizes") != nullptr) fail("its header has the field 'HeaderSizes', which is not read");
  }

  void take_numbers() {
    const std::string* type = find("ElementType");
    if (type == nullptr) fail("its header has no field 'ElementType'");
    const std::optional<FileNumber> number = number_of(*type);
    if (!number)
      fail(fmt::format("its type is {}, expected integers of 8 to 64 bits, float or double", base::quoted(*type, 80)));
    file_.number = *number;
    file_.number.swapped = flag("ElementByteOrderMSB", false);
    file_.packed = flag("CompressedData", false);
    constexpr i64 longest_header = i64{1} << 40;
    file_.skip_bytes = integer("HeaderSize", 0, -1, longest_header);
    file_.at_end = file_.skip_bytes == -1;
    if (file_.at_end) file_.skip_bytes = 0;
    if (file_.packed && (file_.at_end || file_.skip_bytes > 0))
      fail("it is packed, and other bytes stand before its numbers (HeaderSize)");
  }

  void take_layout() {
    const i64 rank = integer("NDims", 0, 1, most_dimensions);
    if (rank == 0) fail("its header has no field 'NDims'");
    const auto count = static_cast<std::size_t>(rank);
    const std::string* sizes = find("DimSize");
    if (sizes == nullptr) fail("its header has no field 'DimSize'");
    const std::vector<std::string_view> words = base::split_words(*sizes);
    if (words.size() != count) wrong("DimSize");
    FileLayout& layout = file_.layout;
    layout.format_name = name;
    for (const std::string_view word : words) {
      const auto size = base::parse_integer(word);
      if (!size || *size < 1) wrong("DimSize");
      layout.shape.insert(layout.shape.begin(), *size);
    }
    layout.letters = volume_letters(count, false);
    std::reverse(layout.letters.begin(), layout.letters.end());
    const i64 channels = integer("ElementNumberOfChannels", 1, 1, most_volume_channels);
    const bool colours = file_.number.size == 1 && (channels == 3 || channels == 4);
    const char letter = colours ? 's' : 'c';
    layout.element = channels > 1 ? volume_element(file_.number.type(), letter, channels) : Format(file_.number.type());
    if (channels > 1) layout.letters += letter;
    take_steps(count);
  }

  void take_steps(std::size_t rank) {
    spacing_ = numbers("ElementSpacing", rank);
    if (spacing_.empty()) spacing_ = numbers("ElementSize", rank);
    if (spacing_.empty()) return;
    const std::string* unit = find("DistanceUnits");
    const bool named = unit != nullptr && *unit != "?" && !unit->empty();
    const double scale = named ? millimetres_of(*unit) : 1;
    for (std::size_t k = rank; k-- > 0;) {
      const double size = std::abs(spacing_[k]);
      const bool length = k < points_of_space && scale > 0;
      file_.layout.steps.push_back(
          size > 0 ? Step{length ? size * scale : size, length ? Step::Unit::millimetre : Step::Unit::unknown}
                   : Step{});
    }
  }

  void take_place() {
    constexpr std::string_view own[] = {"ObjectType",
                                        "NDims",
                                        "BinaryData",
                                        "ElementByteOrderMSB",
                                        "CompressedData",
                                        "CompressedDataSize",
                                        "TransformMatrix",
                                        "Offset",
                                        "ElementSpacing",
                                        "DimSize",
                                        "HeaderSize",
                                        "ElementNumberOfChannels",
                                        "ElementType",
                                        "ElementDataFile",
                                        "ElementMin",
                                        "ElementMax",
                                        "ElementToIntensityFunctionSlope",
                                        "ElementToIntensityFunctionOffset",
                                        "ElementNBits"};
    const std::size_t rank = file_.layout.shape.size();
    auto h = std::make_shared<VolumeHeader>();
    h->format = name;
    h->origin = numbers("Offset", rank);
    const std::vector<double> matrix = numbers("TransformMatrix", rank * rank);
    for (std::size_t k = 0; k < rank; ++k) {
      VolumeHeader::Axis axis;
      axis.spacing = spacing_.empty() ? 1 : spacing_[k];
      for (std::size_t j = 0; j < rank; ++j)
        axis.direction.push_back(matrix.empty() ? (j == k ? 1 : 0) : matrix[k * rank + j]);
      h->axes.push_back(std::move(axis));
    }
    for (const std::string& key : order_)
      if (std::find(std::begin(own), std::end(own), key) == std::end(own)) h->fields.emplace_back(key, *find(key));
    file_.layout.header.volume = std::move(h);
  }

  const Source& source_;
  HeaderLines lines_;
  std::map<std::string, std::string> fields_;
  std::vector<std::string> order_;
  std::vector<double> spacing_;
  VolumeFile file_;
};

VolumeFile parse(const Source& source, InOrder& in) {
  return Parser(source, in).parse();
}

// ---- writing -----------------------------------------------------------------------------------------------------

std::string_view type_name(ElementType type) {
  constexpr std::string_view names[] = {"MET_UCHAR", "MET_UCHAR", "MET_SHORT", "MET_USHORT", "MET_INT",
                                        "MET_UINT",  "MET_FLOAT", "MET_FLOAT", "MET_DOUBLE"};
  return names[static_cast<std::size_t>(type)];
}

// The place in space of as many dimensions as the file has; those that the header does not know are by themselves.
std::string print_place(const VolumeHeader* volume, const std::vector<Step>& steps, std::size_t rank) {
  std::vector<double> matrix(rank * rank, 0), offset(rank, 0), spacing(rank, 1);
  for (std::size_t k = 0; k < rank; ++k) {
    matrix[k * rank + k] = 1;
    const Step step = k < steps.size() ? steps[steps.size() - 1 - k] : Step{};
    if (step.size > 0) spacing[k] = step.size;
    if (volume == nullptr) continue;
    if (k < volume->origin.size()) offset[k] = volume->origin[k];
    if (k >= volume->axes.size()) continue;
    const VolumeHeader::Axis& axis = volume->axes[k];
    if (k < points_of_space) spacing[k] = axis.spacing;
    for (std::size_t j = 0; j < rank && j < axis.direction.size(); ++j) matrix[k * rank + j] = axis.direction[j];
  }
  return fmt::format("TransformMatrix = {}\nOffset = {}\nElementSpacing = {}\n", numbers_in_words(matrix, " "),
                     numbers_in_words(offset, " "), numbers_in_words(spacing, " "));
}

std::string print(const FileLayout& layout, bool packed, const std::string& data_name, i64 packed_bytes) {
  const VolumeHeader* volume = layout.header.volume.get();
  if (volume != nullptr && volume->format != name) volume = nullptr;
  const Format& e = layout.element;
  std::string letters = layout.letters;
  Shape shape = layout.shape;
  std::vector<Step> steps = layout.steps;
  i64 channels = e.is_struct() ? static_cast<i64>(e.fields.size()) : 1;
  if (!e.is_struct() && letters.size() == shape.size() && (letters.back() == 'c' || letters.back() == 's')) {
    channels = shape.back();
    shape.pop_back();
    if (steps.size() > shape.size()) steps.pop_back();
  }
  std::string sizes;
  for (std::size_t d = shape.size(); d-- > 0;) sizes += fmt::format(" {}", shape[d]);
  std::string text = fmt::format(
      "ObjectType = Image\nNDims = {}\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = {}\n",
      shape.size(), packed ? "True" : "False");
  // As long for every number: it is known at the end.
  if (packed) text += fmt::format("CompressedDataSize = {:<{}}\n", packed_bytes, longest_number);
  text += print_place(volume, steps, shape.size());
  if (volume != nullptr)
    for (const auto& [key, value] : volume->fields) text += fmt::format("{} = {}\n", key, value);
  text += fmt::format("DimSize ={}\n", sizes);
  if (channels > 1) text += fmt::format("ElementNumberOfChannels = {}\n", channels);
  text += fmt::format("ElementType = {}\n", type_name(e.is_struct() ? e.fields[0].type : e.scalar));
  return text + fmt::format("ElementDataFile = {}\n", data_name.empty() ? "LOCAL" : data_name);
}

const VolumeFormat format = {.name = name,
                             .parse = parse,
                             .print = print,
                             .letters = metaimage_letters,
                             .detached_suffix = ".mhd",
                             .raw_suffix = ".raw",
                             .packed_suffix = ".zraw",
                             .gzip = false};

}  // namespace

bool matches_metaimage(const Source& source) {
  constexpr std::string_view first[] = {"ObjectType", "NDims", "Comment"};
  const auto bytes = source.bytes.first(std::min<std::size_t>(source.bytes.size(), 4096));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || text.find("NDims") == std::string_view::npos) return false;
  return std::find(std::begin(first), std::end(first), base::trim(text.substr(0, at))) != std::end(first);
}

Array decode_metaimage(const Source& source) {
  return decode_volume(source, format);
}

WriteReport write_metaimage(base::AtomicFile& file, const Array& array, const WriteOptions& options) {
  return write_volume(file, array, options, format);
}

std::unique_ptr<FileReader> open_metaimage(const std::string& path, const ReadOptions& options) {
  return open_volume(path, options, format, matches_metaimage);
}

std::unique_ptr<FileWriter> create_metaimage(const std::string& path, const FileLayout& layout,
                                             const RegionWriteOptions& options) {
  return create_volume(path, layout, options, format);
}

// Dimensions of space and time in the order of arrays, then samples.
std::string metaimage_letters(const ImageHeader& header, const Format& element, int rank) {
  std::string letters = header.axes;
  if (letters.size() != static_cast<std::size_t>(rank)) {
    letters = volume_letters(static_cast<std::size_t>(rank), false);
    std::reverse(letters.begin(), letters.end());
  }
  if (!element.is_struct()) return letters;
  return letters + (is_band(element.fields[0].name) ? "c" : "s");
}

}  // namespace tessera::io
