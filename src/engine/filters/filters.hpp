// Filters by name, compiled: the program, and where its result lies in the image.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/filters.hpp"

namespace tessera::engine {

struct Filter {
  Program program;                 // the image, and a mask where there is one, in; one array out
  std::string text;                // the driver: imports the filter, declares the input, converts the result
  std::vector<i64> before, after;  // points that a window reaches, per dimension
  Extent extent = Extent::same;
  std::vector<Border> borders;  // per dimension, by which images are continued
  // Of the elements that the program takes, where a border has a constant that those of the image cannot hold.
  std::optional<ElementType> widened = {};

  // What the program is run on: the image in the type that the program takes, for a full extent continued by its
  // border, and so its mask, where there is one.
  std::vector<Array> inputs(const Array& image, const Array& mask) const;
  // The same for a region of the result, as far as that reads it, of images that may be parts of a whole. Throws
  // Error(argument) as Program::reads does, and where a part has not what `reads` says; what needs no conversion and no
  // border is given on as it is, and looked at by the run.
  std::vector<InputWindow> windows(const InputWindow& image, const Array& mask, const Region&, const RunOptions&) const;
  // What a point of the result depends on, of the image and its mask.
  Locality locality() const;
  // The region of an image of this shape, and of its mask, that a region of the result is computed from.
  Region reads(const Shape& image, const Region&, const RunOptions&) const;
  // The image, or its mask, continued by the border where the extent is full.
  Array input(const Array& image) const;
  Shape input_shape(const Shape& image) const;
  // The same for a region of what the program takes: what of the image it is made of, one point at least, and the
  // region made of a part that has that.
  Region input_reads(const Region&, const Shape& image) const;
  Array input_part(const InputWindow& image, const Region&) const;
  // The place of the result in the image: [begin, end), which may lie outside. Throws Error(argument) when a valid
  // extent leaves nothing.
  Region place(const Shape& image) const;

 private:
  // A region of what the program takes, of the image or its mask, in that type.
  Array part(const InputWindow& image, const Region&, std::optional<ElementType> type) const;
  std::vector<i64> margin() const;  // by which an image is continued, before and behind
};

// Throws Error(argument) for names and options that cannot be used. Kept in memory. Of the mask only the type counts;
// mask_for is the mask of every point of an image: one of fewer dimensions holds for all that lie before them.
std::shared_ptr<const Filter> make_filter(const FilterRequest&, const Format&, int rank);
Array mask_for(const Array& mask, const Shape& image);

// One of filters(); throws Error(argument) for an unknown name.
const FilterInfo& filter_info(const std::string& name);
// Derivatives, measures and differences: an alpha beside them has no part in it.
bool is_measure(const FilterInfo&);
// What a point becomes hangs on how often values occur in the image; nothing is read beyond it.
bool counts_values(const FilterInfo&);
// Does the result hold values of the image, or differences of two, so that nothing is rounded?
bool chooses(const FilterInfo&);

}  // namespace tessera::engine
