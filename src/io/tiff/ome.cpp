// The XML in the description of an OME-TIFF: for each image its sizes, the order of its planes, and which page is which
// plane. https://docs.openmicroscopy.org/ome-model/latest/ome-tiff/specification.html
//
// Text of strangers: elements and attributes are found by a scan that never goes back, and no number is believed beyond
// what a file can hold. A plane of channel c, slice z and moment t is counted along DimensionOrder, XYCZT or another,
// whose first letters vary fastest. Channels that stand together in a page (SamplesPerPixel) are one plane.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "io/tiff/text.hpp"

namespace tessera::io {
namespace {

constexpr i64 most_planes = i64{1} << 22;
constexpr std::size_t most_images = 4096;

// One tag after the other: "<name attributes>", "</name>", without comments, instructions and what stands between tags.
class Tags {
 public:
  explicit Tags(std::string_view text) : text_(text) {}

  bool next() {
    while (true) {
      const std::size_t begin = text_.find('<', at_);
      if (begin == std::string_view::npos) return false;
      if (text_.substr(begin).starts_with("<!--")) {
        if (!skip_behind("-->", begin)) return false;
        continue;
      }
      if (text_.substr(begin).starts_with("<![CDATA[")) {
        if (!skip_behind("]]>", begin)) return false;
        continue;
      }
      std::size_t end = begin + 1;
      for (char quote = 0; end < text_.size() && (quote != 0 || text_[end] != '>'); ++end) {
        const char c = text_[end];
        if (quote != 0 ? c == quote : c == '"' || c == '\'') quote = quote != 0 ? '\0' : c;
      }
      all_ = text_.substr(begin + 1, end - begin - 1);
      at_ = std::min(end + 1, text_.size());
      closes_ = !all_.empty() && all_[0] == '/';
      if (closes_) all_.remove_prefix(1);
      alone_ = !all_.empty() && all_.back() == '/';
      name_ = all_.substr(0, all_.find_first_of(" \t\r\n/"));
      if (const std::size_t colon = name_.find(':'); colon != std::string_view::npos) name_.remove_prefix(colon + 1);
      if (name_.empty() || name_[0] == '?' || name_[0] == '!') continue;
      return true;
    }
  }
  bool opens(std::string_view name) const { return !closes_ && name_ == name; }
  bool closes(std::string_view name) const { return (closes_ || alone_) && name_ == name; }
  // What stands up to the next tag.
  std::string_view content() const { return text_.substr(at_, text_.find('<', at_) - at_); }
  // "" for one that is not there.
  std::string_view attribute(std::string_view name) const {
    for (std::size_t i = name_.size(); i < all_.size();) {
      const std::size_t equals = all_.find('=', i);
      if (equals == std::string_view::npos) return {};
      std::size_t open = equals + 1;
      while (open < all_.size() && all_[open] != '"' && all_[open] != '\'') ++open;
      if (open == all_.size()) return {};
      const std::size_t close = std::min(all_.find(all_[open], open + 1), all_.size());
      std::string_view key = all_.substr(i, equals - i);
      if (const std::size_t blank = key.find_last_of(" \t\r\n", key.find_last_not_of(" \t\r\n"));
          blank != std::string_view::npos)
        key.remove_prefix(blank + 1);
      if (base::trim(key) == name) return all_.substr(open + 1, close - open - 1);
      i = close + 1;
    }
    return {};
  }

 private:
  bool skip_behind(std::string_view end, std::size_t from) {
    const std::size_t found = text_.find(end, from);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    return found != std::string_view::npos;
  }

  std::string_view text_, all_, name_;
  std::size_t at_ = 0;
  bool closes_ = false, alone_ = false;
};

struct Planes {
  std::string order = "czt";  // fastest first
  i64 size[3] = {1, 1, 1};    // of c, z and t
  std::vector<i64> places;    // of the planes, along the order; -1: not told

  i64 extent(char letter) const { return size[std::string_view("czt").find(letter)]; }
  i64 count() const { return size[0] * size[1] * size[2]; }
  // Planes along the order up to the first one of these numbers.
  i64 index(i64 c, i64 z, i64 t) const {
    i64 at = 0, step = 1;
    for (const char letter : order) {
      at += step * (letter == 'c' ? c : letter == 'z' ? z : t);
      step *= extent(letter);
    }
    return at;
  }
};

class Parser {
 public:
  Parser(std::string_view text, int samples) : tags_(text), samples_(std::max(samples, 1)) {}

