// See pass_record.hpp.
#include "pieces/pass_record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

constexpr std::string_view title = "tessera passes 1";

[[noreturn]] void fail(const std::string& path, int error_number) {
  throw Error(ErrorClass::io,
              fmt::format("{} cannot be written: {}", base::quoted(path, 1024), base::reason_of(error_number)));
}

std::string folder_of(const std::string& result) {
  return base::followed(result) + ".passes";
}

std::string start_of_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot.empty() ? "unknown" : boot;
}

std::string sum_of(const std::string& work, const std::string& text) {
  constexpr std::size_t digits = 16;
  return base::to_hex(base::Hasher().text(work).text(text).finish()).substr(0, digits);
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

std::string text_of(const std::vector<PassRecord::Image>& images) {
  std::string text = " ;";
  for (const PassRecord::Image& image : images)
    fmt::format_to(std::back_inserter(text), " {}:{}", image.name, image.bytes);
  return text;
}

// All that follow.
std::vector<PassRecord::Image> images_of(std::istringstream& words) {
  std::vector<PassRecord::Image> images;
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) continue;
    images.push_back({word.substr(0, colon), base::parse_integer(word.substr(colon + 1)).value_or(-1)});
  }
  return images;
}

// Without the checksum behind it; nothing where that is another one.
std::optional<std::string> checked(const std::string& work, const std::string& text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string::npos || sum_of(work, text.substr(0, space)) != text.substr(space + 1)) return {};
  return text.substr(0, space);
}

}  // namespace

PassRecord::PassRecord(const std::string& result) : result_(result), folder_(folder_of(result)) {}

void PassRecord::begin(const base::Digest& work, bool resume) {
  work_ = base::to_hex(work);
  const std::string path = folder_ + "/record";
  std::string text;
  if (resume && std::filesystem::exists(path)) text = base::read_text(path);
  std::istringstream head(text);
  std::string first, word, of, start;
  std::getline(head, first);
  head >> word >> of >> start;
  const bool is_record = first == title && word == "work" && !start.empty();
  // One of which nothing is done is of any work.
  const bool begun =
      is_record && (text.find("\npass ") != std::string::npos || std::filesystem::exists(folder_ + "/under_way"));
  if (begun && of != work_)
    throw Error(ErrorClass::argument,
                fmt::format("{} was begun by other work: the program, its options, an input, the extents or --memory "
                            "differ",
                            base::quoted(result_, 1024)),
                {}, "run without --resume to begin again");
  passes_.clear();
  if (begun && start == start_of_machine() && read(text)) {
    file_.fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (file_.fd < 0) fail(path, errno);
    return;
  }
  passes_.clear();
  remove();
  write_head();
}

void PassRecord::write_head() {
  if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) fail(folder_, errno);
  const std::string path = folder_ + "/record";
  file_.fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_.fd < 0 || !base::write_all(file_.fd, fmt::format("{}\nwork {} {}\n", title, work_, start_of_machine())))
    fail(path, errno);
}

std::string PassRecord::line_of(i64 pass, const std::vector<double>& numbers, const std::vector<Image>& images) const {
  std::string line = fmt::format("pass {}", pass);
  for (const double x : numbers) fmt::format_to(std::back_inserter(line), " {:016x}", std::bit_cast<std::uint64_t>(x));
  line += text_of(images);
  return line + " " + sum_of(work_, line);
}

// Up to a line that is cut short or damaged.
bool PassRecord::read(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  if (lines.eof()) return false;
  std::vector<Image> images;
  auto whole = static_cast<std::size_t>(lines.tellg());
  while (std::getline(lines, line) && !lines.eof()) {
    const auto known = checked(work_, line);
    if (!known) break;
    std::istringstream words(*known);
    std::string word;
    i64 pass = -1;
    words >> word >> pass;
    if (word != "pass" || pass != done()) break;
    std::vector<double> numbers;
    while (words >> word && word != ";")
      if (const auto x = number_of(word)) numbers.push_back(*x);
    images = images_of(words);
    passes_.push_back(std::move(numbers));
    whole = static_cast<std::size_t>(lines.tellg());
  }
  if (!has(images)) return false;
  const std::string path = folder_ + "/record";
  if (::truncate(path.c_str(), static_cast<off_t>(whole)) != 0) fail(path, errno);
  return true;
}

bool PassRecord::has(const std::vector<Image>& images) const {
  struct stat info{};
  for (const Image& image : images)
    if (::stat(path(image.name).c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != image.bytes)
      return false;
  return true;
}

PassRecord::UnderWay PassRecord::under_way(const std::string& pieces) const {
  const std::string path = folder_ + "/under_way";
  if (!std::filesystem::exists(path)) return {};
  const auto known = checked(work_, base::read_text(path));
  if (!known) return {};
  std::istringstream words(*known);
  std::string of;
  i64 pass = -1;
  UnderWay state;
  words >> pass >> of >> state.pieces;
  if (!words || pass != done() || of != pieces) return {};
  for (std::string total; words >> total && total != ";";)
    if (auto bytes = bytes_of(total)) state.totals.push_back(std::move(*bytes));
  state.images = images_of(words);
  return has(state.images) ? state : UnderWay();
}

void PassRecord::set_under_way(const std::string& pieces, const UnderWay& state) const {
  std::string text = fmt::format("{} {} {}", done(), pieces, state.pieces);
  for (const auto& total : state.totals) text += " " + hex_of(total);
  text += text_of(state.images);
  const std::string path = folder_ + "/under_way", another = path + ".new";
  const base::Descriptor file(::open(another.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.fd < 0 || !base::write_all(file.fd, text + " " + sum_of(work_, text)) ||
      std::rename(another.c_str(), path.c_str()) != 0)
    fail(path, errno);
}

void PassRecord::add(const std::vector<double>& numbers, const std::vector<Image>& images) {
  if (!base::write_all(file_.fd, line_of(done(), numbers, images) + "\n")) fail(folder_ + "/record", errno);
  passes_.push_back(numbers);
}

void PassRecord::remove(const std::string& result) {
  std::error_code ignored;  // what stays is in nobody's way
  const std::string folder = folder_of(result);
  if (std::filesystem::is_symlink(folder, ignored) || !std::filesystem::exists(folder + "/record", ignored)) return;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace tessera::pieces
