// Arrays: formats, shapes, memory, views and copies. See tessera/array.hpp.
//
// Memory comes zeroed from calloc, which for large blocks is fresh pages that cost nothing until touched; the part that
// consists of whole 2 MiB pages asks for huge pages, since faulting in 4 KiB pages one by one is slower than most
// filters. Large arrays begin at different places of their 4 KiB pages: a load whose address agrees in the low 12 bits
// with that of a store just before it waits for the store. Where rows are multiples of 4 KiB long (1024 floats) and
// input and output begin alike, every load does, and a 3x3 filter takes three times as long.
#include "tessera/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "data/layout.hpp"
#include "tessera/error.hpp"

namespace tessera {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t address_space = std::size_t{1} << 47;  // of a process on today's 64-bit machines
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t page = 4096;
constexpr std::size_t large = 4 * page;
constexpr std::size_t stagger = 1536;  // eight places, of neighbours far apart

[[noreturn]] void argument_error(std::string message, std::vector<std::string> notes = {}) {
  throw Error(ErrorClass::argument, std::move(message), std::move(notes));
}

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// 64-byte aligned, zero-filled.
std::shared_ptr<void> allocate(std::size_t bytes) {
  if (bytes >= address_space) return nullptr;
  static std::atomic<std::size_t> count{0};
  const std::size_t slack = bytes >= large ? page : 0;
  void* block = std::calloc(1, round_up(std::max<std::size_t>(bytes, 1), alignment) + alignment + slack);
  if (block == nullptr) return nullptr;
  auto begin = round_up(reinterpret_cast<std::uintptr_t>(block), alignment);
  if (slack != 0) begin += (count.fetch_add(1, std::memory_order_relaxed) * stagger - begin) % page;
  const auto first = round_up(begin, huge_page);
  const auto last = (begin + bytes) / huge_page * huge_page;
  // Advice only: a kernel without huge pages refuses and nothing is lost.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  return std::shared_ptr<void>(reinterpret_cast<void*>(begin), [block](void*) { std::free(block); });
}

void check_shape(const Shape& shape) {
  for (const i64 extent : shape) {
    if (extent < 0) argument_error(fmt::format("array extents must not be negative, got {}", to_string(shape)));
  }
}

std::vector<i64> c_order(const Format& format, const Shape& shape) {
  std::vector<i64> strides(shape.size());
  i64 stride = static_cast<i64>(format.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    // Only an array without elements can overflow here, and then no stride is ever used.
    if (__builtin_mul_overflow(stride, std::max<i64>(shape[d], 1), &stride)) stride = 0;
  }
  return strides;
}

std::string show(std::span<const i64> index) {
  return fmt::format("({})", fmt::join(index, ", "));
}

// ---- copying ---------------------------------------------------------------------------------------------------

template <std::size_t bytes>
void copy_line(std::byte* to, i64 to_stride, const std::byte* from, i64 from_stride, i64 count) {
  for (i64 i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

void copy_lines(const data::Walk& walk, std::size_t d, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (d + 1 < walk.extents.size()) {
    for (i64 i = 0; i < walk.extents[d]; ++i) {
      copy_lines(walk, d + 1, to + i * walk.to[d], from + i * walk.from[d], bytes);
    }
    return;
  }
  const i64 n = walk.extents[d], ts = walk.to[d], fs = walk.from[d];
  if (ts == static_cast<i64>(bytes) && fs == ts) {
    std::memmove(to, from, static_cast<std::size_t>(n) * bytes);
    return;
  }
  switch (bytes) {
    case 1:
      return copy_line<1>(to, ts, from, fs, n);
    case 2:
      return copy_line<2>(to, ts, from, fs, n);
    case 4:
      return copy_line<4>(to, ts, from, fs, n);
    case 8:
      return copy_line<8>(to, ts, from, fs, n);
    default:
      for (i64 i = 0; i < n; ++i) std::memcpy(to + i * ts, from + i * fs, bytes);
  }
}

}  // namespace

// ---- types -----------------------------------------------------------------------------------------------------

std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u8:
      return 1;
    case ElementType::i16:
    case ElementType::u16:
    case ElementType::f16:
      return 2;
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::f32:
      return 4;
    case ElementType::f64:
      return 8;
  }
  return 0;
}