  TiffText parse() {
    out_.kind = TiffText::Kind::ome;
    std::string_view file;  // its own name in the set, if it has one
    bool elsewhere = false;
    while (tags_.next() && out_.images.size() < most_images && out_.contradiction.empty()) {
      if (tags_.opens("OME")) file = tags_.attribute("UUID");
      if (tags_.opens("BinaryOnly")) out_.contradiction = "OME says that its axes are told in another file";
      if (tags_.opens("Image")) name_ = tags_.attribute("Name");
      if (tags_.opens("Pixels")) begin_pixels();
      if (tags_.opens("TiffData") && pixels_) begin_data();
      if (tags_.opens("UUID") && pixels_ && data_)
        elsewhere = data_->elsewhere = !file.empty() && base::trim(tags_.content()) != file;
      if (tags_.closes("TiffData")) end_data();
      if (tags_.closes("Pixels")) end_pixels(elsewhere);
    }
    end_data();
    end_pixels(elsewhere);
    out_.pages = 0;
    for (const TiffImage& image : out_.images) out_.pages += product_of(image.axes);
    return out_;
  }

 private:
  struct Data {
    i64 place = 0, first = 0, count = -1;  // -1: all that follow
    bool elsewhere = false;
  };

  i64 number(std::string_view name, i64 missing) const {
    const auto value = base::parse_integer(base::trim(tags_.attribute(name)));
    return value && *value >= 0 && *value < most_planes ? *value : missing;
  }

  void begin_pixels() {
    Planes planes;
    const std::string order = base::to_lower(std::string(tags_.attribute("DimensionOrder")));
    if (order.size() == 5 && order.starts_with("xy") && std::is_permutation(order.begin() + 2, order.end(), "czt"))
      planes.order = order.substr(2);
    planes.size[0] = count_of(tags_.attribute("SizeC"));
    planes.size[1] = count_of(tags_.attribute("SizeZ"));
    planes.size[2] = count_of(tags_.attribute("SizeT"));
    // Samples of a page are channels of OME's.
    if (samples_ > 1 && planes.size[0] % samples_ == 0) planes.size[0] /= samples_;
    const double all =
        static_cast<double>(planes.size[0]) * static_cast<double>(planes.size[1]) * static_cast<double>(planes.size[2]);
    planes_ += all;
    if (planes_ > static_cast<double>(most_planes)) {
      out_.contradiction = fmt::format("OME says that its images have {:.0f} pages", planes_);
      return;
    }
    pixels_ = std::move(planes);
    pixels_->places.assign(static_cast<std::size_t>(pixels_->count()), -1);
    told_ = false;
    if (!out_.images.empty()) return;
    const auto length = [&](std::string_view axis) {
      const std::string_view unit = tags_.attribute(fmt::format("PhysicalSize{}Unit", axis));
      return distance_of(tags_.attribute(fmt::format("PhysicalSize{}", axis)),
                         unit.empty() ? 1e-3 : millimetres_of(unit),  // micrometres by default
                         Step::Unit::millimetre);
    };
    const std::string_view unit = tags_.attribute("TimeIncrementUnit");
    out_.steps = {
        {'t', distance_of(tags_.attribute("TimeIncrement"), unit.empty() ? 1 : seconds_of(unit), Step::Unit::second)},
        {'z', length("Z")},
        {'y', length("Y")},
        {'x', length("X")}};
  }

  void begin_data() {
    const bool has_place = !tags_.attribute("IFD").empty();
    data_ =
        Data{number("IFD", 0), pixels_->index(number("FirstC", 0) / samples_, number("FirstZ", 0), number("FirstT", 0)),
             number("PlaneCount", number("NumPlanes", has_place ? 1 : -1))};
  }

  void end_data() {
    if (!data_ || !pixels_) return;
    told_ = true;
    auto& places = pixels_->places;
    const i64 end = static_cast<i64>(places.size());
    const i64 count = data_->count < 0 ? end : data_->count;
    told_places_ += static_cast<double>(std::min(count, end));
    if (told_places_ > 4 * static_cast<double>(most_planes))
      out_.contradiction = "OME tells the places of pages again and again";
    for (i64 k = 0; k < count && data_->first + k < end && !data_->elsewhere; ++k)
      places[static_cast<std::size_t>(data_->first + k)] = data_->place + k;
    data_.reset();
  }

  void end_pixels(bool elsewhere) {
    if (!pixels_) return;
    auto& places = pixels_->places;
    if (!told_)  // one after the other
      for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<i64>(k);
    TiffImage image;
    image.name = std::string(name_.substr(0, 80));
    for (auto letter = pixels_->order.rbegin(); letter != pixels_->order.rend(); ++letter)
      image.axes.push_back({*letter, pixels_->extent(*letter)});
    if (const auto none = std::find(places.begin(), places.end(), -1); none != places.end())
      out_.contradiction = fmt::format(
          "OME says that its image {} has {} pages, but tells the places of {}{}", base::quoted(image.name),
          places.size(), places.size() - static_cast<std::size_t>(std::count(places.begin(), places.end(), -1)),
          elsewhere ? "; others are in another file" : "");
    image.places = std::move(places);
    out_.images.push_back(std::move(image));
    pixels_.reset();
  }

