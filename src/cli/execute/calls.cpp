// See calls.hpp.
#include "cli/execute/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "cli/execute/values.hpp"
#include "engine/filters/filters.hpp"
#include "io/regions/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

// A series of one moment is a volume, a volume of one slice an image, where the filter or its weights have no rank for
// the whole.
int rank_of(const Shape& shape, const FilterInfo& info, int table_rank) {
  int rank = static_cast<int>(shape.size());
  const auto fits = [&] {
    return std::find(info.ranks.begin(), info.ranks.end(), rank) != info.ranks.end() &&
           (table_rank == 0 || rank <= table_rank);
  };
  for (std::size_t d = 0; rank > 1 && !fits() && shape[d] == 1; ++d) --rank;
  return rank;
}

// Headers as they hold for a result that lies elsewhere in the image.
void place(Lanes& lanes, const engine::Filter& filter, const FilterRequest& request, const Shape& image) {
  for (io::ImageHeader& header : lanes.headers)
    if (!request.nodata.empty()) header.nodata = request.nodata.front();
  const Region region = filter.place(image);
  if (filter.extent == Extent::same) return;
  for (io::ImageHeader& header : lanes.headers) header = io::header_of_region(header, region.begin, region.end);
}

// Of what is filtered: of an image that is not in memory, what --roi left of it.
Shape extents_of(const Lanes& lanes, const Shape& whole) {
  if (!lanes.inputs[0].empty()) return lanes.inputs[0][0].shape();
  Shape shape = whole;
  if (lanes.region)
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::size_t at = lanes.region->begin.size() - shape.size() + d;
      shape[d] = lanes.region->end[at] - lanes.region->begin[at];
    }
  return shape;
}

}  // namespace

std::vector<std::string> Words::of(const std::string& file) const {
  std::vector<std::string> words = others;
  words.push_back(input + "=" + file);
  return words;
}

Words words_of(const Program& program, const std::vector<std::string>& words,
               const std::map<std::string, double>& scalars) {
  Words result;
  const std::vector<Parameter>& inputs = program.inputs();
  if (std::count_if(inputs.begin(), inputs.end(), [](const Parameter& p) { return p.is_array; }) != 1) return {};
  std::vector<std::string> by_position, free;
  std::set<std::string> given;
  for (const auto& [name, value] : scalars) given.insert(name);
  for (const std::string& word : words) {
    const std::string name = cut_name(word).first;
    std::error_code ec;
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const Parameter& p) { return p.name == name; });
    if (known || (!name.empty() && !std::filesystem::exists(word, ec))) {
      given.insert(name);
      result.others.push_back(word);
    } else {
      by_position.push_back(word);
    }
  }
  std::size_t array = 0;
  for (const Parameter& p : inputs) {
    if (given.contains(p.name)) {
      if (p.is_array) return {};
      continue;
    }
    if (p.is_array) {
      array = free.size();
      result.input = p.name;
    }
    free.push_back(p.name);
  }
  if (by_position.empty() || by_position.size() < free.size()) return {};
  const std::size_t count = by_position.size() - (free.size() - 1);
  for (std::size_t k = 0; k < by_position.size(); ++k) {
    const bool file = k >= array && k < array + count;
    if (file && count > 1 && base::parse_number(by_position[k])) return {};  // a number too many
    if (file)
      result.files.push_back(by_position[k]);
    else
      result.others.push_back(free[k < array ? k : k - count + 1] + "=" + by_position[k]);
  }
  return result;
}

void FilterCall::share_range(RunSettings& settings) {
  const FilterInfo& info = engine::filter_info(name);
  const bool has =
      std::any_of(info.options.begin(), info.options.end(), [](const auto& o) { return o.name == "range"; });
  auto& words = settings.output.values.range;
  for (std::size_t i = 0; i < words.size() && has; ++i) {
    if (words[i].find(',') != std::string::npos) continue;
    options.give("range", words[i]);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

std::unique_ptr<Execution> FilterCall::open(const std::string& file, RunSettings settings,
                                            const base::InterruptGuard& interrupt) const {
  const FilterInfo& info = engine::filter_info(name);
  const int table_rank = options.table_rank();
  const std::shared_ptr<io::RegionReader> parts = io::open_parts(file, settings.input.reading.of("image"));
  io::Image image;
  if (parts == nullptr) image = io::read_image(file, settings.input.reading.of("image"));
  const Shape& shape = parts != nullptr ? parts->layout().shape : image.array.shape();
  const Format& stored = parts != nullptr ? parts->layout().element : image.array.format();
  const io::ImageHeader& header = parts != nullptr ? parts->layout().header : image.header;
  const bool pages = settings.input.reading.pages && shape.size() > 2;
  const int rank = pages ? 2 : rank_of(shape, info, table_rank);
  if (rank > 2 && info.ranks == std::vector<int>{2})
    throw Error(ErrorClass::argument,
                fmt::format("filter {} takes images of rank 2, got one of rank {} ({})", base::quoted(name), rank,
                            to_string(shape)),
                {}, "add --pages, which filters each slice by itself");
  const bool grey = settings.input.grey && stored.is_struct() && stored.fields.size() > 1;
  const Format natural = grey ? Format(stored.fields[0].type) : stored;
  const Format format = settings.input.unit ? in_unit(natural) : natural;
  const FilterRequest request = options.request(name, rank, header);
  if (settings.warns) {
    options.note_nodata(format);
    options.note_rounding(name, format, settings.output.files);
  }
  const auto filter = [&] {
    try {
      return engine::make_filter(request, format, rank);
    } catch (const Error& e) {
      if (!e.diagnostics().empty()) throw;
      throw at_shell(e);
    }
  }();
  // By name: a file may be called a=b.png.
  std::vector<std::string> words = {filter->program.inputs().at(0).name + "=" + file};
  if (!request.mask.empty()) {
    const std::string& name = *options.mask();
    words.push_back("mask=" + name);
    const Array mask = engine::mask_for(request.mask, shape);
    const std::shared_ptr<io::RegionReader> of_mask = options.mask_parts();
    if (of_mask != nullptr && request.mask.shape() == shape && name != file) {
      settings.input.open[name] = of_mask;
      settings.input.plain.insert(name);
    } else {
      settings.input.read[name].array = of_mask == nullptr ? mask : engine::mask_for(io::read_array(name), shape);
    }
  }
  const Shape extents(shape.end() - rank, shape.end());
  if (parts != nullptr)
    settings.input.open[file] = parts;
  else
    settings.input.read[file] = std::move(image);
  Adjust adjust{[=](Lanes& lanes) { place(lanes, *filter, request, extents_of(lanes, extents)); }, {}};
  if (filter->extent == Extent::full) adjust.continued = filter;
  return std::make_unique<Execution>(filter->program, name, words, std::map<std::string, double>(), std::move(settings),
                                     interrupt, std::move(adjust));
}

}  // namespace tessera::cli
