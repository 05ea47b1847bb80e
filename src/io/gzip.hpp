// gzip in memory, and zlib: unpacked piece by piece, so that what it unpacks to is never held whole beside its use, and
// packed on its way into a file.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tessera::base {
class AtomicFile;
}

namespace tessera::io {

// The most bytes that one byte of deflate can stand for: a match of 258 bytes takes two bits.
inline constexpr double gzip_ratio = 1040;

bool is_gzip(std::span<const std::byte>);

// Several packed pieces one after the other count as one. `packed`: the first bytes; `more` gives the next ones until
// there are none. They must stay until it is called again.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> packed, std::function<std::span<const std::byte>()> more = {});
  ~Unpacker();
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Fills `out`; fewer bytes at the end and where the stream is damaged.
  std::size_t read(std::span<std::byte> out);
  // To the checksum of a piece that ends here or within `most` bytes more, which are dropped.
  void check_end(std::size_t most);
  // Why no more came: "" at the end of a stream whose checksum is right.
  const std::string& failure() const { return failure_; }

 private:
  bool refill();
  std::size_t step(std::span<std::byte> out);
  void next_piece();
  struct State;
  std::unique_ptr<State> state_;
  std::span<const std::byte> rest_;
  std::function<std::span<const std::byte>()> more_;
  bool ended_ = false, between_ = false;  // all of it; a piece
  std::string failure_;
};

class Packer {
 public:
  enum class Frame { gzip, zlib };
  Packer(base::AtomicFile&, int level, Frame = Frame::gzip);  // 0 stored to 9 smallest
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void write(std::span<const std::byte>);
  void finish();

 private:
  void deflate_some(int flush);
  struct State;
  std::unique_ptr<State> state_;
  base::AtomicFile& file_;
};

}  // namespace tessera::io
