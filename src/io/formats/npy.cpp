// NumPy's .npy, versions 1 to 3: any rank, C and Fortran order, both byte orders, structured dtypes of scalar fields.
// Complex numbers are a struct "complex" of re and im, and such a struct is written as complex numbers.
//
// Elements are read straight into the array where they are as it has them; others pass through a small buffer.
#include "io/formats/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/axes.hpp"
#include "io/codec.hpp"

namespace tessera::io {
namespace {

[[noreturn]] void cut_short(const Source& source, const NpyHeader& header, double follow) {
  source.fail("NumPy", fmt::format("it declares {} elements of {} bytes, but {:.0f} bytes follow: it is cut short",
                                   to_string(header.shape), header.item_size, follow));
}

// The elements of the file one after the other, as the array has them.
class Elements {
 public:
  Elements(const Source& source, InOrder& in, const NpyHeader& header, const Format& format)
      : source_(source), in_(in), header_(header), format_(format), native_(is_native(header, format)) {}

  void read(std::byte* to, i64 count) {
    if (native_) return take(std::span(to, static_cast<std::size_t>(count) * header_.item_size));
    const i64 piece = std::max<i64>(piece_bytes / static_cast<i64>(header_.item_size), 1);
    raw_.resize(static_cast<std::size_t>(std::min(piece, count)) * header_.item_size);
    for (i64 done = 0; done < count; done += piece) {
      const i64 n = std::min(piece, count - done);
      take(std::span(raw_).first(static_cast<std::size_t>(n) * header_.item_size));
      convert_elements(source_, header_, format_, raw_.data(), to + static_cast<std::size_t>(done) * format_.size(), n,
                       read_ + done);
    }
    read_ += count;
  }

 private:
  static constexpr i64 piece_bytes = i64{1} << 18;
  void take(std::span<std::byte> out) {
    const std::size_t got = in_.read(out);
    bytes_ += static_cast<double>(got);
    if (got < out.size()) cut_short(source_, header_, bytes_);
  }

  const Source& source_;
  InOrder& in_;
  const NpyHeader& header_;
  const Format& format_;
  const bool native_;
  std::vector<std::byte> raw_;
  i64 read_ = 0;
  double bytes_ = 0;
};

// The first dimension fastest. Boxes that lie in the file one behind the other, each as large as a small buffer, are
// put where they belong: of the first dimensions all, of the next one a part, of the others one index.
void read_fortran(Elements& elements, const Array& image) {
  constexpr i64 buffer_bytes = i64{1} << 24;
  const Shape& shape = image.shape();
  const auto size = static_cast<i64>(image.format().size());
  const i64 most = std::max<i64>(buffer_bytes / size, 1);
  std::vector<i64> strides;  // in the buffer
  std::size_t whole = 0;     // dimensions that fit with all their extents
  i64 slab = 1;
  for (const i64 extent : shape) {
    strides.push_back((strides.empty() ? size : strides.back() * shape[strides.size() - 1]));
    if (whole + 1 == strides.size() && slab <= most / extent) {
      slab *= extent;
      ++whole;
    }
  }
  const bool all = whole == shape.size();
  const i64 step = all ? 1 : most / slab;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(slab * step, image.count())) *
                                static_cast<std::size_t>(size));
  std::vector<i64> begin(shape.size(), 0), end = shape;
  for (std::size_t d = whole; d < shape.size(); ++d) end[d] = d == whole ? std::min(step, shape[d]) : 1;
  for (;;) {
    Shape box;
    i64 count = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      box.push_back(end[d] - begin[d]);
      count *= box.back();
    }
    elements.read(buffer.data(), count);
    image.region(begin, end).copy_from(Array::borrow(buffer.data(), image.format(), box, strides));
    std::size_t d = whole;
    for (; d < shape.size(); ++d) {
      begin[d] = end[d];
      if (begin[d] < shape[d]) break;
      begin[d] = 0;
    }
    if (d == shape.size()) return;
    for (std::size_t k = whole; k <= d; ++k) end[k] = std::min(begin[k] + (k == whole ? step : 1), shape[k]);
  }
}

}  // namespace

bool matches_npy(const Source& source) {
  return source.starts_with("\x93NUMPY");
}

Array decode_npy(const Source& source) {
  InOrder in(source);
  const NpyHeader header = read_npy_header(source, in);
  const Format format = format_of(header);
  // int8 doubles; a struct grows by alignment, less than 8 times.
  check_declared(source, "NumPy", format, header.shape, 8);
  const i64 count = element_count(header.shape);
  if (static_cast<double>(count) * static_cast<double>(header.item_size) > in.left())
    cut_short(source, header, in.left());
  const Array image = allocate(source, "NumPy", format, header.shape, 8);
  Elements elements(source, in, header, format);
  if (header.fortran && header.shape.size() > 1 && count > 0)
    read_fortran(elements, image);
  else
    elements.read(image.as<std::byte>(), count);
  return image;
}

WriteReport write_npy(base::AtomicFile& file, const Array& given, const WriteOptions& options) {
  WriteReport report;
  const ImageHeader header = header_or_axes(options.header, given.shape());
  const std::string layout = header.numpy ? layout_for(header, given) : "";
  // As the file was that was read; channels that came since are fields.
  const bool arranged = !layout.empty() && layout == header.layout && layout != header.axes;
  const Array array = arranged ? in_layout({given, header}, layout, header.samples) : given;
  report.format = "NumPy";
  report.values = array.count() * channels_of(array);
  Format format = array.format();
  Array data = array;
  if (options.type) {
    data = converted(array, *options.type, report.saturated);
    format = retyped(format, *options.type);
  } else if (!array.contiguous()) {
    data = array.clone();
  }
  report.type = format.is_struct() ? format.fields[0].type : format.scalar;

  const std::string head = npy_head(format, array.shape());
  file.write(std::as_bytes(std::span(head.data(), head.size())));
  file.write(
      std::span(static_cast<const std::byte*>(data.data()), static_cast<std::size_t>(array.count()) * format.size()));
  return report;
}

}  // namespace tessera::io
