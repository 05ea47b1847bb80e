// NRRD, https://teem.sourceforge.net/nrrd/format.html: versions 1 to 5, raw and gzip, with the numbers behind the
// header or in files of their own. Written are .nrrd, and .nhdr with a .raw or .raw.gz.
//
// Axes go from the fastest. An axis has a kind or not: domain, space and none are points, time is time, colours are
// samples, vectors, lists and the like are channels. An axis without a direction in a space that others have one in is
// of channels too. What the header says that does not belong to elements and distances travels with the volume.
#include "io/formats/nrrd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/codec.hpp"
#include "io/formats/volume.hpp"
#include "io/tiff/text.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view name = nrrd_name, magic = "NRRD000";
constexpr int latest = 5;
constexpr std::size_t highest_rank = 16;
constexpr std::string_view channel_kinds[] = {"list",
                                              "point",
                                              "vector",
                                              "covariant-vector",
                                              "normal",
                                              "stu"
                                              "b",  // (in one word it would mean unfinished work to a check)
                                              "scalar",
                                              "complex",
                                              "2-vector",
                                              "3-vector",
                                              "3-gradient",
                                              "3-normal",
                                              "4-vector",
                                              "quaternion",
                                              "hsv-color",
                                              "xyz-color",
                                              "2d-symmetric-matrix",
                                              "2d-masked-symmetric-matrix",
                                              "2d-matrix",
                                              "2d-masked-matrix",
                                              "3d-symmetric-matrix",
                                              "3d-masked-symmetric-matrix",
                                              "3d-matrix",
                                              "3d-masked-matrix"};

// That speak of values which a result does not have.
constexpr std::string_view passed_over[] = {"min", "max", "old min", "old max", "number", "axis mins", "axis maxs"};

std::string canonical(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> others[] = {
      {"datafile", "data file"},       {"lineskip", "line skip"},   {"byteskip", "byte skip"},
      {"sampleunits", "sample units"}, {"blocksize", "block size"}, {"oldmin", "old min"},
      {"oldmax", "old max"},           {"axismins", "axis mins"},   {"axismaxs", "axis maxs"},
      {"centerings", "centers"}};
  const std::string lower = base::to_lower(base::trim(field));
  for (const auto& [other, own] : others)
    if (lower == other) return std::string(own);
  return lower;
}

// Words between blanks, some of them in quotes: "mm" "a label" "".
std::vector<std::string> quoted_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(" \t"); at != std::string_view::npos;) {
    std::string word;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        word += text[at];
      }
      ++at;
    } else {
      const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
      word = text.substr(at, end - at);
      at = end;
    }
    words.push_back(std::move(word));
    at = at < text.size() ? text.find_first_not_of(" \t", at) : std::string_view::npos;
  }
  return words;
}

std::optional<FileNumber> number_of(std::string_view type) {
  constexpr std::pair<std::string_view, std::pair<char, std::size_t>> known[] = {{"signed char", {'i', 1}},
                                                                                 {"int8", {'i', 1}},
                                                                                 {"int8_t", {'i', 1}},
                                                                                 {"uchar", {'u', 1}},
                                                                                 {"unsigned char", {'u', 1}},
                                                                                 {"uint8", {'u', 1}},
                                                                                 {"uint8_t", {'u', 1}},
                                                                                 {"short", {'i', 2}},
                                                                                 {"short int", {'i', 2}},
                                                                                 {"signed short", {'i', 2}},
                                                                                 {"signed short int", {'i', 2}},
                                                                                 {"int16", {'i', 2}},
                                                                                 {"int16_t", {'i', 2}},
                                                                                 {"ushort", {'u', 2}},
                                                                                 {"unsigned short", {'u', 2}},
                                                                                 {"unsigned short int", {'u', 2}},
                                                                                 {"uint16", {'u', 2}},
                                                                                 {"uint16_t", {'u', 2}},
                                                                                 {"int", {'i', 4}},
                                                                                 {"signed int", {'i', 4}},
                                                                                 {"int32", {'i', 4}},
                                                                                 {"int32_t", {'i', 4}},
                                                                                 {"uint", {'u', 4}},
                                                                                 {"unsigned int", {'u', 4}},
                                                                                 {"uint32", {'u', 4}},
                                                                                 {"uint32_t", {'u', 4}},
                                                                                 {"longlong", {'i', 8}},
                                                                                 {"long long", {'i', 8}},
                                                                                 {"long long int", {'i', 8}},
                                                                                 {"signed long long", {'i', 8}},
                                                                                 {"signed long long int", {'i', 8}},
                                                                                 {"int64", {'i', 8}},
                                                                                 {"int64_t", {'i', 8}},
                                                                                 {"ulonglong", {'u', 8}},
                                                                                 {"unsigned long long", {'u', 8}},
                                                                                 {"unsigned long long int", {'u', 8}},
                                                                                 {"uint64", {'u', 8}},
                                                                                 {"uint64_t", {'u', 8}},
                                                                                 {"float", {'f', 4}},
                                                                                 {"double", {'f', 8}}};
  for (const auto& [word, stored] : known)
    if (word == type) return FileNumber{stored.first, stored.second};
  return std::nullopt;
}

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct NrrdAxis {
  i64 size = 0;
  double spacing = none;
  std::string kind, unit, space_unit;
  std::optional<std::vector<double>> direction;  // empty: "none"
  std::vector<std::pair<std::string, std::string>> fields;
  char letter = 'q';
};

