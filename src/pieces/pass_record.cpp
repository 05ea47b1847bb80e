// See pass_record.hpp.
#include "pieces/pass_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files/files.hpp"
#include "base/process/system.hpp"
#include "base/text.hpp"
#include "pieces/lines.hpp"
#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

constexpr std::string_view title = "tessera passes 1";

std::string folder_of(const std::string& result) {
  return base::followed(result) + ".passes";
}

std::string sum_of(const std::string& work, const std::string& text) {
  return base::to_hex(base::Hasher().text(work).text(text).finish()).substr(0, digits_of_checksum);
}

std::string hex_of(const std::vector<std::byte>& bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(b));
  return text;
}

std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return {};
}

std::optional<std::vector<std::byte>> bytes_of(const std::string& hex) {
  if (hex.size() % 2 != 0) return {};
  std::vector<std::byte> bytes;
  for (std::size_t k = 0; k < hex.size(); k += 2) {
    const auto high = digit_of(hex[k]), low = digit_of(hex[k + 1]);
    if (!high || !low) return {};
    bytes.push_back(static_cast<std::byte>(*high * 16 + *low));
  }
  return bytes;
}

std::optional<double> number_of(const std::string& hex) {
  const auto bytes = bytes_of(hex);
  if (!bytes || bytes->size() != sizeof(double)) return {};
  std::uint64_t bits = 0;
  for (const std::byte b : *bytes) bits = bits << 8 | std::to_integer<std::uint64_t>(b);
  return std::bit_cast<double>(bits);
}

// What the system says of a file: "4096.17.99", bytes, its number, when it was changed; "" where there is none.
std::string facts_of(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return fmt::format("{}.{}.{}{:09}", info.st_size, info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// The same of one that is still written: without the time.
std::string lasting(const std::string& facts) {
  return facts.substr(0, facts.rfind('.'));
}

std::string text_of(const std::map<std::string, std::string>& images) {
  std::string text = " ;";
  for (const auto& [name, facts] : images) fmt::format_to(std::back_inserter(text), " {}:{}", name, facts);
  return text;
}

// All that follow.
std::map<std::string, std::string> images_of(std::istringstream& words) {
  std::map<std::string, std::string> images;
  for (std::string word; words >> word;)
    if (const std::size_t colon = word.find(':'); colon != std::string::npos)
      images.emplace(word.substr(0, colon), word.substr(colon + 1));
  return images;
}

// Without the checksum behind it; nothing where that is another one.
std::optional<std::string> checked(const std::string& work, const std::string& text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string::npos || sum_of(work, text.substr(0, space)) != text.substr(space + 1)) return {};
  return text.substr(0, space);
}

// The text of a file of ours; nothing where there is none, or something else.
std::optional<std::string> text_at(const std::string& path) {
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return base::read_open_text(file.fd, path);
}

bool is_image(const std::string& name) {
  static const std::string end = ".partial";
  const std::size_t dash = name.find('-');
  const auto digits = [&](std::size_t from, std::size_t to) {
    return from < to &&
           std::all_of(
               name.begin() + static_cast<std::ptrdiff_t>(from), name.begin() + static_cast<std::ptrdiff_t>(to),
               [](char c) { return c >= '0' && c <= '9'; });
  };
  return name.ends_with(end) && dash != std::string::npos && digits(0, dash) &&
         digits(dash + 1, name.size() - end.size());
}

enum class Stands { nothing, record, other };
// A record has its title, or is a folder with nothing in it.
Stands stands_at(const std::string& folder) {
  struct stat info{};
  if (::lstat(folder.c_str(), &info) != 0) return Stands::nothing;
  if (!S_ISDIR(info.st_mode)) return Stands::other;
  const auto text = text_at(folder + "/record");
  std::error_code unreadable;
  if (text && (text->empty() || text->starts_with(title))) return Stands::record;
  return std::filesystem::is_empty(folder, unreadable) && !unreadable ? Stands::record : Stands::other;
}

}  // namespace

PassRecord::PassRecord(const std::string& result) : result_(result), folder_(folder_of(result)) {
  if (stands_at(folder_) == Stands::other)
    throw Error(ErrorClass::io,
                fmt::format("cannot write {}: {} stands where the record of its passes goes, and is none",
                            base::quoted(result_, 1024), base::quoted(folder_, 1024)),
                {}, "take it away, or write another name");
}

