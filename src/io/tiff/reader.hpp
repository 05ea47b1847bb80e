// A TIFF through libtiff, of a file or of memory: where its pages are, and errors as exceptions.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <exception>
#include <string>

#include "io/codec.hpp"

namespace tessera::io {

// What the library asks for its bytes.
struct TiffSession {
  const Source* source = nullptr;
  std::uint64_t position = 0;
  std::exception_ptr failure;  // of reading
  std::string message;         // the first error is the cause, later ones are consequences
};

// At one page after the other.
class TiffReader {
 public:
  // Where strips and tiles are is read with their directory, or as far as somebody asks.
  enum class Places { all, some };
  explicit TiffReader(const Source&, Places = Places::all);
  ~TiffReader();
  TiffReader(const TiffReader&) = delete;
  TiffReader& operator=(const TiffReader&) = delete;

  // To the next page; false after the last. The chain ends with a zero: where it breaks off, pages are missing.
  bool next();
  TIFF* get() const { return tiff_; }
  const Source& source() const { return *session_.source; }
  // Both throw Error(io): with what the library says, and without.
  [[noreturn]] void fail(const std::string& reason) const;
  [[noreturn]] void refuse(const std::string& reason) const { source().fail("TIFF", reason); }
  template <class T>
  T tag(std::uint32_t tag) const {
    T value{};
    TIFFGetFieldDefaulted(tiff_, tag, &value);
    return value;
  }
  // A short of the current directory that the library passes over.
  std::uint64_t hidden_tag(std::uint16_t wanted, std::uint64_t missing) const;

 private:
  bool is_big() const { return source().data()[2] == 43 || source().data()[3] == 43; }
  std::uint64_t number_at(std::uint64_t at, std::uint64_t bytes) const;
  bool is_whole(std::uint64_t at) const;

  TiffSession session_;
  TIFF* tiff_ = nullptr;
};

}  // namespace tessera::io
