// Between the dimensions of a file and those of an array: channels of the one are fields of the other.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "data/regions.hpp"
#include "io/axes.hpp"
#include "io/regions/file.hpp"
#include "io/regions/raw.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

using data::shape_of;

bool is_channel(char letter) {
  return letter == 'c' || letter == 's';
}

// Where each dimension of an array stands among the letters of a file; nothing of those that are the array's own.
std::vector<std::size_t> places_of(const std::string& axes, const std::string& letters) {
  std::vector<std::size_t> places;
  std::string free = letters;
  for (const char c : axes) {
    const std::size_t at = free.find(c);
    places.push_back(at);
    free[at] = ' ';
  }
  return places;
}

// A region of the array, with all channels, in the dimensions of the file.
Region in_file(const Region& region, const Shape& file, const std::string& letters, const std::string& axes) {
  if (letters.empty()) return region;
  Region all{std::vector<i64>(file.size(), 0), file};
  const std::vector<std::size_t> places = places_of(axes, letters);
  for (std::size_t d = 0; d < places.size(); ++d) {
    all.begin[places[d]] = region.begin[d];
    all.end[places[d]] = region.end[d];
  }
  return all;
}

i64 bytes_of(const Region& region, const Format& format) {
  return element_count(shape_of(region)) * static_cast<i64>(format.size());
}

FileLayout in_array(const RegionLayout& layout) {
  return {.format_name = layout.format_name, .element = layout.element, .shape = layout.shape};
}

class ArrangedReader : public RegionReader {
 public:
  explicit ArrangedReader(std::unique_ptr<FileReader> file) : file_(std::move(file)) {
    const FileLayout& f = file_->layout();
    layout_ = {f.format_name, f.element, f.shape, f.chunk, f.header};
    letters_ = f.letters;
    if (letters_.empty()) {
      layout_.header.steps = f.steps;
      layout_.header.extents = f.shape;
      return;
    }
    // What an image of one point becomes says what all of them become.
    Shape point = f.shape;
    for (std::size_t d = 0; d < point.size(); ++d)
      if (!is_channel(letters_[d])) point[d] = 1;
    Image one = arrange(Array(f.element, point), letters_, f.steps, f.header);
    layout_.element = one.array.format();
    layout_.header = std::move(one.header);
    layout_.shape.clear();
    layout_.chunk.clear();
    const std::vector<std::size_t> places = places_of(layout_.header.axes, letters_);
    for (const std::size_t at : places) {
      layout_.shape.push_back(f.shape[at]);
      layout_.chunk.push_back(f.chunk[at]);
    }
    layout_.header.extents = layout_.shape;
    direct_ = !arranging_copies(letters_.substr(0, f.shape.size()));
  }

  const RegionLayout& layout() const override { return layout_; }
  void read(const Region& region, const Array& to) const override {
    check_region(in_array(layout_), layout_.format_name, region, to);
    if (to.count() == 0) return;
    const Region box = in_file(region, file_->layout().shape, letters_, layout_.header.axes);
    if (direct_) return file_->read(box, to);
    const Array held(file_->layout().element, shape_of(box));
    file_->read(box, held);
    to.copy_from(arrange(held, letters_, {}).array);
  }
  std::string identity() const override { return file_->identity(); }
  i64 beside(const Region& region) const override {
    const Region box = in_file(region, file_->layout().shape, letters_, layout_.header.axes);
    constexpr i64 copies = 2;  // as in the file, and arranged
    return file_->beside(box) + (direct_ ? 0 : copies * bytes_of(box, file_->layout().element));
  }
  i64 keep_chunks(i64 bytes) override { return file_->keep_chunks(bytes); }

 private:
  std::unique_ptr<FileReader> file_;
  RegionLayout layout_;
  std::string letters_;
  bool direct_ = true;  // the array's dimensions are those of the file
};

class ArrangedWriter : public RegionWriter {
 public:
  ArrangedWriter(std::unique_ptr<FileWriter> file, const Format& element, const Shape& shape, ImageHeader header,
                 bool ones, std::vector<std::string> lost)
      : file_(std::move(file)), header_(std::move(header)), ones_(ones), lost_(std::move(lost)) {
    const FileLayout& f = file_->layout();
    letters_ = f.letters;
    layout_ = {f.format_name, element, shape, f.chunk, header_};
    type_ = f.element.is_struct() ? f.element.fields[0].type : f.element.scalar;
    converts_ = (element.is_struct() ? element.fields[0].type : element.scalar) != type_;
    if (letters_.empty()) return;
    layout_.chunk.clear();
    for (const std::size_t at : places_of(header_.axes, letters_)) layout_.chunk.push_back(f.chunk[at]);
  }

  const RegionLayout& layout() const override { return layout_; }
  bool resumed() const override { return file_->resumed(); }
  void write(const Region& region, const Array& from) override {
    check_region(in_array(layout_), layout_.format_name, region, from);
    if (from.count() == 0) return;
    const FileLayout& f = file_->layout();
    Array array = from;
    if (!letters_.empty()) array = in_layout({array, header_}, letters_, header_.samples);
    if (converts_ && ones_ && array.format() == Format(ElementType::boolean))
      array = Array::share(array.owner(), array.data(), ElementType::u8, array.shape(), array.strides());
    if (converts_) {
      i64 saturated = 0;
      array = converted(array, type_, saturated);
      saturated_ += saturated;
    }
    const Region box = in_file(region, f.shape, letters_, header_.axes);
    // Samples of one point after the other are the elements of the file.
    if (!array.contiguous()) array = array.clone();
    file_->write(box, Array::share(array.owner(), array.data(), f.element, shape_of(box)));
  }
  i64 beside(const Region& region) const override {
    const Region box = in_file(region, file_->layout().shape, letters_, header_.axes);
    // In the file's order, and one behind the other; as the file's type.
    const i64 copies = (letters_.empty() || !arranging_copies(letters_) ? 0 : 2) + (converts_ ? 1 : 0);
    return file_->beside(box) + copies * bytes_of(box, file_->layout().element);
  }
  WriteReport report() const override {
    WriteReport report;
    report.format = layout_.format_name;
    report.type = type_;
    report.values =
        element_count(layout_.shape) * static_cast<i64>(std::max<std::size_t>(layout_.element.fields.size(), 1));
    report.saturated = saturated_;
    report.lost = lost_;
    return report;
  }
  void sync() override { file_->sync(); }
  void commit() override { file_->commit(); }
  void discard() override { file_->discard(); }

 private:
  std::unique_ptr<FileWriter> file_;
  ImageHeader header_;
  RegionLayout layout_;
  std::string letters_;
  ElementType type_ = ElementType::u8;
  bool converts_ = false, ones_ = false;
  std::vector<std::string> lost_;
  std::atomic<i64> saturated_ = 0;
};

}  // namespace

std::unique_ptr<RegionReader> arranged(std::unique_ptr<FileReader> file) {
  return std::make_unique<ArrangedReader>(std::move(file));
}

std::unique_ptr<RegionWriter> arranged(std::unique_ptr<FileWriter> file, const Format& element, const Shape& shape,
                                       ImageHeader header, bool ones, std::vector<std::string> lost) {
  return std::make_unique<ArrangedWriter>(std::move(file), element, shape, std::move(header), ones, std::move(lost));
}

}  // namespace tessera::io
