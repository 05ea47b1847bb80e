// The whole interface between Tessera and its built-in compiler, a program of its own: messages over a socket.
//
// libclang-cpp and libLLVM are 180 MB of shared objects, which take some 20 ms to load and, fed the wrong text, all
// memory, all time or a segmentation fault. So they stand behind a program that is started when a text has to be
// compiled, stays for the next one, and may die: to its caller that is an error of one compilation.
//
// The server greets with its version; then, for each request, it answers once. Numbers are of this machine, since both
// ends run on it.
//
//   greeting  u32 protocol, text version
//   request   text source, text file name, u32 count, that many texts: options of cc1
//   answer    u32 done (0 or 1), text object, text messages
//   text      u64 length, its bytes
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::run::cpu {

// Grows with every change of the messages, and of the code that the compiler makes.
inline constexpr std::uint32_t clang_protocol = 3;
// No text is longer: what says so is no message of ours.
inline constexpr std::uint64_t longest_message_text = std::uint64_t{1} << 31;

class Message {
 public:
  Message& number(std::uint32_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Message& text(std::string_view value) {
    const std::uint64_t size = value.size();
    bytes_.append(reinterpret_cast<const char*>(&size), sizeof size).append(value);
    return *this;
  }
  // False when nobody reads any more.
  bool send(int socket) const {
    for (std::string_view rest = bytes_; !rest.empty();) {
      const ssize_t n = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  std::string bytes_;
};

// Reads a message part by part; false from the first part on that did not come. `Wait` is asked before every read
// whether to go on: it may wait for bytes, and give up.
template <class Wait>
class MessageReader {
 public:
  MessageReader(int socket, Wait wait) : socket_(socket), wait_(wait) {}

  bool number(std::uint32_t& value) { return read(reinterpret_cast<char*>(&value), sizeof value); }
  bool text(std::string& value) {
    std::uint64_t size = 0;
    if (!read(reinterpret_cast<char*>(&size), sizeof size) || size > longest_message_text) return false;
    value.resize(static_cast<std::size_t>(size));
    return read(value.data(), value.size());
  }

 private:
  bool read(char* to, std::size_t size) {
    while (size > 0) {
      if (!wait_()) return false;
      const ssize_t n = ::read(socket_, to, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to += n;
      size -= static_cast<std::size_t>(n);
    }
    return true;
  }

  int socket_;
  Wait wait_;
};

}  // namespace tessera::run::cpu
