// `tessera filter`: a standard filter by its name, on a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "cli/batch/batch.hpp"
#include "cli/batch/journal.hpp"
#include "cli/command.hpp"
#include "cli/execute/execute.hpp"
#include "cli/execute/on_ranks.hpp"
#include "cli/options/filter_options.hpp"
#include "cli/verbs.hpp"
#include "engine/filters/filters.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

struct FilterVerb {
  FilterOptions options;
  RunSettings settings;
  std::string name;
  std::vector<std::string> images;
  bool list = false;
};

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

// The image continued where it is wanted, and its mask.
void continue_images(Lanes& lanes, const engine::Filter& filter) {
  for (auto& lane : lanes.inputs)
    for (Array& input : lane) input = filter.input(input);
}

// `--range 25` is of filters that have a range, `--range LO,HI` of the file.
void share_range(FilterVerb& verb, const FilterInfo& info) {
  const bool has =
      std::any_of(info.options.begin(), info.options.end(), [](const auto& o) { return o.name == "range"; });
  auto& words = verb.settings.output.values.range;
  for (std::size_t i = 0; i < words.size() && has; ++i) {
    if (words[i].find(',') != std::string::npos) continue;
    verb.options.give("range", words[i]);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i--));
  }
}

// One file. Programs are kept, so that files alike compile once.
std::unique_ptr<Execution> open(const FilterVerb& verb, const FilterInfo& info, const std::string& file,
                                RunSettings settings, const base::InterruptGuard& interrupt) {
  const int table_rank = verb.options.table_rank();
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
                fmt::format("filter {} takes images of rank 2, got one of rank {} ({})", base::quoted(verb.name), rank,
                            to_string(shape)),
                {}, "add --pages, which filters each slice by itself");
  const bool grey = settings.input.grey && stored.is_struct() && stored.fields.size() > 1;
  const Format natural = grey ? Format(stored.fields[0].type) : stored;
  const Format format = settings.input.unit ? in_unit(natural) : natural;
  const FilterRequest request = verb.options.request(verb.name, rank, header);
  if (settings.warns) {
    verb.options.note_nodata(format);
    verb.options.note_rounding(verb.name, format, settings.output.files);
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
    const Array mask = engine::mask_for(request.mask, shape);
    words.push_back("mask=" + *verb.options.mask());
    settings.input.read[*verb.options.mask()].array = mask;
  }
  const Shape extents(shape.end() - rank, shape.end());
  if (parts != nullptr)
    settings.input.open[file] = parts;
  else
    settings.input.read[file] = std::move(image);
  Adjust adjust{[=](Lanes& lanes) { place(lanes, *filter, request, extents_of(lanes, extents)); }, {}};
  if (filter->extent == Extent::full) adjust.arrays = [=](Lanes& lanes) { continue_images(lanes, *filter); };
  return std::make_unique<Execution>(filter->program, verb.name, words, std::map<std::string, double>(),
                                     std::move(settings), interrupt, std::move(adjust));
}

int run(FilterVerb& verb, const CLI::App& app, const base::InterruptGuard& interrupt) {
  if (verb.list) {
    fmt::print("{}", list_of_filters(verb.name));
    return done;
  }
  if (verb.name.empty())
    throw Error(ErrorClass::argument, "name is required", {}, "tessera filter --list lists filters");
  const FilterInfo& info = engine::filter_info(verb.name);
  if (verb.images.empty())
    throw Error(ErrorClass::argument, fmt::format("filter {} is given no image", base::quoted(verb.name)), {},
                fmt::format("write tessera filter {} FILE -o FILE", verb.name));
  share_range(verb, info);
  verb.settings.check();
  const auto one = [&](const std::string& file, RunSettings settings) {
    return open(verb, info, file, std::move(settings), interrupt);
  };
  return run_batch({verb.name, verb.images, verb.settings, work_of(app) + "\n" + verb.name, one}, interrupt);
}

}  // namespace

Verb add_filter(CLI::App& root) {
  CLI::App* app = root.add_subcommand("filter", "run a standard filter on a file");
  auto verb = std::make_shared<FilterVerb>();
  app->add_option("name", verb->name, "gaussian, median, convolve, ...: --list says which there are")
      ->type_name("NAME");
  app->add_option("image", verb->images,
                  "the image or volume; of several, or of a folder, each by itself, -o 'out/{stem}.tif'")
      ->type_name("FILE...");
  app->add_flag("--list", verb->list, "describe every filter and its options, or the one that is named");
  verb->settings.declare(*app);
  verb->settings.declare_mpi(*app);
  verb->options.declare_later(*app);
  return {app, [verb, app] {
            return on_ranks(verb->settings, [&](const RunSettings& settings, const base::InterruptGuard& interrupt) {
              verb->settings = settings;
              return run(*verb, *app, interrupt);
            });
          }};
}

}  // namespace tessera::cli
