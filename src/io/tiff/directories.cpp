// Directories at the front of a file; see directories.hpp.
#include "io/tiff/directories.hpp"

#include <algorithm>
#include <utility>

#include "io/load.hpp"
#include "io/tiff/writer.hpp"

namespace tessera::io {
namespace {

constexpr i64 alignment = 8;  // of pages and tables

i64 aligned(i64 at) {
  return (at + alignment - 1) / alignment * alignment;
}

std::size_t size_of_type(std::uint16_t type) {
  switch (type) {
    case TIFF_SHORT:
    case TIFF_SSHORT:
      return 2;
    case TIFF_LONG:
    case TIFF_SLONG:
    case TIFF_FLOAT:
    case TIFF_IFD:
      return 4;
    case TIFF_RATIONAL:
    case TIFF_SRATIONAL:
    case TIFF_DOUBLE:
    case TIFF_LONG8:
    case TIFF_SLONG8:
    case TIFF_IFD8:
      return 8;
    default:
      return 1;
  }
}

void put(std::span<std::byte> at, std::uint64_t value, i64 bytes) {
  for (i64 i = 0; i < bytes; ++i) at[static_cast<std::size_t>(i)] = static_cast<std::byte>(value >> (8 * i));
}

TiffEntry entry_of(std::uint16_t tag, std::uint16_t type, std::uint64_t value) {
  TiffEntry entry{tag, type, 1, std::vector<std::byte>(size_of_type(type))};
  put(entry.value, value, static_cast<i64>(entry.value.size()));
  return entry;
}

// The entries of the last directory in a BigTIFF of this machine's byte order.
std::vector<TiffEntry> parse(const std::vector<std::byte>& file) {
  constexpr std::size_t first_link = 8, count_bytes = 8, entry_bytes = 20, value_at = 12;
  auto at = static_cast<std::size_t>(load<std::uint64_t>(file.data() + first_link));
  std::vector<TiffEntry> entries;
  while (at != 0) {
    entries.clear();
    const auto count = static_cast<std::size_t>(load<std::uint64_t>(file.data() + at));
    at += count_bytes;
    for (std::size_t k = 0; k < count; ++k, at += entry_bytes) {
      TiffEntry e;
      e.tag = load<std::uint16_t>(file.data() + at);
      e.type = load<std::uint16_t>(file.data() + at + 2);
      e.count = load<std::uint64_t>(file.data() + at + 4);
      const std::size_t bytes = static_cast<std::size_t>(e.count) * size_of_type(e.type);
      const std::size_t from = bytes <= sizeof(std::uint64_t)
                                   ? at + value_at
                                   : static_cast<std::size_t>(load<std::uint64_t>(file.data() + at + value_at));
      e.value.assign(file.begin() + static_cast<std::ptrdiff_t>(from),
                     file.begin() + static_cast<std::ptrdiff_t>(from + bytes));
      entries.push_back(std::move(e));
    }
    at = static_cast<std::size_t>(load<std::uint64_t>(file.data() + at));
  }
  return entries;
}

bool is_place(std::uint16_t tag) {
  return tag == TIFFTAG_STRIPOFFSETS || tag == TIFFTAG_STRIPBYTECOUNTS || tag == TIFFTAG_TILEOFFSETS ||
         tag == TIFFTAG_TILEBYTECOUNTS;
}

// What the library writes for this page, but for places. It makes room for the places of all blocks, so that it is
// told of a picture of one.
std::vector<TiffEntry> entries_of(const TiffDescription& d, i64 page) {
  TiffMemory memory;
  TiffWriter writer(memory, "wl8");
  TIFF* tiff = writer.get();
  writer.check(tiff != nullptr, d.path);
  describe_page(tiff, d, page);
  const bool tiled = d.packing.tile_width > 0;
  constexpr i64 small = 16;
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(small));
  if (tiled) TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(small));
  const bool good = TIFFDeferStrileArrayWriting(tiff) == 1 && TIFFWriteCheck(tiff, TIFFIsTiled(tiff), "page") == 1 &&
                    TIFFWriteDirectory(tiff) == 1;
  writer.check(good, d.path);
  std::vector<TiffEntry> entries = parse(memory.bytes);
  std::erase_if(entries, [](const TiffEntry& e) { return is_place(e.tag); });
  for (TiffEntry& e : entries) {
    const i64 extent = e.tag == TIFFTAG_IMAGEWIDTH ? d.samples.width : d.samples.height;
    if (e.tag == TIFFTAG_IMAGEWIDTH || e.tag == TIFFTAG_IMAGELENGTH)
      e = entry_of(e.tag, extent > UINT16_MAX ? TIFF_LONG : TIFF_SHORT, static_cast<std::uint64_t>(extent));
  }
  return entries;
}

}  // namespace

