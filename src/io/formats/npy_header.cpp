// The header of a .npy file is a Python literal, {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, which a
// parser of the few forms that occur reads; nothing is evaluated. int8 widens to int16; int64 and uint64 narrow to 32
// bits when every value fits, else the file is refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "io/axes.hpp"
#include "io/formats/npy.hpp"
#include "io/load.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t longest_header = 1 << 20;
constexpr std::size_t highest_rank = 32;
constexpr std::size_t most_fields = 1024;
static_assert(std::endian::native == std::endian::little);

// ---- the header --------------------------------------------------------------------------------------------------

class Parser {
 public:
  Parser(const Source& source, std::string_view text) : source_(source), text_(text) {}

  // header := '{' (string ':' value ','?)* '}'
  NpyHeader header() {
    NpyHeader out;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        dtype(out);
      } else if (key == "fortran_order" && !order) {
        order = true;
        out.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        out.shape = tuple();
      } else {
        fail(fmt::format("the key {} is unexpected", base::quoted(key, 40)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) fail("a key of descr, fortran_order and shape is missing");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { source_.fail("NumPy", "in its header, " + reason); }

  char peek() {
    while (position_ < text_.size() &&
           (text_[position_] == ' ' || text_[position_] == '\n' || text_[position_] == '\t'))
      ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) {
      fail(fmt::format("character {} is {}, expected '{}'", position_,
                       base::quoted(text_.substr(std::min(position_, text_.size()), 1)), c));
    }
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("character {} begins no string", position_));
    std::string out;
    for (++position_; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == quote) {
        ++position_;
        return out;
      }
      if (c == '\\') {
        if (++position_ == text_.size()) break;
        c = text_[position_];
        if (c != '\\' && c != '\'' && c != '"') fail("an escape in a string is not understood");
      }
      out += c;
    }
    fail("a string does not end");
  }
  bool boolean() {
    const char first = peek();
    const std::string_view word = first == 'T' ? "True" : "False";
    if (text_.substr(position_, word.size()) != word) fail("fortran_order is neither True nor False");
    position_ += word.size();
    return first == 'T';
  }
  i64 integer() {
    peek();
    const std::size_t begin = position_;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') ++position_;
    const std::optional<std::int64_t> value = base::parse_integer(text_.substr(begin, position_ - begin));
    if (!value) fail(fmt::format("character {} begins no number that fits 63 bits", begin));
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // Python 2
    return *value;
  }
  Shape tuple() {
    Shape out;
    expect('(');
    while (!accept(')')) {
      out.push_back(integer());
      if (out.size() > highest_rank) fail(fmt::format("the shape has more than {} dimensions", highest_rank));
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return out;
  }
  // dtype := string | '[' ('(' (string | '(' string ',' string ')') ',' string ','? ')' ','?)* ']'
  void dtype(NpyHeader& out) {
    if (peek() != '[') {
      NpyField field;
      const std::string name = string();
      if (complex(name, out)) return;
      field.stored = stored(name);
      if (field.stored.kind == 'V') fail("the dtype is raw bytes, expected numbers");
      out.item_size = field.stored.size;
      out.fields.push_back(field);
      return;
    }
    out.is_struct = true;
    expect('[');
    std::size_t entries = 0;
    while (!accept(']')) {
      if (++entries > most_fields) fail(fmt::format("the dtype has more than {} fields", most_fields));
      expect('(');
      NpyField field;
      if (accept('(')) {  // a title before the name
        string();
        expect(',');
        field.name = string();
        expect(')');
      } else {
        field.name = string();
      }
      expect(',');
      if (peek() == '[')
        fail(fmt::format("the field {} is a struct itself, expected numbers", base::quoted(field.name, 40)));
      field.stored = stored(string());
      field.offset = out.item_size;
      out.item_size += field.stored.size;
      if (accept(',') && peek() == '(')
        fail(fmt::format("the field {} is an array, expected a number", base::quoted(field.name, 40)));
      expect(')');
      if (field.stored.kind == 'V') {
        if (!field.name.empty())
          fail(fmt::format("the field {} is raw bytes, expected a number", base::quoted(field.name, 40)));
      } else {
        if (field.name.empty()) field.name = fmt::format("f{}", out.fields.size());
        out.fields.push_back(field);
      }
      if (!accept(',')) {
        expect(']');
        break;
      }
    }
    if (out.fields.empty()) fail("the dtype has no fields");
  }
  // c8 and c16: a struct of two floats, of two doubles.
  bool complex(const std::string& text, NpyHeader& out) const {
    const std::size_t at = text.find_first_not_of("<>|=");
    if (at == std::string::npos || (text.substr(at) != "c8" && text.substr(at) != "c16")) return false;
    out.is_struct = true;
    for (const char* part : {"re", "im"}) {
      NpyField field;
      field.name = part;
      field.stored = stored(text.substr(0, at) + (text.substr(at) == "c8" ? "f4" : "f8"));
      field.offset = out.item_size;
      out.item_size += field.stored.size;
      out.fields.push_back(field);
    }
    return true;
  }
  NpyStored stored(const std::string& text) const {
    NpyStored out;
    std::string_view rest = text;
    if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
      out.swapped = rest[0] == '>';
      rest.remove_prefix(1);
    }
    if (rest == "?") rest = "b1";
    const std::optional<std::int64_t> size = base::parse_integer(rest.empty() ? rest : rest.substr(1));
    if (!size || *size < 1 || *size > (1 << 20))
      fail(fmt::format("the dtype {} is not understood", base::quoted(text, 40)));
    out.kind = rest[0];
    out.size = static_cast<std::size_t>(*size);
    if (out.kind == 'V') return out;
    const std::string_view name = rest.substr(0, 2);
    using E = ElementType;
    constexpr std::pair<std::string_view, E> known[] = {
        {"b1", E::boolean}, {"u1", E::u8},  {"i1", E::i16}, {"i2", E::i16}, {"u2", E::u16}, {"i4", E::i32},
        {"u4", E::u32},     {"i8", E::i32}, {"u8", E::u32}, {"f2", E::f16}, {"f4", E::f32}, {"f8", E::f64}};
    for (const auto& [dtype, type] : known) {
      if (rest.size() == 2 && name == dtype) {
        out.type = type;
        return out;
      }
    }
    fail(
        fmt::format("the dtype {} is none of bool, integers up to 64 bits, floats of 16, 32 and 64 bits and "
                    "complex numbers of two floats or doubles",
                    base::quoted(text, 40)));
  }

  const Source& source_;
  std::string_view text_;
  std::size_t position_ = 0;
};

