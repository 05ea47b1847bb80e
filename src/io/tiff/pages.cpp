// The pages of an image; see pages.hpp.
#include "io/tiff/pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/text.hpp"
#include "io/tiff/regions.hpp"
#include "tessera/error.hpp"

namespace tessera::io {
namespace {

constexpr const char* help_by_hand =
    "say what its pages are, slowest first: --axes tzyx, or with the extents of the pages, --axes t3z4yx "
    "(t time, z slices, c channels); --page N or --page N-M reads some of them";

std::string range_of(std::size_t first, std::size_t last) {
  return first == last ? fmt::format("page {}", first) : fmt::format("pages {} to {}", first, last);
}

class Planner {
 public:
  Planner(const Source& source, const std::vector<ListedPage>& all) : source_(source), all_(all) {}

  PagePlan plan() {
    select();
    const ListedPage& first = all_[plan_.pages.front()];
    samples_ = first.format.is_struct() ? static_cast<i64>(first.format.fields.size()) : 1;
    // Only tifffile describes each series where it begins.
    const bool own = TiffText::Kind::shaped == parse_tiff_text(first.text, {}).kind;
    const ListedPage& speaker = own ? first : all_.front();
    text_ = parse_tiff_text(speaker.text, speaker.resolution, static_cast<int>(samples_));
    height_ = first.height, width_ = first.width;
    planar_ = first.planar && samples_ > 1;
    std::optional<FileAxes> axes;
    if (!source_.options.axes.empty())
      axes = by_hand();
    else
      axes = by_text();
    finish(axes);
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& help = help_by_hand) const {
    source_.fail("TIFF", reason, help);
  }
  i64 pages() const { return static_cast<i64>(plan_.pages.size()); }

  void select() {
    const ReadOptions& options = source_.options;
    const i64 count = static_cast<i64>(all_.size());
    const i64 first = std::max(options.page, 0);
    const i64 last = options.page < 0 ? count - 1 : std::max(options.page, options.last_page);
    if (last >= count) source_.fail("TIFF", fmt::format("it has {} pages, asked for page {} (from 0)", count, last));
    for (i64 k = first; k <= last; ++k) plan_.pages.push_back(static_cast<std::size_t>(k));
    whole_ = pages() == count && options.page < 0;
  }

  // ---- what the text says ------------------------------------------------------------------------------------

  std::optional<FileAxes> by_text() {
    switch (text_.kind) {
      case TiffText::Kind::imagej:
        return by_imagej();
      case TiffText::Kind::ome:
        return by_ome();
      case TiffText::Kind::shaped:
        return by_shape();
      case TiffText::Kind::none:
        break;
    }
    return std::nullopt;
  }

  // Pages that stand behind the only one that is listed, as ImageJ lays them beyond 4 GiB.
  void check_unlisted(const char* who, i64 declared) const {
    const ListedPage& page = all_.front();
    const double bytes = static_cast<double>(page.format.size()) * static_cast<double>(page.height) *
                         static_cast<double>(page.width) * static_cast<double>(declared);
    if (declared > 1 && !page.packed && bytes <= static_cast<double>(source_.size()))
      source_.fail("TIFF", fmt::format("{} says that it has {} pages, but it lists 1", who, declared),
                   "save it as BigTIFF; --page 0 reads the first page");
  }

  std::optional<FileAxes> by_imagej() const {
    if (!whole_) return std::nullopt;
    if (pages() == 1) {  // the text may be left of a stack of which this was a page
      check_unlisted("ImageJ", text_.pages);
      return FileAxes{};
    }
    if (!text_.contradiction.empty()) refuse(text_.contradiction);
    if (text_.pages != pages())
      refuse(fmt::format("ImageJ says that it has {} pages, but it has {}", text_.pages, pages()));
    return text_.images.front().axes;
  }