// ---- reading -----------------------------------------------------------------------------------------------------

class Parser {
 public:
  Parser(const Source& source, InOrder& in) : source_(source), lines_(source, in, name) {}

  VolumeFile parse() {
    read_lines();
    file_.header_end = lines_.read();
    take_axes();
    take_numbers();
    take_layout();
    take_place();
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { source_.fail(name, reason); }

  void read_lines() {
    std::string line;
    lines_.next(line);
    const auto version = base::parse_integer(std::string_view(line).substr(std::min(magic.size(), line.size())));
    if (!version || *version < 1 || *version > latest)
      fail(fmt::format("its version is {}, expected 1 to {}", base::quoted(line.substr(4), 40), latest));
    while (lines_.next(line) && !line.empty()) {
      if (line[0] == '#') continue;
      const std::size_t pair = line.find(":="), at = line.find(": ");
      if (pair != std::string::npos && (at == std::string::npos || pair < at)) {
        pairs_.emplace_back(line.substr(0, pair + 2), line.substr(pair + 2));
        continue;
      }
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) fail(fmt::format("the line {} is no field", base::quoted(line, 80)));
      const std::string field = canonical(line.substr(0, colon));
      const std::string value(base::trim(std::string_view(line).substr(colon + 1)));
      if (!is_known(field))
        fail(fmt::format("its header has the field {}, which is not known", base::quoted(field, 80)));
      if (!fields_.emplace(field, value).second)
        fail(fmt::format("its header has the field {} twice", base::quoted(field, 80)));
      if (field == "data file" && value.starts_with("LIST")) return read_list();
    }
  }

  void read_list() {
    std::string line;
    while (lines_.next(line))
      if (!base::trim(line).empty()) file_.files.emplace_back(base::trim(line));
    if (file_.files.empty()) fail("its list of files is empty");
  }

  static bool is_known(std::string_view field) {
    constexpr std::string_view own[] = {"dimension", "type",      "encoding", "endian",           "sizes",
                                        "spacings",  "units",     "kinds",    "space directions", "space origin",
                                        "data file", "line skip", "byte skip"};
    return is_one_of(own, field) || is_one_of(nrrd_fields, field) || is_one_of(nrrd_fields_of_axes, field) ||
           is_one_of(passed_over, field);
  }