template <class Wide, class Narrow>
void narrow(const Source& source, std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step,
            i64 count, bool swapped, i64 first) {
  for (i64 i = 0; i < count; ++i, to += to_step, from += from_step) {
    const Wide value = load<Wide>(from, swapped);
    if (!std::in_range<Narrow>(value)) {
      source.fail("NumPy", fmt::format("element {} is {}, which does not fit 32 bits", first + i, value),
                  "store it as 32-bit integers or as doubles");
    }
    const auto result = static_cast<Narrow>(value);
    std::memcpy(to, &result, sizeof result);
  }
}

template <class T>
void copy_swapped(std::byte* to, std::size_t to_step, const std::byte* from, std::size_t from_step, i64 count,
                  bool swapped) {
  for (i64 i = 0; i < count; ++i, to += to_step, from += from_step) {
    const T value = load<T>(from, swapped);
    std::memcpy(to, &value, sizeof value);
  }
}

// `first`: the number of the first of these elements.
void read_field(const Source& source, const NpyStored& s, std::byte* to, std::size_t to_step, const std::byte* from,
                std::size_t from_step, i64 count, i64 first) {
  if (s.kind == 'b') {  // any byte but 0 is true; in memory true is 1
    for (i64 i = 0; i < count; ++i, to += to_step, from += from_step)
      *to = std::byte{static_cast<unsigned char>(*from != std::byte{0} ? 1 : 0)};
  } else if (s.kind == 'i' && s.size == 1) {
    for (i64 i = 0; i < count; ++i, to += to_step, from += from_step) {
      const auto value = static_cast<std::int16_t>(load<std::int8_t>(from, false));
      std::memcpy(to, &value, sizeof value);
    }
  } else if (s.kind == 'i' && s.size == 8) {
    narrow<std::int64_t, std::int32_t>(source, to, to_step, from, from_step, count, s.swapped, first);
  } else if (s.kind == 'u' && s.size == 8) {
    narrow<std::uint64_t, std::uint32_t>(source, to, to_step, from, from_step, count, s.swapped, first);
  } else {
    switch (s.size) {
      case 1:
        return copy_swapped<std::uint8_t>(to, to_step, from, from_step, count, false);
      case 2:
        return copy_swapped<std::uint16_t>(to, to_step, from, from_step, count, s.swapped);
      case 4:
        return copy_swapped<std::uint32_t>(to, to_step, from, from_step, count, s.swapped);
      default:
        return copy_swapped<std::uint64_t>(to, to_step, from, from_step, count, s.swapped);
    }
  }
}

