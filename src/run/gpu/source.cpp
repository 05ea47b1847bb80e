// Keys, logs of compilers and saved texts; see source.hpp.
#include "run/gpu/source.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <vector>

#include "base/files/cache.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::run::gpu {
namespace {

constexpr std::size_t max_notes = 12;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// "kernel.cu(12)" gives 12; "kernel.cl:12:5" gives 12; anything else nothing.
std::optional<int> line_of(std::string_view place) {
  place = base::trim(place);
  while (!place.empty() && (place.back() == ':' || place.back() == ')')) place.remove_suffix(1);
  std::vector<std::string_view> numbers;  // from the back
  while (!place.empty() && digit(place.back())) {
    std::size_t begin = place.size();
    while (begin > 0 && digit(place[begin - 1])) --begin;
    if (begin == 0 || (place[begin - 1] != ':' && place[begin - 1] != '(')) break;
    numbers.push_back(place.substr(begin));
    place.remove_suffix(place.size() - begin + 1);
  }
  if (numbers.empty()) return std::nullopt;
  const auto value = base::parse_integer(numbers.size() > 1 ? numbers[1] : numbers[0]);
  return value && *value > 0 && *value < 100'000'000 ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

// Where the word "error" stands as the kind of a message: after a place or at the start, before ':' or a code.
std::size_t find_error(std::string_view line) {
  for (std::size_t at = line.find("error"); at != std::string_view::npos; at = line.find("error", at + 1)) {
    const std::string_view after = line.substr(at + 5);
    const bool kind = after.starts_with(":") || after.starts_with(" #") || after.starts_with(" C");
    if (kind && (at == 0 || line[at - 1] == ' ')) return at;
  }
  return std::string_view::npos;
}

}  // namespace

base::Digest source_key(std::string_view kind, const std::string& source, std::span<const std::string> options,
                        std::initializer_list<std::string_view> identity) {
  base::Hasher hash;
  hash.text("tessera device module 1").text(kind).number(static_cast<std::int64_t>(options.size()));
  for (const std::string& option : options) hash.text(option);
  for (std::string_view part : identity) hash.text(part);
  return hash.text(source).finish();
}

CompilerError first_error(std::string_view log) {
  for (std::string_view line : base::split(log, '\n')) {
    const std::size_t at = find_error(line);
    if (at == std::string_view::npos) continue;
    CompilerError found;
    std::string_view place = base::trim(line.substr(0, at));
    for (std::string_view word : {"fatal", "catastrophic"})
      if (place.ends_with(word)) place.remove_suffix(word.size());
    found.line = line_of(place).value_or(0);
    const std::size_t colon = line.find(':', at);
    found.text = base::trim(colon == std::string_view::npos ? line.substr(at) : line.substr(colon + 1));
    return found;
  }
  return {};
}

std::string save_source(const std::string& source, std::string_view extension, const base::Digest& key) {
  return base::Cache::user().save_text("kernel-" + base::to_hex(key).substr(0, 12), "." + std::string(extension),
                                       source);
}

void throw_not_compiled(const FailedCompilation& failed) {
  const CompilerError error = first_error(failed.log);
  std::vector<std::string> notes;
  const auto lines = base::split(failed.source, '\n');
  if (error.line > 0 && static_cast<std::size_t>(error.line) <= lines.size())
    notes.push_back(fmt::format("line {} is {}", error.line, base::quoted(lines[error.line - 1], 300)));
  for (std::string_view line : base::split(failed.log, '\n')) {
    if (base::trim(line).empty()) continue;
    if (notes.size() == max_notes) {
      notes.push_back("more messages were left out");
      break;
    }
    notes.push_back(base::quoted(line, 300));
  }
  const std::string path = save_source(failed.source, failed.extension, failed.key);
  notes.push_back(path.empty() ? "the text could not be saved" : "the text is in " + base::quoted(path, 400));
  const std::string place = error.line > 0 ? fmt::format("line {}: ", error.line) : "";
  throw Error(ErrorClass::device,
              fmt::format("{} does not compile the emitted text: {}{}", failed.compiler, place,
                          error.text.empty() ? "it gives no reason" : base::quoted(error.text, 300)),
              std::move(notes));
}

}  // namespace tessera::run::gpu