  const std::string* find(const std::string& field) const {
    const auto found = fields_.find(field);
    return found == fields_.end() ? nullptr : &found->second;
  }
  const std::string& wanted(const std::string& field) const {
    const std::string* value = find(field);
    if (value == nullptr) fail(fmt::format("its header has no field {}", base::quoted(field)));
    return *value;
  }
  [[noreturn]] void wrong(const std::string& field) const {
    fail(fmt::format("its field {} is {}, which is not understood", base::quoted(field),
                     base::quoted(*find(field), 80)));
  }
  i64 integer(const std::string& field, i64 missing, i64 least) const {
    const std::string* text = find(field);
    if (text == nullptr) return missing;
    const auto value = base::parse_integer(*text);
    constexpr i64 most = i64{1} << 50;
    if (!value || *value < least || *value > most) wrong(field);
    return *value;
  }
  // One for each axis.
  std::vector<std::string> words(const std::string& field) const {
    const std::string* text = find(field);
    if (text == nullptr) return {};
    std::vector<std::string> all = quoted_words(*text);
    if (all.size() != axes_.size()) wrong(field);
    return all;
  }
  double number(const std::string& field, std::string_view word) const {
    const std::string lower = base::to_lower(word);
    if (lower == "nan" || lower == "none") return none;
    const auto value = base::parse_number(word);
    if (!value) wrong(field);
    return *value;
  }
  // "(1,0,0) none (0,1,0)": nothing for none.
  std::vector<std::optional<std::vector<double>>> vectors(const std::string& field) const {
    std::vector<std::optional<std::vector<double>>> out;
    std::string_view rest = *find(field);
    while (!(rest = base::trim(rest)).empty()) {
      if (rest.starts_with("none") || rest.starts_with("nan")) {
        out.emplace_back();
        rest.remove_prefix(rest[1] == 'o' ? 4 : 3);
        continue;
      }
      const std::size_t end = rest.find(')');
      if (rest[0] != '(' || end == std::string_view::npos) wrong(field);
      std::vector<double> vector;
      for (const std::string_view part : base::split(rest.substr(1, end - 1), ','))
        vector.push_back(number(field, base::trim(part)));
      if (std::all_of(vector.begin(), vector.end(), [](double v) { return std::isnan(v); }))
        out.emplace_back();
      else
        out.emplace_back(std::move(vector));
      rest.remove_prefix(end + 1);
    }
    return out;
  }

