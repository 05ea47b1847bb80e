// The library on its way out: what it writes goes to a sink, its errors become exceptions.
#pragma once

#include <tiffio.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace tessera::io {

class TiffSink {
 public:
  virtual ~TiffSink() = default;
  virtual std::size_t read_at(std::int64_t offset, std::span<std::byte> to) = 0;  // fewer at the end
  virtual void write_at(std::int64_t offset, std::span<const std::byte> from) = 0;
};

class TiffMemory : public TiffSink {
 public:
  std::size_t read_at(std::int64_t offset, std::span<std::byte> to) override;
  void write_at(std::int64_t offset, std::span<const std::byte> from) override;
  std::vector<std::byte> bytes;
};

class TiffWriter {
 public:
  // `mode`: of the library, "wl", "wl8".
  TiffWriter(TiffSink&, const char* mode);
  ~TiffWriter();  // drops what the library still holds
  TiffWriter(const TiffWriter&) = delete;
  TiffWriter& operator=(const TiffWriter&) = delete;

  TIFF* get() const { return tiff_; }  // null where it could not begin
  // The library writes what it still holds. Throws what the sink threw, Error(io) where it failed itself or not `good`.
  void finish(bool good, const std::string& path);
  // Nothing more is written: throws where it failed.
  void check(bool good, const std::string& path) const;

  struct Session {
    TiffSink* sink = nullptr;
    std::int64_t position = 0, size = 0;
    std::string message;
    std::exception_ptr failure;  // C++ exceptions must not cross the library
  };

 private:
  Session session_;
  TIFF* tiff_ = nullptr;
};

}  // namespace tessera::io
