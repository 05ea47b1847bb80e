// The list of filters, read off their declarations: a standard filter whose file has a stencil or vector function of
// its own name for one image of type `real` or `element`. Functions NAME1d, NAME, NAME3d and NAME4d are for ranks 1 to
// 4; parameters with a comment are options; one with variants _t, _z, _y, _x may differ between axes. One with a file
// masked_NAME takes masks, one with a file footprint_NAME a footprint in place of its box.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/process/fork.hpp"
#include "base/text.hpp"
#include "engine/filters/filters.hpp"
#include "engine/filters/names.hpp"
#include "lang/compile.hpp"
#include "lang/standard_filters.hpp"

namespace tessera {
namespace {

// Derivatives and measures are no grey values.
const std::set<std::string> of_other_values = {"sobel",
                                               "laplacian",
                                               "canny",
                                               "harris",
                                               "highpass",
                                               "bandpass",
                                               "deviation",
                                               "difference_of_gaussians",
                                               "gaussian_derivative",
                                               "laplacian_of_gaussian",
                                               "local_contrast",
                                               "structure_tensor"};
// Differences of values of the image have its type, and so have black and white.
const std::set<std::string> of_its_type = {"tophat", "blackhat", "morphological_gradient", "local_threshold",
                                           "sauvola"};

// Has the filter a parameter of that name, its own or one of what it imports?
bool declares(const FilterInfo& info, const std::string& parameter) {
  lang::CompileInput input;
  input.text = fmt::format("import \"{}.forma\";", info.name);
  return std::ranges::any_of(lang::describe(input).parameters, [&](const auto& p) { return p.name == parameter; });
}

constexpr std::string_view footprint_prefix = "footprint_";

std::optional<FilterInfo> read_filter(const lang::StandardFilter& filter) {
  FilterInfo info;
  info.name = filter.file.substr(0, filter.file.find('.'));
  if (info.name.ends_with("d") && info.name.size() > 2 &&
      std::isdigit(static_cast<unsigned char>(*(info.name.end() - 2))))
    return std::nullopt;  // of one rank: made to be imported
  if (info.name.starts_with(footprint_prefix)) return std::nullopt;
  lang::CompileInput input;
  input.text = filter.text;
  input.file_name = filter.file;
  const lang::ProgramText text = lang::describe(input);
  static constexpr std::array<const char*, 4> suffixes = {"1d", "", "3d", "4d"};
  for (int rank = 1; rank <= 4; ++rank) {
    const std::string wanted = info.name + suffixes[static_cast<std::size_t>(rank - 1)];
    for (const lang::FunctionText& f : text.functions)
      if (f.name == wanted && f.arguments.size() == 1 && f.arguments[0].second == rank &&
          (f.arguments[0].first == "real" || f.arguments[0].first == "element"))
        info.ranks.push_back(rank);
  }
  if (info.ranks.empty()) return std::nullopt;
  info.takes_mask = lang::find_standard_filter("masked_" + info.name + ".forma") != nullptr;
  info.summary = text.description;
  info.keeps_type = !of_other_values.contains(info.name);
  for (const lang::DeclarationText& p : text.parameters) {
    if (p.description.empty()) continue;
    const bool per_axis = p.type == "border" || std::any_of(text.parameters.begin(), text.parameters.end(),
                                                            [&](const auto& o) { return o.name == p.name + "_x"; });
    info.options.push_back({p.name, p.type == "double" ? "float" : p.type, p.value, p.description, per_axis});
  }
  if (lang::find_standard_filter(std::string(footprint_prefix) + info.name + ".forma") != nullptr)
    info.options.push_back({"footprint", "table", "box",
                            "which elements count in place of a box, those that are not 0: a .npy or image file of the "
                            "rank of the image, the middle (n/2) on the point",
                            false});
  return info;
}

}  // namespace

const std::vector<FilterInfo>& filters() {
  static constinit base::Once<std::vector<FilterInfo>> all;
  return all.get([] {
    std::vector<FilterInfo> found;
    for (const lang::StandardFilter& f : lang::standard_filters())
      if (auto info = read_filter(f)) found.push_back(std::move(*info));
    return found;
  });
}

bool engine::is_measure(const FilterInfo& info) {
  return !info.keeps_type || of_its_type.contains(info.name) || counts_values(info);
}

bool engine::counts_values(const FilterInfo& info) {
  return declares(info, "levels");
}

bool engine::chooses(const FilterInfo& info) {
  return !declares(info, "real");
}

const FilterInfo& engine::filter_info(const std::string& name) {
  std::vector<std::string> names;
  for (const FilterInfo& f : filters()) {
    if (f.name == name) return f;
    names.push_back(f.name);
  }
  const std::string meant = meant_by(name, names);
  throw Error(
      ErrorClass::argument,
      fmt::format("there is no filter {}, the filters are: {}", base::quoted(name), base::list_of(names, "and")), {},
      meant.empty() ? base::did_you_mean(name, names) : meant);
}

}  // namespace tessera
