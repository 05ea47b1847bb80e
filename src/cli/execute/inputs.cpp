// Binding, reading, cutting, converting: in this order, each step a function.
#include "cli/execute/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "cli/execute/convert.hpp"
#include "cli/options/options.hpp"
#include "cli/tell.hpp"
#include "engine/filters/filters.hpp"
#include "io/image.hpp"
#include "io/metadata.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// "vector#2 float image[M x N]" in words.
std::string described(const Parameter& p) {
  return p.is_array ? fmt::format("input '{}', {} of rank {} [{}]", p.name, p.format.name(), p.rank, p.extents)
                    : fmt::format("input '{}', a {} number", p.name, p.format.name());
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& p : parameters) names.push_back(p.name);
  return names;
}

std::size_t index_of(const std::vector<Parameter>& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
  return static_cast<std::size_t>(found - parameters.begin());
}

// Which word stands for which input; files are not opened yet.
std::vector<OpenInput> assign(const std::vector<Parameter>& parameters, const std::vector<std::string>& words,
                              const std::map<std::string, double>& scalars) {
  std::vector<OpenInput> bound(parameters.size());
  const auto give = [&](std::size_t i, const std::string& value) {
    const Parameter& p = parameters[i];
    if (!bound[i].origin.empty())
      fail(fmt::format("input '{}' is given twice: {} and {}", p.name, base::quoted(bound[i].origin),
                       base::quoted(value)));
    if (value.empty()) fail(fmt::format("input '{}' is given an empty value", p.name));
    bound[i].origin = value;
    if (p.is_array) return;
    bound[i].number = base::parse_number(base::trim(value));
    if (!bound[i].number) fail(fmt::format("{} is not a value of {}", base::quoted(value), described(p)));
  };
  for (const auto& [name, value] : scalars)
    if (const std::size_t i = index_of(parameters, name); i < parameters.size()) give(i, fmt::format("{}", value));

  std::vector<std::string> by_position;
  for (const std::string& word : words) {
    const auto [name, value] = cut_name(word);
    std::error_code ec;
    if (const std::size_t i = index_of(parameters, name); !name.empty() && i < parameters.size()) {
      give(i, value);
    } else if (name.empty() || std::filesystem::exists(word, ec)) {
      by_position.push_back(word);
    } else {
      const auto names = names_of(parameters);
      fail(fmt::format("the program has no input {}, its inputs are: {}", base::quoted(name),
                       base::list_of(names, "and")),
           or_as_file(base::did_you_mean(name, names), word));
    }
  }
  std::size_t next = 0;
  for (const std::string& word : by_position) {
    while (next < bound.size() && !bound[next].origin.empty()) ++next;
    if (next == bound.size())
      fail(fmt::format("{} is one input too many, the program takes {}", base::quoted(word), parameters.size()));
    give(next, word);
  }
  for (std::size_t i = 0; i < bound.size(); ++i)
    if (bound[i].origin.empty())
      fail(fmt::format("nothing is given for {}", described(parameters[i])),
           parameters[i].is_array ? fmt::format("add {}=FILE", parameters[i].name)
                                  : fmt::format("add {}=NUMBER", parameters[i].name));
  return bound;
}

// Arrays of the first array's extents are cut; others (a kernel, a look-up table) are left whole.
std::optional<Region> cut(const std::vector<Parameter>& parameters, std::vector<OpenInput>& bound,
                          const std::string& text) {
  std::optional<Region> region;
  Shape whole;
  for (std::size_t i = 0; i < bound.size() && !text.empty(); ++i) {
    if (!parameters[i].is_array) continue;
    if (!region) {
      whole = bound[i].array.shape();
      region = parse_region(text, "--roi", whole);
    }
    if (bound[i].array.shape() != whole) continue;
    bound[i].array = bound[i].array.region(region->begin, region->end);
    bound[i].begin = region->begin;
    bound[i].header = io::header_of_region(bound[i].header, region->begin, region->end);
  }
  if (!text.empty() && !region) fail("--roi is given, but the program has no array input");
  return region;
}

// What is white: the file may say it.
double unit_of(ElementType type, const io::ImageHeader& header) {
  const bool natural = type == ElementType::u8 || type == ElementType::u16;
  if (natural && header.metadata && header.metadata->largest) return static_cast<double>(*header.metadata->largest);
  return largest_of(type);
}

template <class T>
void divide(const Array& array, T by) {
  T* values = array.as<T>();
  for (i64 i = 0, n = array.count(); i < n; ++i) values[i] /= by;
}

