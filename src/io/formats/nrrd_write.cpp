// The header of an NRRD on its way out; see nrrd.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/formats/nrrd.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view name = nrrd_name;

std::string_view type_name(ElementType type) {
  constexpr std::string_view names[] = {"uint8",  "uint8", "int16", "uint16", "int32",
                                        "uint32", "float", "float", "double"};
  return names[static_cast<std::size_t>(type)];
}

// One axis of the file on its way out, fastest first.
struct Printed {
  i64 size = 0;
  char letter = 'q';
  Step step;
  const VolumeHeader::Axis* axis = nullptr;
};

std::vector<Printed> axes_of(const FileLayout& layout) {
  const VolumeHeader* volume = layout.header.volume.get();
  const bool own = volume != nullptr && volume->format == name;
  std::vector<Printed> axes;
  const std::vector<int> places = places_in_array(layout.letters.substr(0, layout.shape.size()));
  if (layout.element.is_struct()) {
    const char last = layout.letters.size() > layout.shape.size() ? layout.letters.back() : 's';
    axes.push_back({static_cast<i64>(layout.element.fields.size()), last, {}});
  }
  for (std::size_t d = layout.shape.size(); d-- > 0;) {
    Printed p{layout.shape[d], layout.letters[d], d < layout.steps.size() ? layout.steps[d] : Step{}};
    const auto place = static_cast<std::size_t>(std::max(places[d], 0));
    if (own && places[d] >= 0 && place < volume->axes.size()) p.axis = &volume->axes[place];
    axes.push_back(p);
  }
  return axes;
}

template <class F>
std::string line_of(std::string_view field, const std::vector<Printed>& axes, F&& word) {
  std::string line = std::string(field) + ":";
  for (const Printed& p : axes) line += " " + std::string(word(p));
  return line + "\n";
}

bool is_channels(const Printed& p) {
  return p.letter == 'c' || p.letter == 's';
}

std::string kind_of(const Printed& p, const FileLayout& layout) {
  const VolumeHeader* volume = layout.header.volume.get();
  if (p.letter == 't' && layout.header.axes.find('t') != std::string::npos) return "time";
  if (!is_channels(p)) return "domain";
  const bool bands = layout.element.is_struct() && is_band(layout.element.fields[0].name);
  if (p.letter == 's' && !bands && p.size == 3) return "RGB-color";
  if (p.letter == 's' && !bands && p.size == 4) return "RGBA-color";
  if (volume != nullptr && volume->format == name)
    for (const auto& [field, value] : volume->fields)
      if (field == "kind" && !is_one_of(nrrd_colours, value)) return value;
  return "vector";
}

std::string print_place(const FileLayout& layout, const std::vector<Printed>& axes) {
  const auto has_direction = [](const Printed& p) { return p.axis != nullptr && !p.axis->direction.empty(); };
  const bool directions = std::any_of(axes.begin(), axes.end(), has_direction);
  std::string text;
  const VolumeHeader* volume = layout.header.volume.get();
  if (directions) {
    text += line_of("space directions", axes, [&](const Printed& p) {
      return has_direction(p) ? "(" + numbers_in_words(p.axis->direction, ",") + ")" : "none";
    });
    if (!volume->origin.empty()) text += fmt::format("space origin: ({})\n", numbers_in_words(volume->origin, ","));
    return text;
  }
  if (std::all_of(axes.begin(), axes.end(), [](const Printed& p) { return p.step.size <= 0; })) return text;
  text += line_of("spacings", axes, [](const Printed& p) {
    return p.step.size > 0 ? fmt::format("{}", p.step.size) : std::string("nan");
  });
  text += line_of("units", axes, [](const Printed& p) {
    return p.step.size <= 0                        ? "\"\""
           : p.step.unit == Step::Unit::millimetre ? "\"mm\""
           : p.step.unit == Step::Unit::second     ? "\"s\""
                                                   : "\"\"";
  });
  return text;
}

}  // namespace

std::string print_nrrd(const FileLayout& layout, bool packed, const std::string& data_name, i64 /*packed_bytes*/) {
  const std::vector<Printed> axes = axes_of(layout);
  const Format& e = layout.element;
  std::string text = "NRRD0005\n# written by Tessera\n";
  text += fmt::format("type: {}\n", type_name(e.is_struct() ? e.fields[0].type : e.scalar));
  text += fmt::format("dimension: {}\n", axes.size());
  const VolumeHeader* volume = layout.header.volume.get();
  const bool own = volume != nullptr && volume->format == name;
  const auto print_fields = [&](bool pairs) {
    for (const auto& [field, value] : volume->fields)
      if (field != "kind" && field.ends_with(":=") == pairs) text += field + value + "\n";
  };
  if (own) print_fields(false);
  text += line_of("sizes", axes, [](const Printed& p) { return fmt::format("{}", p.size); });
  text += print_place(layout, axes);
  text += line_of("kinds", axes, [&](const Printed& p) { return kind_of(p, layout); });
  for (const std::string_view field : nrrd_fields_of_axes) {
    const std::string blank = field == "labels" ? "" : field == "centers" ? "???" : "nan";
    const auto value_of = [&](const Printed& p) {
      if (p.axis != nullptr)
        for (const auto& [key, value] : p.axis->fields)
          if (key == field) return value;
      return blank;
    };
    if (std::any_of(axes.begin(), axes.end(), [&](const Printed& p) { return value_of(p) != blank; }))
      text += line_of(field, axes, [&](const Printed& p) {
        return field == "labels" ? fmt::format("\"{}\"", value_of(p)) : value_of(p);
      });
  }
  text += "endian: little\n";
  text += fmt::format("encoding: {}\n", packed ? "gzip" : "raw");
  if (own) print_fields(true);
  return text + (data_name.empty() ? "\n" : fmt::format("data file: {}\n", data_name));
}

}  // namespace tessera::io
