// gzip through zlib; see gzip.hpp.
#include "io/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "base/files/files.hpp"

namespace tessera::io {
namespace {

// zlib counts in 32 bits.
constexpr std::size_t largest_piece = std::size_t{1} << 30;
constexpr int zlib_window = 15, gzip_window = zlib_window + 16, either_window = zlib_window + 32;

Bytef* bytes_of(const std::byte* p) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(p));
}

}  // namespace

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

struct Unpacker::State {
  z_stream stream{};
};

Unpacker::Unpacker(std::span<const std::byte> packed, std::function<std::span<const std::byte>()> more)
    : state_(std::make_unique<State>()), rest_(packed), more_(std::move(more)) {
  if (inflateInit2(&state_->stream, either_window) != Z_OK) throw std::bad_alloc();
}

Unpacker::~Unpacker() {
  inflateEnd(&state_->stream);
}

// More input; false when there is none.
bool Unpacker::refill() {
  z_stream& stream = state_->stream;
  if (stream.avail_in > 0) return true;
  if (rest_.empty() && more_) rest_ = more_();
  const std::size_t n = std::min(rest_.size(), largest_piece);
  stream.next_in = bytes_of(rest_.data());
  stream.avail_in = static_cast<uInt>(n);
  rest_ = rest_.subspan(n);
  return n > 0;
}

// What one call of zlib gives.
std::size_t Unpacker::step(std::span<std::byte> out) {
  z_stream& stream = state_->stream;
  if (!refill()) {
    ended_ = true;
    failure_ = "it is cut short";
    return 0;
  }
  const std::size_t room = std::min(out.size(), largest_piece);
  stream.next_out = bytes_of(out.data());
  stream.avail_out = static_cast<uInt>(room);
  const int status = inflate(&stream, Z_NO_FLUSH);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_STREAM_END) {
    between_ = true;  // more is not waited for before it is wanted
  } else if (status != Z_OK && status != Z_BUF_ERROR) {
    ended_ = true;
    failure_ = stream.msg != nullptr ? std::string("it is damaged (") + stream.msg + ")" : "it is damaged";
  }
  return room - stream.avail_out;
}

// What follows is another piece, or padding of a tape or a block device, which gzip ignores too. Of the two bytes that
// tell only the first may be there yet.
void Unpacker::next_piece() {
  z_stream& stream = state_->stream;
  between_ = false;
  const bool more = refill() && stream.next_in[0] == 0x1f && (stream.avail_in == 1 || stream.next_in[1] == 0x8b);
  if (!more || inflateReset(&stream) != Z_OK) ended_ = true;
}

std::size_t Unpacker::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size() && !ended_) {
    if (between_)
      next_piece();
    else
      done += step(out.subspan(done));
  }
  return done;
}

void Unpacker::check_end(std::size_t most) {
  std::vector<std::byte> scratch(std::size_t{1} << 16);
  for (std::size_t dropped = 0; !ended_ && !between_ && dropped < most;) dropped += step(scratch);
}

struct Packer::State {
  z_stream stream{};
  std::vector<std::byte> buffer = std::vector<std::byte>(std::size_t{1} << 18);
};

Packer::Packer(base::AtomicFile& file, int level, Frame frame) : state_(std::make_unique<State>()), file_(file) {
  if (deflateInit2(&state_->stream, level, Z_DEFLATED, frame == Frame::gzip ? gzip_window : zlib_window, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

Packer::~Packer() {
  deflateEnd(&state_->stream);
}

// Until the input is used up, or with Z_FINISH until the end is written.
void Packer::deflate_some(int flush) {
  z_stream& stream = state_->stream;
  int status = Z_OK;
  do {
    stream.next_out = bytes_of(state_->buffer.data());
    stream.avail_out = static_cast<uInt>(state_->buffer.size());
    status = deflate(&stream, flush);
    file_.write(std::span(state_->buffer).first(state_->buffer.size() - stream.avail_out));
  } while (stream.avail_out == 0 || (flush == Z_FINISH && status == Z_OK));
}

void Packer::write(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += largest_piece) {
    const auto piece = bytes.subspan(at, std::min(bytes.size() - at, largest_piece));
    state_->stream.next_in = bytes_of(piece.data());
    state_->stream.avail_in = static_cast<uInt>(piece.size());
    deflate_some(Z_NO_FLUSH);
  }
}

void Packer::finish() {
  deflate_some(Z_FINISH);
}

}  // namespace tessera::io