// One plane in another scalar type, every value kept: what does not fit is an error.
Array to_type(const Array& plane, ElementType type, bool unit, const Parameter& p, const OpenInput& binding) {
  const ElementType from = plane.format().scalar;
  const double by = unit && is_float(type) ? unit_of(from, binding.header) : 1;
  const ElementType step = by == 1 ? type : type == ElementType::f64 ? ElementType::f64 : ElementType::f32;
  i64 lost = 0;
  Array result = in_type(plane, step, lost);
  if (lost != 0 && !is_float(type))
    fail(fmt::format("{} of {} values of {} ({}) do not fit {}", lost, plane.count(), base::quoted(binding.origin),
                     name_of(from), described(p)),
         "declare the input with a wider type, or as float");
  if (by == 1) return result;
  if (step == ElementType::f64)
    divide<double>(result, by);
  else
    divide<float>(result, static_cast<float>(by));
  return step == type ? result : in_type(result, type, lost);
}

std::vector<std::string> channel_names(const Array& array) {
  std::vector<std::string> names;
  for (const Format::Field& f : array.format().fields) names.push_back(f.name);
  return names;
}

// The array of one input in one lane, converted to what the program declares.
Array convert(const Parameter& p, const OpenInput& b, const Array& array, const InputOptions& options) {
  if (!p.format.is_struct()) return to_type(array, p.format.scalar, options.unit, p, b);
  const auto planes = io::as_planes(array);
  Array result(p.format, array.shape());
  for (std::size_t c = 0; c < planes.size(); ++c)
    result.field(p.format.fields[c].name).copy_from(to_type(planes[c], p.format.fields[c].type, options.unit, p, b));
  return result;
}

// Without its slowest dimensions of extent 1, down to this rank.
Array without_ones(Array array, int rank) {
  while (array.rank() > rank && array.shape()[0] == 1) {
    array =
        Array::share(array.owner(), array.data(), array.format(), Shape(array.shape().begin() + 1, array.shape().end()),
                     std::vector<i64>(array.strides().begin() + 1, array.strides().end()));
  }
  return array;
}

// What to do about a file of another rank than the program's.
std::string rank_help(const Parameter& p, const OpenInput& b) {
  static constexpr std::string_view parts[] = {"row", "slice", "volume"};
  const int rank = b.array.rank();
  if (rank > p.rank && p.rank > 0)
    return fmt::format("write the program for vector#{}, or add --pages, which runs it on each {} by itself", rank,
                       parts[std::min(p.rank, 3) - 1]);
  const int channels = io::channels_of(b.array);
  if (channels > 1 && rank + 1 == p.rank && !p.format.is_struct())
    return fmt::format(
        "channels are no dimension: a program for vector#{} runs on each of these {}, with --gray on the intensity; "
        "a .npy file of rank {} may have them as its last dimension",
        rank, channels, p.rank);
  return "";
}

// Brings the rank and the channels of a file to what the program declares, as far as that is clear without lanes.
void fit_channels(const Parameter& p, OpenInput& b, const InputOptions& options) {
  const int channels = io::channels_of(b.array);
  const bool wants_scalars = !p.format.is_struct();
  const bool pages = options.reading.pages && b.array.rank() > p.rank && p.rank > 0;
  if (!pages) b.array = without_ones(b.array, p.rank);
  if (b.array.rank() != p.rank && !pages)
    fail(fmt::format("{} has rank {} ({}), which does not fit {}", base::quoted(b.origin), b.array.rank(),
                     to_string(b.array.shape()), described(p)),
         rank_help(p, b));
  if (wants_scalars) {
    b.grey = options.grey && channels > 1;
    return;
  }
  if (const int wanted = static_cast<int>(p.format.fields.size()); channels != wanted)
    fail(
        fmt::format("{} has {} channel{}, expected {} for {}", base::quoted(b.origin), channels,
                    channels == 1 ? "" : "s", wanted, described(p)),
        channels < wanted
            ? fmt::format("declare the input as numbers, vector#{} {}: such a program runs on grey images and on every "
                          "channel of others; or give an image of {} channels",
                          p.rank, name_of(p.format.fields[0].type), wanted)
            : fmt::format(
                  "declare a struct of {} fields, or the input as numbers: such a program runs on every channel",
                  channels));
}

// Files with pages have as many, in the same dimensions.
void note_pages(const Parameter& p, const OpenInput& b, Lanes& lanes) {
  const Shape& shape = b.array.shape();
  const Shape leading(shape.begin(), shape.end() - p.rank);
  if (leading.empty()) return;
  if (!lanes.leading.empty() && lanes.leading != leading)
    fail(fmt::format("{} has pages of {}, another input of {}, expected as many", base::quoted(b.origin),
                     to_string(leading), to_string(lanes.leading)));
  lanes.leading = leading;
}