std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::boolean:
      return "bool";
    case ElementType::u8:
      return "uint8";
    case ElementType::i16:
      return "int16";
    case ElementType::u16:
      return "uint16";
    case ElementType::i32:
      return "int32";
    case ElementType::u32:
      return "uint32";
    case ElementType::f16:
      return "half";
    case ElementType::f32:
      return "float";
    case ElementType::f64:
      return "double";
  }
  return "unknown";
}

bool is_float(ElementType type) {
  return type == ElementType::f16 || type == ElementType::f32 || type == ElementType::f64;
}

Format Format::record(std::string name, std::vector<std::pair<std::string, ElementType>> fields) {
  Format format;
  format.struct_name = std::move(name);
  std::size_t offset = 0;
  for (auto& [field, type] : fields) {
    offset = round_up(offset, size_of(type));  // every scalar is aligned to its size
    format.fields.push_back({std::move(field), type, offset});
    offset += size_of(type);
  }
  return format;
}

std::size_t Format::size() const {
  if (fields.empty()) return size_of(scalar);
  std::size_t end = 0, align = 1;
  for (const Field& f : fields) {
    end = std::max(end, f.offset + size_of(f.type));
    align = std::max(align, size_of(f.type));
  }
  return round_up(end, align);
}

bool Format::has_padding() const {
  std::size_t used = 0;
  for (const Field& f : fields) used += size_of(f.type);
  return is_struct() && used != size();
}

std::string Format::name() const {
  return is_struct() ? "struct " + struct_name : std::string(name_of(scalar));
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

i64 element_count(const Shape& shape) {
  check_shape(shape);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  i64 count = 1;
  for (const i64 extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      argument_error(
          fmt::format("an array of {} elements is too large: the count does not fit 63 bits", to_string(shape)));
    }
  }
  return count;
}

// ---- arrays ----------------------------------------------------------------------------------------------------

Array::Array(Format format, Shape shape) : format_(std::move(format)), shape_(std::move(shape)) {
  const std::size_t bytes = data::byte_count(format_, shape_);
  // The system promises more than it has and ends whoever takes it, so that large arrays are compared with what there
  // is.
  constexpr std::size_t large = std::size_t{64} << 20;
  if (const i64 left = bytes >= large ? base::available_memory() : 0;
      bytes >= large && bytes > static_cast<std::size_t>(left))
    argument_error(fmt::format("an array of {} elements of {} takes {}, but {} of memory are left", to_string(shape_),
                               format_.name(), base::format_bytes(static_cast<double>(bytes)),
                               base::format_bytes(static_cast<double>(left))));
  owner_ = allocate(bytes);
  if (!owner_) {
    argument_error(fmt::format("no memory for an array of {} elements of {} ({})", to_string(shape_), format_.name(),
                               base::format_bytes(static_cast<double>(bytes))));
  }
  data_ = owner_.get();
  strides_ = c_order(format_, shape_);
}

Array Array::borrow(void* data, Format format, Shape shape, std::vector<i64> strides) {
  return share(nullptr, data, std::move(format), std::move(shape), std::move(strides));
}

Array Array::share(std::shared_ptr<void> owner, void* data, Format format, Shape shape, std::vector<i64> strides) {
  const std::size_t bytes = data::byte_count(format, shape);
  if (strides.empty()) strides = c_order(format, shape);
  if (strides.size() != shape.size()) {
    argument_error(
        fmt::format("an array of rank {} needs {} strides, got {}", shape.size(), shape.size(), strides.size()));
  }
  if (data == nullptr && bytes > 0) {
    argument_error(fmt::format("an array of {} elements needs memory, got a null pointer", to_string(shape)));
  }
  Array array;
  array.format_ = std::move(format);
  array.shape_ = std::move(shape);
  array.strides_ = std::move(strides);
  array.owner_ = std::move(owner);
  array.data_ = data;
  return array;
}