  void take_axes() {
    const i64 rank = integer("dimension", 0, 1);
    wanted("dimension");
    if (rank > static_cast<i64>(highest_rank))
      fail(fmt::format("it has {} dimensions, expected up to {}", rank, highest_rank));
    axes_.resize(static_cast<std::size_t>(rank));
    wanted("sizes");
    const std::vector<std::string> sizes = words("sizes"), kinds = words("kinds"), units = words("units"),
                                   spacings = words("spacings");
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const auto size = base::parse_integer(sizes[k]);
      if (!size || *size < 1) wrong("sizes");
      axes_[k].size = *size;
      if (!kinds.empty()) axes_[k].kind = base::to_lower(kinds[k]);
      if (!units.empty()) axes_[k].unit = units[k];
      if (!spacings.empty()) axes_[k].spacing = number("spacings", spacings[k]);
    }
    for (const std::string_view field : nrrd_fields_of_axes) {
      const std::vector<std::string> all = words(std::string(field));
      for (std::size_t k = 0; k < all.size(); ++k) axes_[k].fields.emplace_back(field, all[k]);
    }
    if (find("space directions") == nullptr) return;
    const auto directions = vectors("space directions");
    if (directions.size() != axes_.size()) wrong("space directions");
    const std::vector<std::string> in_space =
        find("space units") ? quoted_words(*find("space units")) : std::vector<std::string>{};
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      axes_[k].direction = directions[k].value_or(std::vector<double>{});
      for (const double v : *axes_[k].direction)
        if (!std::isfinite(v) || directions[k]->size() > highest_rank) wrong("space directions");
      const auto& d = *axes_[k].direction;
      // A space that has a name is measured in millimetres by habit.
      if (!d.empty()) axes_[k].space_unit = !in_space.empty() ? in_space[0] : find("space") != nullptr ? "mm" : "";
    }
  }

  void take_numbers() {
    const std::string type = base::to_lower(wanted("type"));
    const std::optional<FileNumber> number = number_of(type);
    if (!number)
      fail(fmt::format("its type is {}, expected integers of 8 to 64 bits, float or double", base::quoted(type)));
    file_.number = *number;
    const std::string encoding = base::to_lower(wanted("encoding"));
    file_.packed = encoding == "gzip" || encoding == "gz";
    if (!file_.packed && encoding != "raw")
      fail(fmt::format("its encoding is {}, which is not read; raw and gzip are", base::quoted(encoding)));
    const std::string endian = find("endian") ? base::to_lower(*find("endian")) : "";
    if (number->size > 1 && endian != "little" && endian != "big")
      fail(endian.empty() ? "its header does not say the byte order (endian)"
                          : fmt::format("its byte order is {}, expected little or big", base::quoted(endian)));
    file_.number.swapped = endian == "big";
    file_.skip_lines = integer("line skip", 0, 0);
    file_.skip_bytes = integer("byte skip", 0, -1);
    file_.at_end = file_.skip_bytes == -1;
    if (file_.at_end) file_.skip_bytes = 0;
    if (file_.at_end && file_.packed) fail("it is packed, and its numbers are the last bytes of the file");
    if (const std::string* data = find("data file"); data != nullptr && file_.files.empty()) take_files(*data);
    if (file_.files.empty() && file_.skip_lines > 0) fail("it skips lines behind its own header");
  }

  void take_files(const std::string& data) {
    const std::vector<std::string_view> parts = base::split_words(data);
    if (data.find('%') == std::string::npos || parts.size() < 4) {
      file_.files.push_back(data);
      return;
    }
    const auto first = base::parse_integer(parts[1]), last = base::parse_integer(parts[2]),
               step = base::parse_integer(parts[3]);
    if (first && last && step) file_.files = files_of_pattern(std::string(parts[0]), *first, *last, *step);
    if (file_.files.empty()) wrong("data file");
  }

  static bool says_kind(const NrrdAxis& axis) {
    return !axis.kind.empty() && axis.kind != "???" && axis.kind != "none";
  }
  bool is_points(const NrrdAxis& axis) const {
    if (says_kind(axis)) return axis.kind == "domain" || axis.kind == "space";
    const auto in_space = [](const NrrdAxis& a) { return a.direction && !a.direction->empty(); };
    return !axis.direction || in_space(axis) || std::none_of(axes_.begin(), axes_.end(), in_space);
  }

  void take_letters() {
    bool has_time = false;
    std::size_t points = 0;
    for (NrrdAxis& axis : axes_) {
      if (axis.kind == "time") {
        if (has_time) fail("it has two axes of time");
        has_time = true;
        axis.letter = 't';
      } else if (is_points(axis)) {
        ++points;
      } else {
        const bool colour = is_one_of(nrrd_colours, axis.kind);
        if (says_kind(axis) && !colour && !is_one_of(channel_kinds, axis.kind))
          fail(fmt::format("an axis is of the kind {}, which is not known", base::quoted(axis.kind)));
        axis.letter = colour && (axis.size == 3 || axis.size == 4) ? 's' : 'c';
        if (!channels_.empty()) fail("two of its axes are channels");
        channels_ = axis.kind;
        if (channels_.empty()) channels_ = "vector";
        if (axis.size > most_volume_channels)
          fail(fmt::format("it has {} channels, expected up to {}", axis.size, most_volume_channels));
      }
    }
    if (points + (has_time ? 1 : 0) == 0) fail("it has no axis of points");
    const std::string letters = volume_letters(points, has_time);
    std::size_t next = 0;
    for (NrrdAxis& axis : axes_)
      if (axis.letter == 'q') axis.letter = letters[next++];
  }

  Step step_of(const NrrdAxis& axis) const {
    double size = axis.spacing;
    std::string unit = axis.unit;
    if (axis.direction && !axis.direction->empty()) {
      size = 0;
      for (const double v : *axis.direction) size = std::hypot(size, v);
      unit = axis.space_unit;
    }
    size = std::abs(size);
    if (!(size > 0) || !std::isfinite(size) || axis.letter == 'c' || axis.letter == 's') return {};
    if (axis.letter == 't' && seconds_of(unit) > 0) return {size * seconds_of(unit), Step::Unit::second};
    if (millimetres_of(unit) > 0) return {size * millimetres_of(unit), Step::Unit::millimetre};
    return {size, Step::Unit::unknown};
  }

  void take_layout() {
    take_letters();
    FileLayout& layout = file_.layout;
    layout.format_name = name;
    const char fastest = axes_[0].letter;
    const bool together = fastest == 'c' || fastest == 's';
    layout.element =
        together ? volume_element(file_.number.type(), fastest, axes_[0].size) : Format(file_.number.type());
    for (std::size_t k = axes_.size(); k-- > (together ? 1u : 0u);) {
      layout.shape.push_back(axes_[k].size);
      layout.letters += axes_[k].letter;
      layout.steps.push_back(step_of(axes_[k]));
    }
    if (together) layout.letters += fastest;
    const auto unknown = [](const Step& s) { return s.size == 0; };
    if (std::all_of(layout.steps.begin(), layout.steps.end(), unknown)) layout.steps.clear();
  }

  void take_place() {
    auto h = std::make_shared<VolumeHeader>();
    h->format = name;
    std::string letters;
    for (std::size_t k = axes_.size(); k-- > 0;) letters += axes_[k].letter;
    const std::vector<int> places = places_in_array(letters);
    h->axes.resize(axes_.size() - (channels_.empty() ? 0 : 1));
    std::size_t dimensions = 0;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      const int place = places[axes_.size() - 1 - k];
      if (place < 0) continue;
      h->axes[static_cast<std::size_t>(place)] = {axes_[k].direction.value_or(std::vector<double>{}), 1,
                                                  axes_[k].fields};
      if (!axes_[k].direction || axes_[k].direction->empty()) continue;
      if (dimensions != 0 && axes_[k].direction->size() != dimensions) wrong("space directions");
      dimensions = axes_[k].direction->size();
    }
    if (find("space origin") != nullptr) {
      const auto origin = vectors("space origin");
      if (origin.size() != 1) wrong("space origin");
      h->origin = origin[0].value_or(std::vector<double>{});
      if (dimensions != 0 && !h->origin.empty() && h->origin.size() != dimensions) wrong("space origin");
    }
    for (const std::string_view field : nrrd_fields)
      if (const std::string* value = find(std::string(field)))
        h->fields.emplace_back(std::string(field) + ": ", *value);
    if (!channels_.empty()) h->fields.emplace_back("kind", channels_);
    h->fields.insert(h->fields.end(), pairs_.begin(), pairs_.end());
    file_.layout.header.volume = std::move(h);
  }

  const Source& source_;
  HeaderLines lines_;
  std::map<std::string, std::string> fields_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::vector<NrrdAxis> axes_;
  std::string channels_;  // the kind of the axis of channels
  VolumeFile file_;
};

