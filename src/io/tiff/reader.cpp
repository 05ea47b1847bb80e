// The library's view of a file, and the chain of its directories; see reader.hpp.
#include "io/tiff/reader.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <span>
#include <string_view>

namespace tessera::io {
namespace {

tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
  auto* session = static_cast<TiffSession*>(handle);
  const auto wanted = static_cast<std::size_t>(std::max<tmsize_t>(count, 0));
  try {  // no exception passes the library
    const std::size_t n = session->source->read_at(session->position, std::span(static_cast<std::byte*>(to), wanted));
    session->position += n;
    return static_cast<tmsize_t>(n);
  } catch (...) {
    session->failure = std::current_exception();
    return 0;
  }
}

tmsize_t on_write(thandle_t, void*, tmsize_t) {
  return -1;
}

toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  auto* session = static_cast<TiffSession*>(handle);
  if (whence == SEEK_SET) session->position = offset;
  if (whence == SEEK_CUR) session->position += offset;
  if (whence == SEEK_END) session->position = static_cast<toff_t>(session->source->total()) + offset;
  return session->position;
}

int on_close(thandle_t) {
  return 0;
}

toff_t on_size(thandle_t handle) {
  return static_cast<toff_t>(static_cast<TiffSession*>(handle)->source->total());
}

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* session = static_cast<TiffSession*>(user);
  if (!session->message.empty()) return 1;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  const std::string_view all = text;
  session->message = all.substr(std::min(all.find_first_not_of(": "), all.size()));  // some name no file
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

}  // namespace

TiffReader::TiffReader(const Source& source, Places places) {
  session_.source = &source;
  // What the library may take at once: no more than the file can stand for.
  const auto largest = static_cast<std::int64_t>(std::min(0x1p17 * source.total() + 0x1p20, 0x1p40));
  const std::int64_t largest_block = std::min(largest, std::max<std::int64_t>(source.most_bytes(), 1 << 20));
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &session_);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, largest_block);
  tiff_ = TIFFClientOpenExt("", places == Places::all ? "rm" : "rmO", &session_, on_read, on_write, on_seek, on_close,
                            on_size, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  // Its first page is read with it; of other starts the library says that they are no TIFF.
  if (tiff_ == nullptr)
    fail(session_.message.find("Not a TIFF") != std::string::npos ? "it does not start as a TIFF"
                                                                  : "its header or first directory is damaged");
}

TiffReader::~TiffReader() {
  if (tiff_ != nullptr) TIFFClose(tiff_);
}

bool TiffReader::next() {
  session_.message.clear();
  const std::uint64_t at = TIFFCurrentDirOffset(tiff_);
  if (TIFFReadDirectory(tiff_) == 1) return true;
  if (!session_.message.empty() || !is_whole(at)) fail("the directory of a page is damaged");
  return false;
}

void TiffReader::fail(const std::string& reason) const {
  if (session_.failure) std::rethrow_exception(session_.failure);
  source().fail("TIFF", session_.message.empty() ? reason : reason + " (" + session_.message + ")");
}

std::uint64_t TiffReader::hidden_tag(std::uint16_t wanted, std::uint64_t missing) const {
  const std::uint64_t at = TIFFCurrentDirOffset(tiff_);
  const std::uint64_t count_bytes = is_big() ? 8 : 2, entry_bytes = is_big() ? 20 : 12, value_at = is_big() ? 12 : 8;
  if (!is_whole(at)) return missing;
  const std::uint64_t count = number_at(at, count_bytes);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t entry = at + count_bytes + k * entry_bytes;
    if (number_at(entry, 2) == wanted && number_at(entry + 2, 2) == TIFF_SHORT) return number_at(entry + value_at, 2);
  }
  return missing;
}

std::uint64_t TiffReader::number_at(std::uint64_t at, std::uint64_t bytes) const {
  const bool swapped = source().data()[0] == 'M';
  std::array<std::byte, 8> raw{};
  source().read_at(at, std::span(raw).first(bytes));
  std::uint64_t value = 0;
  for (std::uint64_t i = 0; i < bytes; ++i)
    value |= std::to_integer<std::uint64_t>(raw[i]) << 8 * (swapped ? bytes - 1 - i : i);
  return value;
}

// The library takes a directory whose end is cut off as the last one. `at`: where it begins.
bool TiffReader::is_whole(std::uint64_t at) const {
  const auto size = static_cast<std::uint64_t>(source().total());
  const std::uint64_t count_bytes = is_big() ? 8 : 2, entry_bytes = is_big() ? 20 : 12, link_bytes = is_big() ? 8 : 4;
  if (at > size || size - at < count_bytes) return false;
  const std::uint64_t count = number_at(at, count_bytes), room = size - at - count_bytes;
  return count <= room / entry_bytes && room - count * entry_bytes >= link_bytes;
}

}  // namespace tessera::io