  std::optional<FileAxes> by_ome() {
    if (whole_ && !text_.contradiction.empty()) refuse(text_.contradiction);
    if (text_.images.empty()) return std::nullopt;
    std::vector<std::vector<std::size_t>> found;
    for (const TiffImage& image : text_.images) found.push_back(listed(image));
    if (whole_ && found.size() > 1) refuse_images(found);
    for (std::size_t k = 0; k < found.size(); ++k) {
      std::vector<std::size_t> in_order = found[k];
      std::sort(in_order.begin(), in_order.end());
      if (!whole_ && in_order != plan_.pages) continue;
      if (whole_ && found[k].empty())
        refuse(fmt::format("OME says that it has {} pages, but it has {}", product_of(text_.images[k].axes), pages()));
      plan_.pages = found[k];
      return text_.images[k].axes;
    }
    return std::nullopt;
  }

  // Where the pages of an image stand in the list; empty when one is not there.
  std::vector<std::size_t> listed(const TiffImage& image) const {
    std::vector<std::size_t> found;
    for (const i64 place : image.places) {
      const auto at = std::lower_bound(all_.begin(), all_.end(), place, [](const ListedPage& page, i64 directory) {
        return page.directory < directory;
      });
      if (at == all_.end() || at->directory != place) return {};
      found.push_back(static_cast<std::size_t>(at - all_.begin()));
    }
    return found;
  }

  [[noreturn]] void refuse_images(const std::vector<std::vector<std::size_t>>& found) const {
    std::vector<std::string> names;
    std::string example = "0";
    for (std::size_t k = 0; k < found.size() && names.size() < 8; ++k) {
      if (found[k].empty()) continue;
      const auto [low, high] = std::minmax_element(found[k].begin(), found[k].end());
      names.push_back(fmt::format("{} ({})", base::quoted(text_.images[k].name), range_of(*low, *high)));
      example = *low == *high ? fmt::format("{}", *low) : fmt::format("{}-{}", *low, *high);
    }
    refuse(fmt::format("it holds {} images: {}", found.size(), base::list_of(names, "and")),
           fmt::format("--page {} reads one of them", example));
  }

  // tifffile's shape ends with that of a page. Of the page rows, columns and samples, where it has several.
  struct Shaped {
    FileAxes pages, page;
  };
  std::optional<Shaped> shaped() const {
    if (text_.kind != TiffText::Kind::shaped || text_.images.empty()) return std::nullopt;
    const FileAxes& shape = text_.images.front().axes;
    const auto split = [&](const std::vector<i64>& page) -> std::optional<Shaped> {
      if (shape.size() < page.size()) return std::nullopt;
      const auto at = shape.end() - static_cast<std::ptrdiff_t>(page.size());
      if (!std::equal(page.begin(), page.end(), at, [](i64 extent, const FileAxis& a) { return a.extent == extent; }))
        return std::nullopt;
      return Shaped{{shape.begin(), at}, {at, shape.end()}};
    };
    if (samples_ == 1) {
      std::optional<Shaped> parts = split({height_, width_});
      return parts ? parts : split({height_, width_, 1});
    }
    std::optional<Shaped> together = split({height_, width_, samples_}), planes = split({samples_, height_, width_});
    if (planes && (planar_ || !together)) {
      std::rotate(planes->page.begin(), planes->page.begin() + 1, planes->page.end());
      return planes;
    }
    return together;
  }

  // The text gives samples another meaning than that of channels or colours.
  bool means_dimension(const Shaped& parts) const {
    const auto is_channel = [](const FileAxis& a) { return a.letter == 'c' || a.letter == 's'; };
    const FileAxes& page = parts.page;
    return samples_ > 1 && page.size() == 3 && text_.images.front().named &&
           (!is_channel(page[2]) || is_channel(page[0]) || is_channel(page[1]));
  }

  std::optional<FileAxes> by_shape() {
    if (pages() > 1) check_series();
    std::optional<Shaped> parts = shaped();
    const i64 declared = parts ? product_of(parts->pages) : 0;
    if (declared != pages()) {
      if (!whole_ && parts && means_dimension(*parts)) {
        take_page(*parts);
        return pages() == 1 ? FileAxes{} : FileAxes{{'q', pages()}};
      }
      if (!whole_) return std::nullopt;
      if (pages() > 1)
        refuse(fmt::format("its description says that it is {}, but it has {} pages of {}x{}",
                           described(text_.images.front().axes), pages(), height_, width_));
      if (parts) check_unlisted("its description", declared);
      return std::nullopt;  // left by a program that changed the image
    }
    take_page(*parts);
    std::erase_if(parts->pages, [](const FileAxis& a) { return a.extent == 1; });
    return parts->pages;
  }

