// The library's view of a sink; see writer.hpp.
#include "io/tiff/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "base/text.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

template <class F>
tmsize_t guarded(TiffWriter::Session& session, F&& body) {
  try {
    return body();
  } catch (...) {
    if (!session.failure) session.failure = std::current_exception();
    return -1;
  }
}

tmsize_t on_read(thandle_t handle, void* to, tmsize_t count) {
  auto& session = *static_cast<TiffWriter::Session*>(handle);
  return guarded(session, [&] {
    const std::size_t n = session.sink->read_at(
        session.position, std::span(static_cast<std::byte*>(to), static_cast<std::size_t>(count)));
    session.position += static_cast<std::int64_t>(n);
    return static_cast<tmsize_t>(n);
  });
}

tmsize_t on_write(thandle_t handle, void* from, tmsize_t count) {
  auto& session = *static_cast<TiffWriter::Session*>(handle);
  return guarded(session, [&] {
    session.sink->write_at(session.position,
                           std::span(static_cast<const std::byte*>(from), static_cast<std::size_t>(count)));
    session.position += count;
    session.size = std::max(session.size, session.position);
    return count;
  });
}

toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  auto& session = *static_cast<TiffWriter::Session*>(handle);
  const auto delta = static_cast<std::int64_t>(offset);
  session.position = whence == SEEK_SET ? delta : whence == SEEK_CUR ? session.position + delta : session.size + delta;
  return static_cast<toff_t>(session.position);
}

int on_close(thandle_t) {
  return 0;
}

toff_t on_size(thandle_t handle) {
  return static_cast<toff_t>(static_cast<TiffWriter::Session*>(handle)->size);
}

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto* session = static_cast<TiffWriter::Session*>(user);
  if (!session->message.empty()) return 1;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  session->message = text;
  return 1;
}

int on_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

}  // namespace

std::size_t TiffMemory::read_at(std::int64_t offset, std::span<std::byte> to) {
  const auto begin = std::min(static_cast<std::size_t>(offset), bytes.size());
  const std::size_t n = std::min(to.size(), bytes.size() - begin);
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), n, to.begin());
  return n;
}

void TiffMemory::write_at(std::int64_t offset, std::span<const std::byte> from) {
  const auto begin = static_cast<std::size_t>(offset);
  bytes.resize(std::max(bytes.size(), begin + from.size()));
  std::copy(from.begin(), from.end(), bytes.begin() + static_cast<std::ptrdiff_t>(begin));
}

TiffWriter::TiffWriter(TiffSink& sink, const char* mode) {
  session_.sink = &sink;
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &session_);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  tiff_ =
      TIFFClientOpenExt("", mode, &session_, on_read, on_write, on_seek, on_close, on_size, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
}

TiffWriter::~TiffWriter() {
  if (tiff_ != nullptr) TIFFCleanup(tiff_);
}

void TiffWriter::finish(bool good, const std::string& path) {
  if (tiff_ != nullptr) TIFFClose(tiff_);
  tiff_ = nullptr;
  check(good, path);
}

void TiffWriter::check(bool good, const std::string& path) const {
  if (session_.failure) std::rethrow_exception(session_.failure);
  if (good) return;
  throw Error(ErrorClass::io, fmt::format("cannot write {}: {}", base::quoted(path, 1024),
                                          session_.message.empty() ? "the TIFF library failed" : session_.message));
}

}  // namespace tessera::io