// Has some channel an element of this value, as its type has it?
bool holds(const Array& array, double value) {
  for (const Array& plane : io::as_planes(array)) {
    const std::optional<double> own = value_in_type(value, plane.format().scalar);
    if (!own) continue;
    const i64 outer = plane.rank() == 0 ? 1 : plane.shape()[0];
    for (i64 k = 0; k < outer; ++k) {
      Array part = plane;
      if (plane.rank() > 0) {
        std::vector<i64> begin(plane.shape().size(), 0), end = plane.shape();
        begin[0] = k, end[0] = k + 1;
        part = plane.region(begin, end);
      }
      i64 lost = 0;
      const Array values = in_type(part, ElementType::f64, lost);
      if (std::find(values.as<double>(), values.as<double>() + values.count(), *own) !=
          values.as<double>() + values.count())
        return true;
    }
  }
  return false;
}

}  // namespace

io::ReadOptions InputOptions::reading_of(const std::string& input, const std::string& file) const {
  return plain.contains(file) ? io::ReadOptions{.max_bytes = reading.most_bytes} : reading.of(input);
}

Region parse_region(const std::string& text, const std::string& flag, const Shape& shape) {
  const auto values = parse_list(text, flag);
  const std::size_t rank = shape.size();
  if (values.size() != 2 * rank)
    fail(fmt::format("{} {} has {} numbers, expected {} for an array of rank {}", flag, base::quoted(text),
                     values.size(), 2 * rank, rank),
         "give the first index of every dimension, then the last: top,left,bottom,right");
  Region region;
  for (std::size_t d = 0; d < rank; ++d) {
    const i64 begin = values[d], last = values[rank + d];
    if (last < begin)
      fail(fmt::format("{} {} runs from {} to {} in dimension {}, which is backwards", flag, base::quoted(text), begin,
                       last, d),
           "give the first index of every dimension, then the last: top,left,bottom,right");
    if (begin < 0 || last >= shape[d])
      fail(fmt::format("{} {} runs from {} to {} in dimension {}, expected 0 to {}", flag, base::quoted(text), begin,
                       last, d, shape[d] - 1));
    region.begin.push_back(begin);
    region.end.push_back(last + 1);
  }
  return region;
}

Region OpenInput::in_array(const Region& region) const {
  return continued != nullptr && !number ? continued->input_reads(region, array.shape()) : region;
}

Shape OpenInput::taken_shape() const {
  if (number) return {};
  return continued != nullptr ? continued->input_shape(array.shape()) : array.shape();
}

bool holds_nodata(const OpenInput& input, const Array& part) {
  const std::optional<double>& nodata = input.header.nodata;
  return nodata && !std::isnan(*nodata) && holds(part, *nodata);
}

void tell_of_nodata(const OpenInput& input) {
  tell("note: the program takes points of {}, the value for no data of {}, for numbers\n",
       input.header.nodata.value_or(0), base::quoted(input.origin));
}

namespace {

// Of an open file: its format and extents, and no memory.
Array repeated_point(const io::RegionLayout& layout) {
  const Array one(layout.element, {1});
  return Array::share(one.owner(), one.data(), layout.element, layout.shape, std::vector<i64>(layout.shape.size(), 0));
}

void open_file(const Parameter& p, OpenInput& input, const InputOptions& options) {
  if (const auto known = options.read.find(input.origin); known != options.read.end()) {
    input.array = known->second.array;
    input.header = known->second.header;
    return;
  }
  const auto open = options.open.find(input.origin);
  if (open != options.open.end()) {
    input.reader = open->second;
  } else {
    input.reader = io::open_parts(input.origin, options.reading_of(p.name, input.origin));
  }
  if (input.reader != nullptr) {
    input.array = repeated_point(input.reader->layout());
    input.header = input.reader->layout().header;
  } else {
    io::Image image = io::read_image(input.origin, options.reading_of(p.name, input.origin));
    input.array = std::move(image.array);
    input.header = std::move(image.header);
  }
  if (options.plain.contains(input.origin)) input.header = {};
}

// How many channels an input has for the program.
std::size_t channels_of(const OpenInput& input) {
  return input.grey ? 1 : static_cast<std::size_t>(io::channels_of(input.array));
}

// Colours of several files are as many.
void count_lanes(const std::vector<Parameter>& parameters, const std::vector<OpenInput>& inputs, Lanes& lanes) {
  std::string first_colour;  // the file that decides
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!parameters[i].is_array || parameters[i].format.is_struct() || channels_of(inputs[i]) <= 1) continue;
    const std::vector<std::string> names = channel_names(inputs[i].array);
    if (!first_colour.empty() && names.size() != lanes.channels.size())
      fail(fmt::format("{} has {} channels and {} has {}, expected equal counts", base::quoted(first_colour),
                       lanes.channels.size(), base::quoted(inputs[i].origin), names.size()),
           "--gray runs on intensity");
    if (!first_colour.empty()) continue;
    first_colour = inputs[i].origin;
    lanes.channels = names;
  }
}

}  // namespace