Array Array::in(std::shared_ptr<const ArrayMemory> memory, void* data, Format format, Shape shape,
                std::vector<i64> strides) {
  Array array = share(nullptr, data, std::move(format), std::move(shape), std::move(strides));
  array.memory_ = std::move(memory);
  return array;
}

bool Array::contiguous() const {
  if (count() == 0) return true;
  i64 stride = static_cast<i64>(format_.size());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    if (shape_[d] != 1 && strides_[d] != stride) return false;
    stride *= shape_[d];
  }
  return true;
}

std::byte* Array::at(std::span<const i64> index) const {
  if (index.size() != shape_.size()) {
    argument_error(fmt::format("an array of rank {} is indexed by {} numbers, got {}", rank(), rank(), index.size()));
  }
  if (on_device()) argument_error(fmt::format("elements on {} have no address here", memory_->place()));
  std::byte* p = static_cast<std::byte*>(data_);
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape_[d]) {
      argument_error(fmt::format("index {} is outside the array of {}", show(index), to_string(shape_)));
    }
    p += index[d] * strides_[d];
  }
  return p;
}

Array Array::region(std::span<const i64> begin, std::span<const i64> end) const {
  if (begin.size() != shape_.size() || end.size() != shape_.size()) {
    argument_error(fmt::format("a region of an array of rank {} needs {} bounds on each side, got {} and {}", rank(),
                               rank(), begin.size(), end.size()));
  }
  Array view = *this;
  std::byte* p = static_cast<std::byte*>(data_);
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    if (begin[d] < 0 || begin[d] > end[d] || end[d] > shape_[d]) {
      argument_error(fmt::format("region {} to {} does not lie inside the array of {}", show(begin), show(end),
                                 to_string(shape_)));
    }
    view.shape_[d] = end[d] - begin[d];
    // An empty region may begin one past the end: its address is never used, so it stays where it is.
    if (view.shape_[d] > 0) p += begin[d] * strides_[d];
  }
  view.data_ = p;
  return view;
}

Array Array::field(std::string_view name) const {
  std::vector<std::string> names;
  for (const Format::Field& f : format_.fields) {
    if (f.name == name) {
      Array view = *this;
      view.format_ = Format(f.type);
      view.data_ = static_cast<std::byte*>(data_) + f.offset;
      return view;
    }
    names.push_back(f.name);
  }
  if (names.empty()) {
    argument_error(fmt::format("an array of {} has no fields, asked for {}", format_.name(), base::quoted(name)));
  }
  throw Error(ErrorClass::argument, fmt::format("{} has no field {}", format_.name(), base::quoted(name)),
              {"its fields are " + base::list_of(names, "and")}, base::did_you_mean(name, names));
}

Array Array::clone() const {
  Array copy = on_device() ? memory_->make(format_, shape_) : Array(format_, shape_);
  copy.copy_from(*this);
  return copy;
}

Array Array::to_host() const {
  if (!on_device()) return *this;
  Array copy(format_, shape_);
  copy.copy_from(*this);
  return copy;
}

void Array::copy_from(const Array& other) const {
  if (!(format_ == other.format_)) {
    argument_error(fmt::format("cannot copy {} into an array of {}", other.format_.name(), format_.name()));
  }
  if (shape_ != other.shape_) {
    argument_error(
        fmt::format("cannot copy an array of {} into one of {}", to_string(other.shape_), to_string(shape_)));
  }
  if (count() == 0) return;
  if (on_device() || other.on_device()) return (on_device() ? memory_ : other.memory_)->copy(*this, other);
  const data::Walk walk = data::joined(shape_, strides_, other.strides_);
  auto* to = static_cast<std::byte*>(data_);
  const auto* from = static_cast<const std::byte*>(other.data_);
  if (walk.extents.empty()) {
    std::memmove(to, from, format_.size());
  } else {
    copy_lines(walk, 0, to, from, format_.size());
  }
}

}  // namespace tessera