  void take_page(const Shaped& parts) {
    const FileAxes& page = parts.page;
    if (means_dimension(parts)) {
      sample_letter_ = page[2].letter;
      samples_are_dimension_ = true;
      page_letters_ = letters_of(page).substr(0, 2);
      return;
    }
    if (samples_ > 1 && page[2].letter == 'c') sample_letter_ = 'c';
    if (page[0].letter != 'q' && page[1].letter != 'q') page_letters_ = letters_of(page).substr(0, 2);
  }

  static std::string described(const FileAxes& axes) {
    Shape shape;
    for (const FileAxis& a : axes) shape.push_back(a.extent);
    return to_string(shape);
  }

  // Several arrays in one file, each with a text of its own.
  void check_series() const {
    std::vector<std::string> series;
    std::size_t begin = plan_.pages.front(), last = begin;
    std::string example = fmt::format("{}", begin);
    const auto end = [&](std::size_t next) {
      last = next - 1;
      if (series.empty() && last > begin) example = fmt::format("{}-{}", begin, last);
      series.push_back(fmt::format("{} of {}x{}", range_of(begin, last), all_[begin].height, all_[begin].width));
      begin = next;
    };
    for (const std::size_t k : plan_.pages)
      if (k != begin && all_[k].text.starts_with("{\"shape\":") && series.size() < 8) end(k);
    if (series.empty()) return;
    end(plan_.pages.back() + 1);
    refuse(fmt::format("it holds several images: {}", base::list_of(series, "and")),
           fmt::format("--page {} reads the first of them", example));
  }

  // ---- what somebody says --------------------------------------------------------------------------------------

  FileAxes by_hand() {
    const FileAxes given = parse_axes(source_.options.axes);
    FileAxes axes = given;
    const std::optional<Shaped> told = shaped();
    const bool told_dimension = told && means_dimension(*told);
    if (told_dimension && fits_with_samples(axes)) return axes;
    // Samples that stand together may be named, behind columns or wherever their letter is.
    for (std::size_t k = given.size(); k-- > 0 && samples_ > 1;) {
      if ((given[k].letter != 'c' && given[k].letter != 's') || (given[k].extent != 0 && given[k].extent != samples_))
        continue;
      FileAxes rest = given;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
      if (fits(rest)) {
        sample_letter_ = given[k].letter;
        return rest;
      }
    }
    // A letter for which no pages are left is that of planes.
    if (fits(axes)) {
      FileAxes planes = given;
      const bool idle = !std::equal(axes.begin(), axes.end(), given.begin(), [](const FileAxis& a, const FileAxis& b) {
        return a.extent == b.extent || a.extent > 1;
      });
      return planar_ && idle && fits_with_samples(planes) ? planes : axes;
    }
    if (planar_ && fits_with_samples(axes)) return axes;
    refuse(fmt::format("--axes {} does not fit its {} page{} of {}x{}{}", base::quoted(source_.options.axes), pages(),
                       pages() == 1 ? "" : "s", height_, width_,
                       samples_ > 1 ? fmt::format(", {} samples each", samples_) : ""));
  }