OpenInputs open_inputs(const Program& program, const std::vector<std::string>& words,
                       const std::map<std::string, double>& scalars, const InputOptions& options) {
  const std::vector<Parameter>& parameters = program.inputs();
  OpenInputs all{assign(parameters, words, scalars), {}};
  auto& [bound, lanes] = all;
  options.reading.check_names(names_of(parameters));
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (!parameters[i].is_array) continue;
    open_file(parameters[i], bound[i], options);
    bound[i].begin.assign(bound[i].array.shape().size(), 0);
    const Format& format = bound[i].array.format();
    const ElementType type = format.is_struct() ? format.fields[0].type : format.scalar;
    if (!lanes.stored) lanes.stored = type;
    lanes.integers = lanes.integers && !is_float(type) && type != ElementType::boolean;
  }
  lanes.region = cut(parameters, bound, options.region);
  for (const OpenInput& b : bound)
    if (!b.header.empty()) lanes.headers.push_back(b.header);
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (parameters[i].is_array) {
      fit_channels(parameters[i], bound[i], options);
      note_pages(parameters[i], bound[i], lanes);
    }
    lanes.paged.push_back(parameters[i].is_array && bound[i].array.rank() > parameters[i].rank);
  }
  count_lanes(parameters, bound, lanes);
  lanes.inputs.resize(std::max<std::size_t>(1, lanes.channels.size()));
  return all;
}

Array read_part(const OpenInput& input, const Region& part,
                const std::function<Array(const Format&, const Shape&)>& memory) {
  if (input.reader == nullptr) return input.array.region(part.begin, part.end);
  // Dimensions of extent 1 before those that the program sees.
  const std::size_t ones = input.begin.size() - part.begin.size();
  Region in_file{input.begin, input.begin};
  Shape shape;
  for (std::size_t d = 0; d < ones; ++d) ++in_file.end[d];
  for (std::size_t d = 0; d < part.begin.size(); ++d) {
    in_file.begin[ones + d] += part.begin[d];
    in_file.end[ones + d] += part.end[d];
    shape.push_back(part.end[d] - part.begin[d]);
  }
  const Array read = memory(input.array.format(), shape);
  Shape with_ones(ones, 1);
  with_ones.insert(with_ones.end(), shape.begin(), shape.end());
  input.reader->read(in_file, Array::share(read.owner(), read.data(), read.format(), std::move(with_ones)));
  return read;
}

std::vector<Array> in_lanes(const Parameter& p, const OpenInput& input, const Array& part, std::size_t lanes,
                            const InputOptions& options) {
  if (!p.is_array) return std::vector<Array>(lanes, scalar(*input.number, p.format.scalar));
  const Array array = input.grey ? io::to_grey(part) : part;
  if (p.format.is_struct() || io::channels_of(array) == 1)
    return std::vector<Array>(lanes, convert(p, input, array, options));
  std::vector<Array> planes = io::as_planes(array);
  for (Array& plane : planes) plane = convert(p, input, plane, options);
  return planes;
}

namespace {

// All of what --roi left of a file that was open.
void read_whole(const Parameter& p, OpenInput& input, const InputOptions& options) {
  if (input.reader == nullptr) return;
  const Array file = io::read_image(input.origin, options.reading_of(p.name, input.origin)).array;
  const Shape& shape = input.array.shape();
  std::vector<i64> end = input.begin;
  const std::size_t ones = end.size() - shape.size();
  for (std::size_t d = 0; d < end.size(); ++d) end[d] += d < ones ? 1 : shape[d - ones];
  input.array = without_ones(file.region(input.begin, end), static_cast<int>(shape.size()));
  input.reader = nullptr;
}

}  // namespace

Lanes bind_inputs(const Program& program, OpenInputs open, const InputOptions& options) {
  auto& [bound, lanes] = open;
  const std::vector<Parameter>& parameters = program.inputs();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (parameters[i].is_array) {
      read_whole(parameters[i], bound[i], options);
      if (options.note_nodata && holds_nodata(bound[i], bound[i].array)) tell_of_nodata(bound[i]);
    }
    const std::vector<Array> of_input = in_lanes(parameters[i], bound[i], bound[i].array, lanes.inputs.size(), options);
    for (std::size_t c = 0; c < of_input.size(); ++c) lanes.inputs[c].push_back(of_input[c]);
  }
  return std::move(lanes);
}

}  // namespace tessera::cli