// NumPy keeps no name of a struct: pixels are known by their fields.
std::string struct_name(const NpyHeader& header) {
  std::string names;
  for (const NpyField& f : header.fields) names += f.name;
  if (names == "reim") return "complex";
  if (names == "rgb" || names == "rgba" || names == "ga") return names;
  return is_band(header.fields.back().name) ? "channels" : "record";
}

std::string dtype_of(ElementType type) {
  constexpr std::string_view names[] = {"|b1", "|u1", "<i2", "<u2", "<i4", "<u4", "<f2", "<f4", "<f8"};
  return std::string(names[static_cast<std::size_t>(type)]);
}

std::string python_string(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

bool is_complex(const Format& format) {
  const auto& f = format.fields;
  return f.size() == 2 && f[0].name == "re" && f[1].name == "im" && f[0].type == f[1].type &&
         (f[0].type == ElementType::f32 || f[0].type == ElementType::f64);
}

std::string descr_of(const Format& format) {
  if (!format.is_struct()) return python_string(dtype_of(format.scalar));
  if (is_complex(format)) return format.fields[0].type == ElementType::f32 ? "'<c8'" : "'<c16'";
  std::string out = "[";
  std::size_t end = 0;
  const auto pad = [&](std::size_t to) {
    if (end < to) out += fmt::format("('', '|V{}'), ", to - end);
  };
  for (const Format::Field& f : format.fields) {
    pad(f.offset);
    out += fmt::format("({}, '{}'), ", python_string(f.name), dtype_of(f.type));
    end = f.offset + size_of(f.type);
  }
  pad(format.size());
  return out + "]";
}

}  // namespace

NpyHeader read_npy_header(const Source& source, InOrder& in) {
  std::array<std::byte, 12> head{};
  const auto take = [&](std::span<std::byte> out) {
    if (in.read(out) < out.size()) source.fail("NumPy", "the file is cut short");
  };
  take(std::span(head).first(10));
  const int version = std::to_integer<int>(head[6]);
  const std::size_t prefix = version == 1 ? 10 : 12;
  take(std::span(head).subspan(10, prefix - 10));
  if (version < 1 || version > 3) source.fail("NumPy", fmt::format("its version is {}, expected 1, 2 or 3", version));
  std::size_t length = 0;
  for (std::size_t i = 8; i < prefix; ++i) length |= std::to_integer<std::size_t>(head[i]) << (8 * (i - 8));
  if (length > longest_header) source.fail("NumPy", fmt::format("its header of {} bytes is too long", length));
  std::string text(length, ' ');
  take(std::as_writable_bytes(std::span(text.data(), length)));
  NpyHeader header = Parser(source, text).header();
  header.begin = static_cast<i64>(prefix + length);
  return header;
}

Format format_of(const NpyHeader& header) {
  if (!header.is_struct) return header.fields[0].stored.type;
  std::vector<std::pair<std::string, ElementType>> fields;
  for (const NpyField& f : header.fields) fields.emplace_back(f.name, f.stored.type);
  return Format::record(struct_name(header), std::move(fields));
}

// An element of the file is an element of the array.
bool is_native(const NpyHeader& header, const Format& format) {
  if (header.item_size != format.size()) return false;
  for (std::size_t k = 0; k < header.fields.size(); ++k) {
    const NpyField& f = header.fields[k];
    if (f.stored.kind == 'b' || f.stored.size != size_of(f.stored.type) || (f.stored.swapped && f.stored.size > 1))
      return false;
    if (header.is_struct && f.offset != format.fields[k].offset) return false;
  }
  return true;
}

void convert_elements(const Source& source, const NpyHeader& header, const Format& format, const std::byte* from,
                      std::byte* to, i64 count, i64 first) {
  for (std::size_t k = 0; k < header.fields.size(); ++k) {
    const NpyField& f = header.fields[k];
    const std::size_t offset = header.is_struct ? format.fields[k].offset : 0;
    read_field(source, f.stored, to + offset, format.size(), from + f.offset, header.item_size, count, first);
  }
}

std::string npy_head(const Format& format, const Shape& extents) {
  std::string shape;
  for (const i64 extent : extents) shape += fmt::format("{}, ", extent);
  if (extents.size() > 1) shape.resize(shape.size() - 2);
  if (extents.size() == 1) shape.resize(shape.size() - 1);  // "(3,)"
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", descr_of(format), shape);
  const bool wide = text.size() + 128 > 65535;
  const std::size_t prefix = wide ? 12 : 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string head = std::string("\x93NUMPY") + (wide ? '\2' : '\1') + '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i) head += static_cast<char>(text.size() >> (8 * i));
  head += text;
  return head;
}

}  // namespace tessera::io