  // Leaves the axes of the pages, all their extents known. `any`: rows and columns may be channels.
  bool fits(FileAxes& axes, bool any = false) {
    if (axes.size() < 2) return false;
    const FileAxis column = axes.back(), row = axes[axes.size() - 2];
    if (!any && (std::string_view("cs").find(row.letter) != std::string_view::npos ||
                 std::string_view("cs").find(column.letter) != std::string_view::npos))
      return false;
    if ((row.extent != 0 && row.extent != height_) || (column.extent != 0 && column.extent != width_)) return false;
    FileAxes of_pages(axes.begin(), axes.end() - 2);
    auto unknown = std::count_if(of_pages.begin(), of_pages.end(), [](const FileAxis& a) { return a.extent == 0; });
    // As many as the text knows: its extents under other names.
    const FileAxes told = whole_ && !text_.images.empty() ? told_axes() : FileAxes{};
    if (unknown > 1 && told.size() == of_pages.size() && product_of(told) == pages()) {
      for (std::size_t k = 0; k < told.size(); ++k)
        if (of_pages[k].extent == 0) of_pages[k].extent = told[k].extent;
      unknown = 0;
    }
    const i64 known = product_of(of_pages);
    if (unknown == 1 && pages() % known == 0) {
      for (FileAxis& a : of_pages)
        if (a.extent == 0) a.extent = pages() / known;
    } else if (unknown > 0) {
      return false;
    }
    if (product_of(of_pages) != pages()) return false;
    page_letters_ = {row.letter, column.letter};
    axes = std::move(of_pages);
    return true;
  }

  // The same where samples are a dimension with a letter of its own: planes stand before rows, others behind columns.
  bool fits_with_samples(FileAxes& axes) {
    if (samples_ == 1 || axes.size() < 3) return false;
    const auto at = axes.end() - (planar_ ? 3 : 1);
    const FileAxis samples = *at;
    if (samples.letter == 'c' || samples.letter == 's' || (samples.extent != 0 && samples.extent != samples_))
      return false;
    FileAxes rest = axes;
    rest.erase(rest.begin() + (at - axes.begin()));
    if (!fits(rest, true)) return false;
    axes = std::move(rest);
    sample_letter_ = samples.letter;
    samples_are_dimension_ = true;
    return true;
  }

  FileAxes told_axes() const {
    FileAxes axes = text_.images.front().axes;
    if (text_.kind == TiffText::Kind::shaped) {
      while (!axes.empty() && product_of(axes) > pages()) axes.pop_back();
    }
    return axes;
  }

  void finish(const std::optional<FileAxes>& axes) {
    if (!axes) {
      if (pages() > 1) plan_.leading = {pages()};
    } else {
      for (const FileAxis& a : *axes) plan_.leading.push_back(a.extent);
      plan_.letters = letters_of(*axes) + page_letters_;
      if (samples_are_dimension_) plan_.samples_at = plan_.letters.size() - (planar_ ? 2 : 0);
      if (samples_ > 1) plan_.letters.insert(plan_.samples_at.value_or(plan_.letters.size()), 1, sample_letter_);
    }
    if (text_.steps.empty()) return;
    const std::string letters = axes ? plan_.letters : std::string(plan_.leading.size(), 'q') + "yx";
    for (std::size_t d = 0; d < plan_.leading.size() + (plan_.samples_at ? 3 : 2); ++d) {
      const auto step = text_.steps.find(letters[d]);
      plan_.steps.push_back(step == text_.steps.end() ? Step{} : step->second);
    }
    if (std::all_of(plan_.steps.begin(), plan_.steps.end(), [](const Step& s) { return s.size == 0; }))
      plan_.steps.clear();
  }