void PassRecord::begin(const base::Digest& work, bool resume) {
  work_ = base::to_hex(work);
  const std::string text = resume ? text_at(path("record")).value_or("") : "";
  std::istringstream head(text);
  std::string first, word, of, start;
  std::getline(head, first);
  head >> word >> of >> start;
  const bool is_record = first == title && word == "work" && !start.empty();
  // One of which nothing is done is of any work.
  const bool begun = is_record && (text.find("\npass ") != std::string::npos || text_at(path("under_way")));
  if (begun && of != work_) begun_by_other_work(result_);
  if (!begun || start != base::start_of_system() || !read(text)) return begin_again();
  file_.fd = ::open(path("record").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file_.fd < 0) cannot_be_written(path("record"), errno);
}

void PassRecord::begin_again() {
  if (file_.fd >= 0) ::close(std::exchange(file_.fd, -1));
  passes_.clear();
  remove();
  if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) cannot_be_written(folder_, errno);
  file_.fd = ::open(path("record").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_.fd < 0 ||
      !base::write_all(file_.fd, fmt::format("{}\nwork {} {}\n", title, work_, base::start_of_system())))
    cannot_be_written(path("record"), errno);
}

std::string PassRecord::line_of(i64 pass, const Done& of) const {
  std::string line = fmt::format("pass {}", pass);
  for (const double x : of.numbers)
    fmt::format_to(std::back_inserter(line), " {:016x}", std::bit_cast<std::uint64_t>(x));
  line += text_of(of.images);
  return line + " " + sum_of(work_, line);
}

// False where a line is cut short or damaged: a later pass may have written where one before has.
bool PassRecord::read(const std::string& text) {
  if (!text.ends_with('\n')) return false;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const auto known = checked(work_, line);
    if (!known) return false;
    std::istringstream words(*known);
    std::string word;
    i64 pass = -1;
    words >> word >> pass;
    if (word != "pass" || pass != done()) return false;
    Done one;
    while (words >> word && word != ";")
      if (const auto x = number_of(word)) one.numbers.push_back(*x);
    one.images = images_of(words);
    passes_.push_back(std::move(one));
  }
  return true;
}

bool PassRecord::holds(const std::string& image, i64 pass) const {
  if (pass < 0 || pass >= done()) return false;
  const auto& images = passes_[static_cast<std::size_t>(pass)].images;
  const auto known = images.find(image);
  return known != images.end() && known->second == facts_of(path(image));
}

PassRecord::UnderWay PassRecord::under_way(const std::string& pieces) const {
  const auto text = text_at(path("under_way"));
  const auto known = text ? checked(work_, *text) : std::nullopt;
  if (!known) return {};
  std::istringstream words(*known);
  std::string of;
  i64 pass = -1;
  UnderWay state;
  words >> pass >> of >> state.pieces;
  if (!words || pass != done() || of != pieces) return {};
  for (std::string total; words >> total && total != ";";)
    if (auto bytes = bytes_of(total)) state.totals.push_back(std::move(*bytes));
  for (const auto& [name, facts] : images_of(words)) {
    if (lasting(facts_of(path(name))) != facts) return {};
    state.images.push_back(name);
  }
  return state;
}

void PassRecord::set_under_way(const std::string& pieces, const UnderWay& state) const {
  std::string text = fmt::format("{} {} {}", done(), pieces, state.pieces);
  for (const auto& total : state.totals) text += " " + hex_of(total);
  std::map<std::string, std::string> images;
  for (const std::string& name : state.images) images.emplace(name, lasting(facts_of(path(name))));
  text += text_of(images);
  text += " " + sum_of(work_, text);
  const std::string to = path("under_way"), another = to + ".new";
  const base::Descriptor file(::open(another.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.fd < 0 || !base::write_all(file.fd, text) || std::rename(another.c_str(), to.c_str()) != 0)
    cannot_be_written(to, errno);
}

void PassRecord::add(const std::vector<double>& numbers, const std::vector<std::string>& images) {
  Done one{numbers, {}};
  for (const std::string& name : images) one.images.emplace(name, facts_of(path(name)));
  if (!base::write_all(file_.fd, line_of(done(), one) + "\n")) cannot_be_written(path("record"), errno);
  passes_.push_back(std::move(one));
}

void PassRecord::remove(const std::string& result) {
  const std::string folder = folder_of(result);
  if (stands_at(folder) != Stands::record) return;
  std::error_code ignored;  // what stays is in nobody's way
  std::vector<std::filesystem::path> own;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == "record" || name == "under_way" || name == "under_way.new" || is_image(name))
      own.push_back(entry.path());
  }
  for (const std::filesystem::path& path : own) std::filesystem::remove(path, ignored);
  ::rmdir(folder.c_str());
}

}  // namespace tessera::pieces
