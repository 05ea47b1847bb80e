// The fields of both versions in the order of the file, each listed once: the same list reads and prints. What a
// version stores narrower than NiftiHeader does, and what does not fit there, becomes 0, which means "unknown" in every
// such field.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "io/formats/nifti.hpp"
#include "io/load.hpp"

namespace tessera::io {
namespace {

static_assert(std::endian::native == std::endian::little);

class FieldReader {
 public:
  FieldReader(const std::byte* p, bool swapped) : p_(p), swapped_(swapped) {}
  template <class Stored, class T>
  void number(T& value) {
    value = static_cast<T>(load<Stored>(p_, swapped_));
    p_ += sizeof(Stored);
  }
  template <std::size_t N>
  void text(std::array<char, N>& value) {
    std::memcpy(value.data(), p_, N);
    p_ += N;
  }
  void constant(std::string_view expected) { p_ += expected.size(); }

 private:
  const std::byte* p_;
  bool swapped_;
};

class FieldWriter {
 public:
  explicit FieldWriter(std::byte* p) : p_(p) {}
  template <class Stored, class T>
  void number(T& value) {
    Stored stored{};
    if constexpr (std::is_integral_v<Stored> && std::is_integral_v<T>) {
      stored = std::in_range<Stored>(value) ? static_cast<Stored>(value) : Stored{0};
    } else {
      stored = static_cast<Stored>(value);
    }
    std::memcpy(p_, &stored, sizeof stored);
    p_ += sizeof stored;
  }
  template <std::size_t N>
  void text(std::array<char, N>& value) {
    std::memcpy(p_, value.data(), N);
    p_ += N;
  }
  void constant(std::string_view value) {
    std::memcpy(p_, value.data(), value.size());
    p_ += value.size();
  }

