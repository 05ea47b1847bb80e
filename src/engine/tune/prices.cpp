// See prices.hpp.
#include "engine/tune/prices.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "base/files/cache.hpp"
#include "base/files/files.hpp"
#include "base/process/fork.hpp"
#include "tessera/error.hpp"

namespace tessera::engine {

namespace {

constexpr std::int64_t most_bytes = 1 << 20;
constexpr std::size_t longest_name = 80;

std::optional<std::string> given_file() {
  const char* value = std::getenv("TESSERA_PRICES");
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// "AMD EPYC 9654" as amd-epyc-9654.
std::string file_name(const std::string& target, const std::string& device) {
  std::string name = "prices-" + target + "-";
  for (const char c : device.substr(0, longest_name)) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 && u < 128)
      name += static_cast<char>(std::tolower(u));
    else if (name.back() != '-')
      name += '-';
  }
  while (name.back() == '-') name.pop_back();
  return name + ".json";
}

std::string path_of(const std::string& target, const std::string& device) {
  const std::string folder = base::Cache(base::Cache::default_folder()).folder();
  return folder.empty() ? "" : folder + "/" + file_name(target, device);
}

PricesInUse read(const std::string& target, const std::string& device, const std::string& path, bool given) {
  PricesInUse found{{}, path, "", ""};
  std::error_code code;
  if (path.empty() || (!given && !std::filesystem::exists(path, code))) return found;
  std::string reason;
  try {
    const auto sheet = machine::price_sheet_of(base::read_text(path, most_bytes), reason);
    if (sheet && !given && (sheet->target != target || sheet->device != device)) {
      reason = fmt::format("it is of {} '{}'", sheet->target, sheet->device);
    } else if (sheet) {
      found.prices = sheet->prices;
      found.measured = sheet->measured.empty() ? "at an unknown time" : sheet->measured;
      return found;
    }
  } catch (const Error&) {
    reason = "it cannot be read";
  }
  found.note = fmt::format("the prices in {} are ignored: {}; `tessera tune` measures them again", path, reason);
  return found;
}

base::Mutex mutex;
std::map<std::string, PricesInUse> known;  // by target, device and path

std::string key_of(const std::string& target, const std::string& device, const std::string& path) {
  return target + '\n' + device + '\n' + path;
}

}  // namespace

PricesInUse prices_in_use(const std::string& target, const std::string& device) {
  const std::optional<std::string> given = given_file();
  const std::string path = given ? *given : path_of(target, device);
  const base::Lock lock(mutex, known);
  const auto [it, added] = known.try_emplace(key_of(target, device, path));
  if (added) it->second = read(target, device, path, given.has_value());
  return it->second;
}

std::string place_of_prices(const std::string& target, const std::string& device) {
  std::string path = path_of(target, device);
  if (path.empty())
    throw Error(ErrorClass::io, "there is no folder to store prices in", {},
                "let TESSERA_CACHE name a folder that is yours alone");
  try {
    base::AtomicFile(path).sync();  // begun and never put in place
  } catch (const Error& error) {
    throw Error(ErrorClass::io, error.message(), {}, "let TESSERA_CACHE name a folder that can be written");
  }
  return path;
}

std::string store_prices(const machine::PriceSheet& sheet) {
  const std::string path = place_of_prices(sheet.target, sheet.device);
  base::write_file(path, std::string_view(machine::to_json(sheet)));
  const base::Lock lock(mutex, known);
  PricesInUse& now = known[key_of(sheet.target, sheet.device, path)];
  now = read(sheet.target, sheet.device, path, false);
  return path;
}

bool forget_prices(const std::string& target, const std::string& device) {
  const std::string path = path_of(target, device);
  if (path.empty()) return false;
  std::error_code code;
  const bool removed = std::filesystem::remove(path, code);
  if (code) throw Error(ErrorClass::io, fmt::format("cannot remove {}: {}", path, base::reason_of(code.value())));
  const base::Lock lock(mutex, known);
  known[key_of(target, device, path)] = {{}, path, "", ""};
  return removed;
}

}  // namespace tessera::engine