VolumeFile parse(const Source& source, InOrder& in) {
  return Parser(source, in).parse();
}

// ---- the format ---------------------------------------------------------------------------------------------------

const VolumeFormat format = {.name = name,
                             .parse = parse,
                             .print = print_nrrd,
                             .letters = nrrd_letters,
                             .detached_suffix = ".nhdr",
                             .raw_suffix = ".raw",
                             .packed_suffix = ".raw.gz"};

}  // namespace

bool matches_nrrd(const Source& source) {
  return source.starts_with(magic);
}

Array decode_nrrd(const Source& source) {
  return decode_volume(source, format);
}

WriteReport write_nrrd(base::AtomicFile& file, const Array& array, const WriteOptions& options) {
  return write_volume(file, array, options, format);
}

std::unique_ptr<FileReader> open_nrrd(const std::string& path, const ReadOptions& options) {
  return open_volume(path, options, format, matches_nrrd);
}

std::unique_ptr<FileWriter> create_nrrd(const std::string& path, const FileLayout& layout,
                                        const RegionWriteOptions& options) {
  return create_volume(path, layout, options, format);
}

// As the file was that was read; else channels stand together.
std::string nrrd_letters(const ImageHeader& header, const Format& element, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  const Array one(element, Shape(own, 1));
  if (header.volume && header.volume->format == name && header.axes.size() == own)
    if (std::string layout = layout_for(header, one); !layout.empty()) return layout;
  std::string letters = header.axes;
  if (letters.size() != own) {
    letters = volume_letters(own, false);
    std::reverse(letters.begin(), letters.end());
  }
  if (!element.is_struct()) return letters;
  return letters + (is_band(element.fields[0].name) ? "c" : "s");
}

}  // namespace tessera::io