 private:
  std::byte* p_;
};

using namespace std::string_view_literals;

template <class Stored, class Cursor, class T>
void numbers(Cursor& c, T& values) {
  for (auto& value : values) c.template number<Stored>(value);
}

template <class Cursor>
void fields_of_1(Cursor& c, NiftiHeader& h) {
  c.constant("\x5c\x01\0\0"sv);  // 348
  c.text(h.data_type);
  c.text(h.db_name);
  c.constant("\0\0\0\0\0\0r"sv);  // extents, session_error, regular: of Analyze 7.5, not used
  c.template number<std::uint8_t>(h.dim_info);
  numbers<std::int16_t>(c, h.dim);
  c.template number<float>(h.intent_p1);
  c.template number<float>(h.intent_p2);
  c.template number<float>(h.intent_p3);
  c.template number<std::int16_t>(h.intent_code);
  c.template number<std::int16_t>(h.datatype);
  c.template number<std::int16_t>(h.bitpix);
  c.template number<std::int16_t>(h.slice_start);
  numbers<float>(c, h.pixdim);
  c.template number<float>(h.vox_offset);
  c.template number<float>(h.scl_slope);
  c.template number<float>(h.scl_inter);
  c.template number<std::int16_t>(h.slice_end);
  c.template number<std::uint8_t>(h.slice_code);
  c.template number<std::uint8_t>(h.xyzt_units);
  c.template number<float>(h.cal_max);
  c.template number<float>(h.cal_min);
  c.template number<float>(h.slice_duration);
  c.template number<float>(h.toffset);
  c.constant("\0\0\0\0\0\0\0\0"sv);  // glmax, glmin: not used
  c.text(h.descrip);
  c.text(h.aux_file);
  c.template number<std::int16_t>(h.qform_code);
  c.template number<std::int16_t>(h.sform_code);
  c.template number<float>(h.quatern_b);
  c.template number<float>(h.quatern_c);
  c.template number<float>(h.quatern_d);
  numbers<float>(c, h.qoffset);
  numbers<float>(c, h.srow);
  c.text(h.intent_name);
  c.constant("n+1\0"sv);
}

template <class Cursor>
void fields_of_2(Cursor& c, NiftiHeader& h) {
  c.constant("\x1c\x02\0\0"sv);  // 540
  c.constant("n+2\0\r\n\x1a\n"sv);
  c.template number<std::int16_t>(h.datatype);
  c.template number<std::int16_t>(h.bitpix);
  numbers<std::int64_t>(c, h.dim);
  c.template number<double>(h.intent_p1);
  c.template number<double>(h.intent_p2);
  c.template number<double>(h.intent_p3);
  numbers<double>(c, h.pixdim);
  c.template number<std::int64_t>(h.vox_offset);
  c.template number<double>(h.scl_slope);
  c.template number<double>(h.scl_inter);
  c.template number<double>(h.cal_max);
  c.template number<double>(h.cal_min);
  c.template number<double>(h.slice_duration);
  c.template number<double>(h.toffset);
  c.template number<std::int64_t>(h.slice_start);
  c.template number<std::int64_t>(h.slice_end);
  c.text(h.descrip);
  c.text(h.aux_file);
  c.template number<std::int32_t>(h.qform_code);
  c.template number<std::int32_t>(h.sform_code);
  c.template number<double>(h.quatern_b);
  c.template number<double>(h.quatern_c);
  c.template number<double>(h.quatern_d);
  numbers<double>(c, h.qoffset);
  numbers<double>(c, h.srow);
  c.template number<std::int32_t>(h.slice_code);
  c.template number<std::int32_t>(h.xyzt_units);
  c.template number<std::int32_t>(h.intent_code);
  c.text(h.intent_name);
  c.template number<std::uint8_t>(h.dim_info);
}

bool stands_at(std::span<const std::byte> bytes, std::size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

bool has_size(std::span<const std::byte> start, std::size_t size) {
  if (start.size() < 4) return false;
  return std::cmp_equal(load<std::int32_t>(start.data(), false), size) ||
         std::cmp_equal(load<std::int32_t>(start.data(), true), size);
}

// A magnitude that a distance can have; files of Analyze's time mark a flip with the sign.
double distance(double value) {
  return std::isfinite(value) ? std::abs(value) : 0;
}

}  // namespace

int nifti_version(std::span<const std::byte> start) {
  if (stands_at(start, 4, "n+2\0\r\n\x1a\n"sv) || stands_at(start, 4, "ni2\0\r\n\x1a\n"sv)) return 2;
  if (start.size() >= nifti1_size) return stands_at(start, 344, "n+1\0"sv) || stands_at(start, 344, "ni1\0"sv) ? 1 : 0;
  if (start.size() < 12 && has_size(start, nifti2_size)) return 2;
  return has_size(start, nifti1_size) ? 1 : 0;
}

std::string parse_nifti(std::span<const std::byte> fixed, NiftiHeader& h) {
  h.version = nifti_version(fixed);
  const std::size_t size = h.version == 1 ? nifti1_size : nifti2_size;
  const auto declared = load<std::int32_t>(fixed.data(), false);
  h.swapped = !std::cmp_equal(declared, size);
  if (h.swapped && !std::cmp_equal(load<std::int32_t>(fixed.data(), true), size)) {
    return fmt::format("its header says that it has {} bytes, expected {}", declared, size);
  }
  h.paired = fixed[h.version == 1 ? 345 : 5] == std::byte{'i'};
  FieldReader reader(fixed.data(), h.swapped);
  if (h.version == 1) {
    fields_of_1(reader, h);
  } else {
    fields_of_2(reader, h);
  }
  if (h.dim[0] < 1 || h.dim[0] > 7) return fmt::format("it has {} dimensions, expected 1 to 7", h.dim[0]);
  for (std::size_t d = 1; d <= static_cast<std::size_t>(h.dim[0]); ++d) {
    if (h.dim[d] < 1) return fmt::format("its extent in dimension {} of {} is {}", d, h.dim[0], h.dim[d]);
    if (d > 5 && h.dim[d] > 1) {
      return fmt::format("its extent in dimension {} is {}, but only the first 5 are read: x, y, z, time and channels",
                         d, h.dim[d]);
    }
  }
  const double first = h.paired ? 0 : static_cast<double>(size + nifti_flag_size);
  if (h.vox_offset == 0) h.vox_offset = first;  // as some programs leave it
  if (!(h.vox_offset >= first) || h.vox_offset > 0x1p62 || h.vox_offset != std::floor(h.vox_offset)) {
    return fmt::format("its voxels begin at byte {}, expected a whole number from {} on", h.vox_offset, first);
  }
  return {};
}

std::vector<std::byte> print_nifti(NiftiHeader& h) {
  std::size_t total = nifti1_size + nifti_flag_size;
  const auto padded = [](const NiftiHeader::Extension& e) { return (8 + e.content.size() + 15) / 16 * 16; };
  for (const auto& extension : h.extensions) total += padded(extension);
  h.vox_offset = static_cast<double>(total);
  std::vector<std::byte> out(total);
  FieldWriter fixed(out.data());
  fields_of_1(fixed, h);
  out[nifti1_size] = std::byte{static_cast<unsigned char>(h.extensions.empty() ? 0 : 1)};
  std::byte* at = out.data() + nifti1_size + nifti_flag_size;
  for (const auto& extension : h.extensions) {
    FieldWriter head(at);
    const std::size_t size = padded(extension);
    head.number<std::int32_t>(size);
    head.number<std::int32_t>(extension.code);
    std::copy(extension.content.begin(), extension.content.end(), at + 8);
    at += size;
  }
  return out;
}

std::vector<Step> nifti_steps(const NiftiHeader& h, int rank) {
  // nifti1.h: NIFTI_UNITS_METER, _MM and _MICRON in the lower 3 bits, _SEC, _MSEC and _USEC in the next 3.
  constexpr double lengths[8] = {0, 1000, 1, 0.001, 0, 0, 0, 0};
  constexpr double times[8] = {0, 1, 1e-3, 1e-6, 0, 0, 0, 0};
  std::vector<Step> steps;
  for (int d = rank; d >= 1; --d) {
    const double pixdim = h.pixdim[static_cast<std::size_t>(d)];
    const unsigned units = static_cast<unsigned>(h.xyzt_units);
    const unsigned code = d <= 3 ? units & 7 : units >> 3 & 7;
    const double scale = d <= 3 ? lengths[code] : times[code];
    const auto unit = d <= 3 ? Step::Unit::millimetre : Step::Unit::second;
    const bool neither = scale == 0 && code != 0;  // hertz, parts per million: not a distance in time
    const double size = neither ? 0 : distance(scale == 0 ? pixdim : pixdim * scale);
    steps.push_back({size, size > 0 && scale > 0 ? unit : Step::Unit::unknown});
  }
  return steps;
}

void set_nifti_steps(NiftiHeader& h, const std::vector<Step>& steps) {
  bool lengths = false, times = false, unknown = false;
  for (std::size_t d = 1; d <= steps.size() && d <= 4; ++d) {
    const Step& step = steps[steps.size() - d];
    const auto foreign = d <= 3 ? Step::Unit::second : Step::Unit::millimetre;
    if (step.size <= 0 || step.unit == foreign) continue;
    h.pixdim[d] = step.size;
    lengths = lengths || step.unit == Step::Unit::millimetre;
    times = times || step.unit == Step::Unit::second;
    unknown = unknown || (d <= 3 && step.unit == Step::Unit::unknown);
  }
  h.xyzt_units = (lengths && !unknown ? 2 : 0) + (times ? 8 : 0);
}

void move_nifti_origin(NiftiHeader& h, const std::array<double, 3>& voxels) {
  if (h.sform_code > 0) {
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t d = 0; d < 3; ++d) h.srow[4 * row + 3] += h.srow[4 * row + d] * voxels[d];
    }
  }
  if (h.qform_code <= 0) return;
  const double b = h.quatern_b, c = h.quatern_c, d = h.quatern_d;
  const double a = std::sqrt(std::max(0.0, 1 - b * b - c * c - d * d));
  const double rotation[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                                 {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                                 {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
  const double handed = h.pixdim[0] < 0 ? -1 : 1;
  const double moved[3] = {h.pixdim[1] * voxels[0], h.pixdim[2] * voxels[1], handed * h.pixdim[3] * voxels[2]};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t k = 0; k < 3; ++k) h.qoffset[row] += rotation[row][k] * moved[k];
  }
}

}  // namespace tessera::io