  const Source& source_;
  const std::vector<ListedPage>& all_;
  TiffText text_;
  PagePlan plan_;
  bool whole_ = true;
  i64 samples_ = 1, height_ = 0, width_ = 0;
  bool planar_ = false;                 // samples stand in planes
  bool samples_are_dimension_ = false;  // which the letter names
  std::string page_letters_ = "yx";
  char sample_letter_ = 's';
};

std::string usual_axes(int rank) {
  constexpr std::string_view axes = "qqqqtzyx";
  return std::string(axes.substr(axes.size() - std::min(axes.size(), static_cast<std::size_t>(rank))));
}

bool is_ome_name(const std::string& path) {
  const std::string name = base::to_lower(path);
  return name.ends_with(".ome.tif") || name.ends_with(".ome.tiff");
}

// Behind rows and columns: the letter of samples that stand together, or 0.
char samples_letter(const std::string& layout) {
  return !layout.empty() && (layout.back() == 'c' || layout.back() == 's') ? layout.back() : '\0';
}

// The header's order where pages can have it: rows and columns last.
std::string layout_of_pages(bool ome, const ImageHeader& header, const Array& array) {
  const bool bands = array.format().is_struct() && is_band(array.format().fields[0].name);
  const std::string& axes = header.axes;
  const std::string rows = axes.substr(axes.size() - 2);
  std::string layout = layout_for(header, array);
  const char together = samples_letter(layout);
  const std::string points = together != 0 ? layout.substr(0, layout.size() - 1) : layout;
  if (points.size() >= 2 && points.ends_with(rows)) return layout;
  // Bands that nobody ordered stand in a point each, but OME's have pages of their own.
  const bool apart = ome ? bands : layout.find('c') != std::string::npos;
  layout = axes.substr(0, axes.size() - 2) + (apart ? "c" : "") + rows;
  return apart || channels_of(array) == 1 ? layout : layout + "s";
}

}  // namespace

namespace {

std::string letters_for(bool ome, const ImageHeader& given, const Format& format, int rank) {
  if (rank < 2) return usual_axes(rank);
  ImageHeader header = given;
  if (header.axes.size() != static_cast<std::size_t>(rank)) {
    header.axes = usual_axes(rank);
    header.layout.clear();
  }
  return layout_of_pages(ome, header, Array(format, Shape(static_cast<std::size_t>(rank), 1)));
}

}  // namespace

std::string tiff_letters(const ImageHeader& header, const Format& format, int rank) {
  return letters_for(false, header, format, rank);
}

std::string ome_tiff_letters(const ImageHeader& header, const Format& format, int rank) {
  return letters_for(true, header, format, rank);
}

PagePlan plan_pages(const Source& source, const std::vector<ListedPage>& all) {
  return Planner(source, all).plan();
}

Image arrange_pages(const Array& pages, const PagePlan& plan, ImageHeader header) {
  if (plan.letters.empty()) {
    header.steps = plan.steps;
    return {pages, std::move(header)};
  }
  if (!plan.samples_at) return arrange(pages, plan.letters, plan.steps, std::move(header));
  const Array apart = as_channels(pages);
  Shape shape = apart.shape();
  std::vector<i64> strides = apart.strides();
  const auto to_place = [&](std::vector<i64>& values) {
    std::rotate(values.begin() + static_cast<std::ptrdiff_t>(*plan.samples_at), values.end() - 1, values.end());
  };
  to_place(shape);
  to_place(strides);
  Array view = Array::share(apart.owner(), apart.data(), apart.format(), shape, strides);
  if (!view.contiguous()) view = view.clone();
  return arrange(view, plan.letters, plan.steps, std::move(header));
}

Array pages_for(const std::string& path, const Array& array, const WriteOptions& options, Samples& s) {
  Image image{array, header_or_axes(options.header, array.shape())};
  s.named = !image.header.axes.empty();
  if (!s.named) image.header.axes = usual_axes(array.rank());
  std::string layout = layout_of_pages(is_ome_name(path), image.header, array);
  for (std::size_t d = 0; d < image.header.steps.size(); ++d)
    s.steps.emplace(image.header.axes[d], image.header.steps[d]);

  const char together = samples_letter(layout);
  const std::string points = together != 0 ? layout.substr(0, layout.size() - 1) : layout;
  Array out = array;
  Shape extents = array.shape();
  if (points != image.header.axes) {
    out = in_layout(image, layout, image.header.samples);
    extents = out.shape();
    s.channels = together != 0 ? static_cast<int>(extents.back()) : 1;
    if (together != 0) extents.pop_back();
    s.names.clear();
    const Format pixels = s.channels == channels_of(array) && array.format().is_struct()
                              ? array.format()
                              : pixel_format(ElementType::u8, s.channels);
    for (const Format::Field& f : pixels.fields) s.names.push_back(f.name);
  }
  for (std::size_t d = 0; d + 2 < extents.size(); ++d) s.page_axes.push_back({points[d], extents[d]});
  s.page_letters = points.substr(points.size() - 2);
  s.sample_letter = together;
  return out;
}

}  // namespace tessera::io
