// See journal.hpp.
#include "cli/batch/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/files/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "io/regions/partial_file.hpp"
#include "tessera/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error_number) {
  throw Error(ErrorClass::io,
              fmt::format("{} cannot be written: {}", base::quoted(path, 1024), base::reason_of(error_number)));
}

}  // namespace

std::string work_of(const CLI::App& verb) {
  constexpr std::array<std::string_view, 6> aside = {"output", "resume", "quiet", "threads", "memory", "help"};
  std::string work = verb.get_name();
  for (const CLI::Option* option : verb.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (option->get_positional() || option->empty()) continue;
    if (!names.empty() && std::ranges::find(aside, names.front()) != aside.end()) continue;
    work += "\n" + option->get_name();
    for (const std::string& value : option->results()) {
      work += "\n " + value;
      const std::string file = cut_name(value).second;
      std::error_code ec;
      if (fs::is_regular_file(file, ec)) work += ", " + io::file_identity(file);
    }
  }
  return work;
}

BatchJournal::BatchJournal(const std::string& folder, const std::string& work)
    : work_(base::to_hex(base::Hasher().text(work).finish())),
      path_(fmt::format("{}/tessera-{}.journal", folder, work_.substr(0, 16))),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (file_.fd < 0) fail(path_, errno);
  if (::flock(file_.fd, LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorClass::argument,
                fmt::format("the same work is done by another process, which has {}", base::quoted(path_, 1024)), {},
                "wait for it");
  const std::string text = base::read_open_text(file_.fd, path_);
  for (const std::string_view line : base::split(text, '\n')) lines_.emplace(line);
}

bool BatchJournal::is_done(const std::string& file, const std::vector<std::string>& results) const {
  std::error_code ec;
  const auto there = [&](const std::string& result) { return fs::exists(result, ec); };
  return there(file) && std::ranges::all_of(results, there) && lines_.contains(line_of(file, results));
}

void BatchJournal::add(const std::string& file, const std::vector<std::string>& results) {
  write(line_of(file, results));
}

i64 BatchJournal::pages_of(const std::string& file) const {
  std::error_code ec;
  if (!fs::exists(file, ec)) return 0;
  const std::string before = pages_of_line(file);
  const auto found = lines_.lower_bound(before);
  if (found == lines_.end() || !found->starts_with(before)) return 0;
  return base::parse_integer(std::string_view(*found).substr(before.size())).value_or(0);
}

void BatchJournal::add_pages(const std::string& file, i64 pages) {
  write(pages_of_line(file) + std::to_string(pages));
}

void BatchJournal::write(const std::string& line) {
  // A line that an end of the process cut short begins none.
  if (!base::write_all(file_.fd, "\n" + line + "\n")) fail(path_, errno);
}

std::string BatchJournal::pages_of_line(const std::string& file) const {
  return line_of(file, {}) + " has pages: ";
}

void BatchJournal::remove() {
  ::unlink(path_.c_str());
}

std::string BatchJournal::line_of(const std::string& file, const std::vector<std::string>& results) const {
  base::Hasher hasher;
  std::error_code ec;
  const auto take = [&](const std::string& path) {
    hasher.text(fs::weakly_canonical(fs::absolute(path, ec), ec).string()).text(io::file_identity(path));
  };
  hasher.text(work_);
  take(file);
  for (const std::string& result : results) take(result);
  return base::to_hex(hasher.finish());
}

}  // namespace tessera::cli
