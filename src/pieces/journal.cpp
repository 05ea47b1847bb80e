// See journal.hpp.
#include "pieces/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "pieces/lines.hpp"
#include "tessera/error.hpp"

namespace tessera::pieces {
namespace {

constexpr std::string_view title = "tessera journal 1";
// A crash of the machine costs the pieces of this time at most; one of the process costs those under way.
constexpr std::chrono::seconds between_syncs{1};

}  // namespace

void cannot_be_written(const std::string& path, int error_number) {
  throw Error(ErrorClass::io,
              fmt::format("{} cannot be written: {}", base::quoted(path, 1024), base::reason_of(error_number)));
}

void begun_by_other_work(const std::string& path) {
  throw Error(ErrorClass::argument,
              fmt::format("{} was begun by other work: the program, its options, an input, the extents, --memory or "
                          "--threads differ",
                          base::quoted(path, 1024)),
              {}, "run without --resume to begin again");
}

Written::Written(std::function<void()> sync, std::function<void(const std::vector<i64>&)> name)
    : sync_(std::move(sync)), name_(std::move(name)), last_(std::chrono::steady_clock::now()) {}

void Written::add(i64 piece) {
  waiting_.push_back(piece);
  if (std::chrono::steady_clock::now() - last_ >= between_syncs) flush();
}

void Written::flush() {
  if (waiting_.empty()) return;
  sync_();
  name_(waiting_);
  waiting_.clear();
  last_ = std::chrono::steady_clock::now();
}

Journal::Journal(const std::string& path) : Journal(path, O_CREAT) {
  if (file_.fd < 0) cannot_be_written(path_, errno);
  if (!locked_)
    throw Error(ErrorClass::argument, fmt::format("{} is being written by another process", base::quoted(path, 1024)),
                {}, "wait for it, or write another file");
  if (!is_journal_)
    throw Error(ErrorClass::io,
                fmt::format("cannot write {}: {} stands where its journal goes, and is none", base::quoted(path, 1024),
                            base::quoted(path_, 1024)),
                {}, "take it away, or write another name");
}

Journal::Journal(const std::string& path, int creating) : path_(base::followed(path) + ".journal") {
  // The one before may take the file away that was opened, when it is done.
  struct stat opened{}, there{};
  do {
    if (file_.fd >= 0) ::close(file_.fd);
    file_.fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | creating, 0666);
    if (file_.fd < 0) return;
    locked_ = ::flock(file_.fd, LOCK_EX | LOCK_NB) == 0;
    if (!locked_) return;
  } while (::fstat(file_.fd, &opened) != 0 || ::lstat(path_.c_str(), &there) != 0 || opened.st_ino != there.st_ino);
  char start[title.size()] = {};
  const ssize_t n = ::pread(file_.fd, start, sizeof start, 0);
  is_journal_ =
      S_ISREG(opened.st_mode) && n >= 0 && title.starts_with(std::string_view(start, static_cast<std::size_t>(n)));
}

std::unique_ptr<Journal> Journal::left(const std::string& path) {
  std::unique_ptr<Journal> journal(new Journal(path, 0));
  return journal->is_journal_ ? std::move(journal) : nullptr;
}

void Journal::begin(const base::Digest& work, i64 pieces, bool resume) {
  work_ = base::to_hex(work);
  done_.assign(static_cast<std::size_t>(pieces), false);
  const std::string text = resume ? base::read_open_text(file_.fd, path_) : std::string();
  // One that names no piece is of any work.
  if (std::ranges::count(text, '\n') <= 2) {
    write_head();
  } else if (!read(text)) {
    begun_by_other_work(path_);
  }
}

void Journal::write_head() {
  if (::ftruncate(file_.fd, 0) != 0 || ::lseek(file_.fd, 0, SEEK_SET) < 0) cannot_be_written(path_, errno);
  if (!base::write_all(file_.fd, fmt::format("{}\nwork {}\n", title, work_)) || ::fsync(file_.fd) != 0)
    cannot_be_written(path_, errno);
  made_ = true;
}

std::string Journal::line_of(i64 piece) const {
  return fmt::format("piece {} {}", piece,
                     base::to_hex(base::Hasher().text(work_).number(piece).finish()).substr(0, digits_of_checksum));
}

// False where it is no journal of this work.
bool Journal::read(const std::string& text) {
  const std::string head = fmt::format("{}\nwork {}\n", title, work_);
  if (!text.starts_with(head)) return false;
  std::size_t whole = head.size();  // lines that are
  for (std::size_t at = whole;;) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const std::string line = text.substr(at, end - at);
    const auto number = base::parse_integer(
        line.substr(std::min<std::size_t>(6, line.size()), line.rfind(' ') - std::min<std::size_t>(6, line.size())));
    if (!number || *number < 0 || *number >= static_cast<i64>(done_.size()) || line != line_of(*number)) break;
    if (!done_[static_cast<std::size_t>(*number)]) ++count_;
    done_[static_cast<std::size_t>(*number)] = true;
    resumes_ = true;
    at = whole = end + 1;
  }
  // What is cut short or damaged counts as nothing, and so does what follows.
  if (::ftruncate(file_.fd, static_cast<off_t>(whole)) != 0 || ::lseek(file_.fd, 0, SEEK_END) < 0)
    cannot_be_written(path_, errno);
  return true;
}

i64 Journal::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void Journal::name(const std::vector<i64>& pieces) {
  if (pieces.empty()) return;
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const i64 piece : pieces) lines += line_of(piece) + "\n";
  if (!base::write_all(file_.fd, lines) || ::fdatasync(file_.fd) != 0) cannot_be_written(path_, errno);
  count_ += static_cast<i64>(pieces.size());
}

void Journal::remove() {
  ::unlink(path_.c_str());
}

void Journal::leave() {
  if (made_ || ::lseek(file_.fd, 0, SEEK_END) == 0) remove();
}

}  // namespace tessera::pieces
