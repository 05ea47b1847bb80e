// Fuzz target: any bytes as a NIfTI file, plain and packed by gzip, and as the description of a TIFF.
//
// Beyond the law of the decoders: the packed file says the same as the plain one; the header that was read prints, and
// what was printed reads back as the same header; no description makes a distance that is none.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "io/formats/nifti.hpp"
#include "io/gzip.hpp"
#include "io/image.hpp"
#include "io/tiff/text.hpp"
#include "tessera/error.hpp"

namespace {

using namespace tessera;

[[noreturn]] void die(const char* reason) {
  std::fprintf(stderr, "volumes: %s\n", reason);
  std::abort();
}

std::optional<io::Image> decode(std::span<const std::byte> bytes) {
  try {
    io::Image image = io::decode_image(bytes, "fuzz.nii.gz", {.max_bytes = i64{1} << 25});
    unsigned sum = 0;
    const i64 size = image.array.count() * static_cast<i64>(image.array.format().size());
    for (i64 i = 0; i < size; ++i) sum += image.array.as<std::uint8_t>()[i];
    if (sum == 0xffffffffu) die("the sum of fewer bytes");
    return image;
  } catch (const Error& e) {
    if (e.error_class() != ErrorClass::io) die(e.what());
    return std::nullopt;
  }
}

// Stored without compression: 65535 bytes a block.
std::vector<std::byte> packed(std::span<const std::byte> bytes) {
  std::vector<std::uint8_t> out = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += 65535) {
    const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(bytes.size() - at, 65535));
    const bool last = at + n == bytes.size();
    for (const std::uint32_t v : {std::uint32_t{last}, n & 255, n >> 8, ~n & 255, ~n >> 8 & 255})
      out.push_back(static_cast<std::uint8_t>(v));
    for (const std::byte b : bytes.subspan(at, n)) out.push_back(std::to_integer<std::uint8_t>(b));
  }
  for (const std::uint32_t v : {~crc, static_cast<std::uint32_t>(bytes.size())})
    for (int k = 0; k < 4; ++k) out.push_back(static_cast<std::uint8_t>(v >> (8 * k)));
  const auto view = std::as_bytes(std::span(out));
  return {view.begin(), view.end()};
}

void check_steps(const std::vector<io::Step>& steps, int rank) {
  if (!steps.empty() && static_cast<int>(steps.size()) != rank) die("steps of another rank");
  for (const io::Step& step : steps)
    if (!std::isfinite(step.size) || step.size < 0) die("a distance that is none");
}

void check_header(const io::Image& image) {
  check_steps(image.header.steps, image.array.rank());
  if (!image.header.nifti) return;
  io::NiftiHeader first = *image.header.nifti;
  first.dim = {1, 1, 1, 1, 1, 1, 1, 1};  // set anew by whoever writes
  const std::vector<std::byte> text = io::print_nifti(first);
  io::NiftiHeader second;
  if (!io::parse_nifti(std::span(text).first(io::nifti1_size), second).empty()) die("a header does not read back");
  second.extensions = first.extensions;
  if (io::print_nifti(second) != text) die("printing is no fixed point");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const io::TiffText said = io::parse_tiff_text(text, {72, 72, 2});
  std::vector<io::Step> steps;
  for (const auto& [letter, step] : said.steps) steps.push_back(step);
  check_steps(steps, static_cast<int>(steps.size()));
  if (said.pages < 1) die("no pages");

  const std::optional<io::Image> plain = decode(bytes);
  if (!plain) return 0;
  check_header(*plain);
  if (!plain->header.nifti || io::is_gzip(bytes)) return 0;
  const std::optional<io::Image> unpacked = decode(packed(bytes));
  if (!unpacked || unpacked->array.shape() != plain->array.shape()) die("packed it is another file");
  const auto length = static_cast<std::size_t>(plain->array.count()) * plain->array.format().size();
  if (length > 0 && std::memcmp(unpacked->array.data(), plain->array.data(), length) != 0)
    die("packed it is other voxels");
  return 0;
}
