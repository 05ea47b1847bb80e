// Options of reading; see reading.hpp.
#include "cli/execute/reading.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "io/axes.hpp"
#include "io/formats/plain.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

[[noreturn]] void fail(std::string message, std::string help = "") {
  throw Error(ErrorClass::argument, std::move(message), {}, std::move(help));
}

// The first page and the last.
std::pair<int, int> parse_page(const std::string& text) {
  const std::size_t dash = text.find('-', 1);
  const auto number = [&](std::string_view part) {
    const auto value = base::parse_integer(base::trim(part));
    if (!value || *value < 0 || *value > 0x7fffffff)
      fail(fmt::format("--page {} cannot be used, expected a number from 0 on, or two: 4-7", base::quoted(text)));
    return static_cast<int>(*value);
  };
  const int first = number(std::string_view(text).substr(0, dash));
  const int last = dash == std::string::npos ? first : number(std::string_view(text).substr(dash + 1));
  if (last < first) fail(fmt::format("--page {} ends before it begins", base::quoted(text)));
  return {first, last};
}

}  // namespace

void ReadingOptions::declare(CLI::App& app, bool with_axes) {
  if (with_axes)
    app.add_option("--axes", axes, "what the dimensions of a file are: letters of t z y x, c for channels")
        ->allow_extra_args(false)
        ->type_name("[NAME=]AXES");
  app.add_option("--page", page, "read this page of a TIFF file, from 0, or those from one to another")
      ->type_name("N[-M]");
  app.add_option("--raw", raw, "a file without a header: its type, extents, bytes before them, big for their order")
      ->allow_extra_args(false)
      ->type_name("[NAME=]TYPE,EXTENTS");
  app.add_option("--level", level, "read this level of a pyramid, of OME-Zarr or TIFF, from 0, the finest (0)")
      ->type_name("N");
  app.add_flag("--pages", pages, "run on every page, slice or moment by itself; -o 'x_{page}.png' is a file for each");
}

void ReadingOptions::check() const {
  for (const std::string& text : axes) static_cast<void>(io::parse_axes(cut_name(text).second));
  for (const std::string& text : raw) static_cast<void>(io::parse_plain(cut_name(text).second));
  if (!page.empty()) static_cast<void>(parse_page(page));
  if (level < 0) fail(fmt::format("--level {} cannot be used, expected a number from 0 on, the finest", level));
}

void ReadingOptions::check_names(const std::vector<std::string>& inputs) const {
  const auto check = [&](std::string_view option, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::string name = cut_name(text).first;
      if (name.empty() || std::find(inputs.begin(), inputs.end(), name) != inputs.end()) continue;
      fail(fmt::format("{} {} names no input of the program, its inputs are: {}", option, base::quoted(text),
                       base::list_of(inputs, "and")),
           base::did_you_mean(name, inputs));
    }
  };
  check("--axes", axes);
  check("--raw", raw);
}

io::ReadOptions ReadingOptions::of(const std::string& input) const {
  io::ReadOptions options{.max_bytes = most_bytes, .level = level};
  const auto take = [&](const std::vector<std::string>& texts, std::string& value) {
    for (const std::string& text : texts) {
      const auto [name, own] = cut_name(text);
      if (name.empty() ? value.empty() : name == input) value = own;
    }
  };
  take(axes, options.axes);
  take(raw, options.raw);
  if (!page.empty()) std::tie(options.page, options.last_page) = parse_page(page);
  return options;
}

}  // namespace tessera::cli
