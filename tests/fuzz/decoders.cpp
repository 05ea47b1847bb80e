// Fuzz target: any bytes into the decoders of every format. The law: an array or an Error(io), nothing else, within
// bounds of time and memory that the size of the input sets. An image that was read is looked at to the last element,
// so that a sanitizer sees what was never written or does not exist.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "io/image.hpp"
#include "tessera/error.hpp"

namespace {

[[noreturn]] void die(const char* reason) {
  std::fprintf(stderr, "decoders: %s\n", reason);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::io::ReadOptions options;
  options.max_bytes =
      tessera::i64{1} << 28;  // of which large arrays are a part: they lie in huge pages, and are counted in 64 bits
  try {
    // The name lets TGA, which has no signature, take what no other format knows.
    const tessera::Array image = tessera::io::decode_array(std::as_bytes(std::span(data, size)), "fuzz.tga", options);
    const tessera::i64 bytes = image.count() * static_cast<tessera::i64>(image.format().size());
    if (bytes > options.max_bytes) die("an array beyond the limit");
    if (!image.contiguous()) die("an array with gaps");
    unsigned sum = 0;
    for (tessera::i64 i = 0; i < bytes; ++i) sum += image.as<std::uint8_t>()[i];
    if (sum == 0xffffffffu) die("the sum of fewer bytes");
  } catch (const tessera::Error& e) {
    if (e.error_class() != tessera::ErrorClass::io) die(e.what());
  }
  return 0;
}
