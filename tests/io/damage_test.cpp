// Damaged files: every prefix and many flipped bits of small files of every format. The reader may refuse or (where a
// format has no checksum) deliver an image; it must not crash, hang, or say anything but an Error(io).
#include <algorithm>

#include "base/files/files.hpp"
#include "support.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using E = ElementType;

std::vector<std::pair<std::string, std::vector<std::byte>>> samples() {
  std::vector<std::pair<std::string, std::vector<std::byte>>> out;
  for (const auto& entry : fs::directory_iterator(std::string(TESSERA_TEST_DATA) + "/formats")) {
    if (!entry.is_regular_file() || entry.path().extension() == ".py") continue;
    const std::string path = entry.path().string();
    if (path.ends_with(".npy") && !fs::exists(path + ".npy")) continue;  // an expectation
    out.emplace_back(entry.path().filename().string(), base::read_bytes(path));
  }
  return out;
}

// Decodes; true when there was an image. Anything but Error(io) fails the test.
bool survives(std::span<const std::byte> bytes, const std::string& name, const std::string& where) {
  // The reader gets memory of exactly this size, so that a sanitizer sees a step outside.
  const std::vector<std::byte> exact(bytes.begin(), bytes.end());
  try {
    const Array image = decode_array(exact, name, {.max_bytes = i64{1} << 28});
    EXPECT_GE(image.count(), 0) << where;
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.error_class(), ErrorClass::io) << where << ": " << e.what();
    EXPECT_THAT(e.what(), HasSubstr("cannot read '" + name)) << where;
    return false;
  }
}

TEST(Damage, every_prefix_is_refused) {
  for (const auto& [name, bytes] : samples()) {
    const std::size_t step = std::max<std::size_t>(1, bytes.size() / 300);
    // Formats whose tail carries nothing needed: comments, directories before data, padding.
    const bool tail_matters =
        !name.ends_with(".gif") && !name.ends_with(".tif") && !name.ends_with(".tga") && !name.ends_with(".bmp");
    for (std::size_t size = 0; size < bytes.size(); size += step) {
      const bool image = survives(std::span(bytes).first(size), name, name + " cut to " + std::to_string(size));
      EXPECT_FALSE(image && (tail_matters || size < bytes.size() / 2)) << name << " cut to " << size;
    }
    EXPECT_TRUE(survives(bytes, name, name));
  }
}

TEST(Damage, flipped_bits_do_no_harm) {
  std::mt19937 random(5);
  for (const auto& [name, bytes] : samples()) {
    for (int i = 0; i < 400; ++i) {
      std::vector<std::byte> copy = bytes;
      const int flips = 1 + i % 4;
      for (int k = 0; k < flips; ++k) {
        // The first bytes are header: half of the blows go there.
        const std::size_t range = random() % 2 == 0 ? std::min<std::size_t>(copy.size(), 100) : copy.size();
        copy[random() % range] ^= std::byte{static_cast<unsigned char>(1u << (random() % 8))};
      }
      survives(copy, name, name);
    }
  }
}

TEST(Damage, a_corrupt_checksum_is_noticed) {
  const std::string name = "rgb.png";
  std::vector<std::byte> bytes = base::read_bytes(std::string(TESSERA_TEST_DATA) + "/formats/" + name);
  bytes[bytes.size() - 20] ^= std::byte{1};  // in the image data
  EXPECT_FALSE(survives(bytes, name, name));
}

std::vector<std::byte> raw(const std::string& text) {
  const auto* p = reinterpret_cast<const std::byte*>(text.data());
  return {p, p + text.size()};
}

std::string failure(const std::vector<std::byte>& bytes, const std::string& name) {
  return message_of([&] { decode_array(bytes, name, {}); });
}

std::uint32_t png_checksum(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= std::to_integer<std::uint32_t>(b);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// Tiny files that declare enormous images must be refused by arithmetic, not by the memory running out.
TEST(Damage, enormous_claims_are_refused) {
  std::vector<std::byte> png = base::read_bytes(std::string(TESSERA_TEST_DATA) + "/formats/grey.png");
  for (const std::uint32_t extent : {0x7fffffffu, 60000u}) {
    for (int i = 0; i < 4; ++i) png[16 + i] = png[20 + i] = static_cast<std::byte>(extent >> (24 - 8 * i));
    const std::uint32_t crc = png_checksum(std::span(png).subspan(12, 17));
    for (int i = 0; i < 4; ++i) png[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    EXPECT_THAT(failure(png, "x.png"),
                HasSubstr("it declares " + std::to_string(extent) + "x" + std::to_string(extent)));
  }
  EXPECT_THAT(failure(raw("P5\n1000000000 1000000000\n255\n"), "x"),
              HasSubstr("it declares 1000000000x1000000000 elements of uint8"));
  EXPECT_THAT(failure(raw("P5\n10000 10000\n255\nabc"), "x"), HasSubstr("more than a file of"));
  EXPECT_THAT(failure(raw("P4\n100000 100000\nabc"), "x"), HasSubstr("more than a file of"));
  EXPECT_THAT(failure(raw("PF\n10000 10000\n-1\nabc"), "x"), HasSubstr("more than a file of"));
  EXPECT_THAT(failure(raw("PF\n100000 100000\n-1\nabc"), "x"), HasSubstr("the memory that is left is"));

  std::vector<std::byte> bmp = base::read_bytes(std::string(TESSERA_TEST_DATA) + "/formats/rgb.bmp");
  bmp[20] = std::byte{0x10};  // a million columns
  EXPECT_THAT(failure(bmp, "x.bmp"), HasSubstr("more than a file of"));
  std::vector<std::byte> gif = base::read_bytes(std::string(TESSERA_TEST_DATA) + "/formats/frame.gif");
  for (int i = 6; i < 10; ++i) gif[i] = std::byte{0xff};
  EXPECT_THAT(failure(gif, "x.gif"), HasSubstr("it declares 65535x65535"));
}

}  // namespace
}  // namespace tessera::io