TiffDirectories::TiffDirectories(const TiffDescription& d, i64 blocks, double block_bytes)
    : pages_(d.samples.pages), blocks_(blocks) {
  const bool tiled = d.packing.tile_width > 0;
  offsets_tag_ = tiled ? TIFFTAG_TILEOFFSETS : TIFFTAG_STRIPOFFSETS;
  lengths_tag_ = tiled ? TIFFTAG_TILEBYTECOUNTS : TIFFTAG_STRIPBYTECOUNTS;
  first_.entries = entries_of(d, 0);
  if (pages_ > 1) other_.entries = entries_of(d, 1);
  for (Plan* plan : {&first_, &other_}) place(*plan);
  constexpr double most = 0x1p32 - 0x1p20;  // of a classic file
  const double content = block_bytes * static_cast<double>(blocks_) * static_cast<double>(pages_);
  if (static_cast<double>(bytes()) + content <= most) return;
  big_ = true;
  for (Plan* plan : {&first_, &other_}) place(*plan);
}

void TiffDirectories::place(Plan& p) const {
  constexpr i64 tables = 2;
  // The directory ends with the place of the next one.
  const i64 front = count_bytes() + (static_cast<i64>(p.entries.size()) + tables) * entry_bytes() + number_bytes();
  i64 at = p.values = aligned(front);
  for (const TiffEntry& e : p.entries)
    if (static_cast<i64>(e.value.size()) > number_bytes()) at = aligned(at + static_cast<i64>(e.value.size()));
  const i64 table = blocks_ * number_bytes();
  p.end = at;
  if (blocks_ > 1) {
    p.offsets = at;
    p.lengths = aligned(at + table);
    p.end = aligned(p.lengths + table);
    return;
  }
  // One number stands in its entry: behind the tag, the type and the count.
  const auto entry_at = [&](std::uint16_t tag) {
    i64 before = 0;
    for (const TiffEntry& e : p.entries) before += e.tag < tag ? 1 : 0;
    for (const std::uint16_t own : {offsets_tag_, lengths_tag_}) before += own < tag ? 1 : 0;
    return count_bytes() + before * entry_bytes() + entry_bytes() - number_bytes();
  };
  p.offsets = entry_at(offsets_tag_);
  p.lengths = entry_at(lengths_tag_);
}

i64 TiffDirectories::page_begin(i64 page) const {
  return page == 0 ? header_bytes() : header_bytes() + first_.end + (page - 1) * other_.end;
}

i64 TiffDirectories::bytes() const {
  return page_begin(pages_);
}

std::vector<std::byte> TiffDirectories::header() const {
  std::vector<std::byte> out(static_cast<std::size_t>(header_bytes()));
  constexpr std::uint64_t order = 'I' | 'I' << 8, classic = 42, bigger = 43, offset_bytes = 8;
  put(std::span(out), order, 2);
  put(std::span(out).subspan(2), big_ ? bigger : classic, 2);
  if (big_) put(std::span(out).subspan(4), offset_bytes, 2);
  put(std::span(out).last(static_cast<std::size_t>(number_bytes())), static_cast<std::uint64_t>(page_begin(0)),
      number_bytes());
  return out;
}

std::vector<std::byte> TiffDirectories::page(i64 page) const {
  const Plan& p = plan(page);
  std::vector<TiffEntry> entries = p.entries;
  for (TiffEntry& e : entries) {  // its number, and how many there are
    if (e.tag == TIFFTAG_PAGENUMBER) put(e.value, static_cast<std::uint64_t>(page), 2);
  }
  const std::uint16_t type = big_ ? TIFF_LONG8 : TIFF_LONG;
  for (const std::uint16_t tag : {offsets_tag_, lengths_tag_})
    entries.push_back({tag, type, static_cast<std::uint64_t>(blocks_), {}});
  std::sort(entries.begin(), entries.end(), [](const TiffEntry& a, const TiffEntry& b) { return a.tag < b.tag; });

  std::vector<std::byte> out(static_cast<std::size_t>(blocks_ > 1 ? p.offsets : p.end));
  const i64 begin = page_begin(page);
  const auto at = [&](i64 place) { return std::span(out).subspan(static_cast<std::size_t>(place)); };
  put(at(0), entries.size(), count_bytes());
  i64 entry = count_bytes(), values = p.values;
  for (const TiffEntry& e : entries) {
    put(at(entry), e.tag, 2);
    put(at(entry + 2), e.type, 2);
    put(at(entry + 4), e.count, number_bytes());
    const i64 value = entry + entry_bytes() - number_bytes();
    const auto size = static_cast<i64>(e.value.size());
    const bool table = e.tag == offsets_tag_ || e.tag == lengths_tag_;
    if (table && blocks_ > 1) {
      put(at(value), static_cast<std::uint64_t>(begin + (e.tag == offsets_tag_ ? p.offsets : p.lengths)),
          number_bytes());
    } else if (size <= number_bytes()) {
      std::copy(e.value.begin(), e.value.end(), at(value).begin());
    } else {
      put(at(value), static_cast<std::uint64_t>(begin + values), number_bytes());
      std::copy(e.value.begin(), e.value.end(), at(values).begin());
      values = aligned(values + size);
    }
    entry += entry_bytes();
  }
  if (page + 1 < pages_) put(at(entry), static_cast<std::uint64_t>(page_begin(page + 1)), number_bytes());
  return out;
}

TiffDirectories::Slot TiffDirectories::slot(i64 page, i64 block) const {
  const i64 begin = page_begin(page), within = block * number_bytes();
  return {begin + plan(page).offsets + within, begin + plan(page).lengths + within, static_cast<int>(number_bytes())};
}

}  // namespace tessera::io