  Tags tags_;
  int samples_;
  TiffText out_;
  std::string_view name_;
  std::optional<Planes> pixels_;
  std::optional<Data> data_;
  bool told_ = false;
  double planes_ = 0, told_places_ = 0;  // so far, of all images
};

std::string_view type_in_words(ElementType type) {
  switch (type) {
    case ElementType::i16:
      return "int16";
    case ElementType::u16:
      return "uint16";
    case ElementType::i32:
      return "int32";
    case ElementType::u32:
      return "uint32";
    case ElementType::f32:
      return "float";
    case ElementType::f64:
      return "double";
    case ElementType::f16:  // OME has none: readers go by the tags of the pages
      return "float";
    default:
      return "uint8";
  }
}

}  // namespace

TiffText parse_ome(std::string_view text, int samples) {
  return Parser(text, samples).parse();
}

std::vector<std::string> ome_fields(std::string_view text) {
  std::vector<std::string> fields;
  const auto add = [&](std::string_view field) {
    if (fields.size() < 16 && std::find(fields.begin(), fields.end(), field) == fields.end())
      fields.emplace_back(field);
  };
  constexpr std::string_view of_channel[] = {"Name",
                                             "Color",
                                             "Fluor",
                                             "EmissionWavelength",
                                             "ExcitationWavelength",
                                             "AcquisitionMode",
                                             "ContrastMethod",
                                             "IlluminationType",
                                             "NDFilter",
                                             "PinholeSize"};
  constexpr std::string_view elements[] = {"AcquisitionDate",
                                           "Description",
                                           "Experimenter",
                                           "Project",
                                           "Dataset",
                                           "Instrument",
                                           "StageLabel",
                                           "ROI",
                                           "ImagingEnvironment",
                                           "Plane",
                                           "DetectorSettings",
                                           "LightSourceSettings",
                                           "ObjectiveSettings",
                                           "StructuredAnnotations"};
  for (Tags tags(text); tags.next();) {
    if (tags.opens("Image") && !tags.attribute("Name").empty() && tags.attribute("Name") != "Image0") add("Image Name");
    for (const std::string_view name : of_channel)
      if (tags.opens("Channel") && !tags.attribute(name).empty()) add(fmt::format("Channel {}", name));
    for (const std::string_view name : elements)
      if (tags.opens(name)) add(name);
  }
  return fields;
}

std::string print_ome(const TiffLayout& layout) {
  const i64 samples = layout.page.size() > 2 ? layout.page[2] : 1;
  const auto extent = [&](char letter) {
    for (const FileAxis& a : layout.pages)
      if (a.letter == letter) return a.extent;
    return i64{1};
  };
  std::string order = "XY";  // fastest first
  for (auto a = layout.pages.rbegin(); a != layout.pages.rend(); ++a) order += static_cast<char>(a->letter - 'a' + 'A');
  for (const char letter : std::string_view("CZT"))
    if (order.find(letter) == std::string::npos) order += letter;
  const i64 channels = extent('c');
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
      "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
      "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\" Creator=\"Tessera\">"
      "<Image ID=\"Image:0\" Name=\"Image0\">";
  text += fmt::format(
      "<Pixels ID=\"Pixels:0\" DimensionOrder=\"{}\" Type=\"{}\" SizeX=\"{}\" SizeY=\"{}\" SizeC=\"{}\" SizeZ=\"{}\" "
      "SizeT=\"{}\"",
      order, type_in_words(layout.type), layout.page[1], layout.page[0], channels * samples, extent('z'), extent('t'));
  for (const char letter : std::string_view("xyz")) {
    const auto step = layout.steps.find(letter);
    if (step == layout.steps.end() || step->second.unit != Step::Unit::millimetre || step->second.size <= 0) continue;
    const char axis = static_cast<char>(letter - 'a' + 'A');
    text += fmt::format(" PhysicalSize{0}=\"{1:.9g}\" PhysicalSize{0}Unit=\"mm\"", axis, step->second.size);
  }
  if (const auto step = layout.steps.find('t'); step != layout.steps.end() && step->second.unit == Step::Unit::second)
    text += fmt::format(" TimeIncrement=\"{:.9g}\" TimeIncrementUnit=\"s\"", step->second.size);
  text += ">";
  for (i64 k = 0; k < channels; ++k)
    text += fmt::format("<Channel ID=\"Channel:0:{}\" SamplesPerPixel=\"{}\"><LightPath/></Channel>", k, samples);
  return text + fmt::format("<TiffData IFD=\"0\" PlaneCount=\"{}\"/></Pixels></Image></OME>", product_of(layout.pages));
}

}  // namespace tessera::io
