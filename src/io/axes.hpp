// What the dimensions of a file are called, and how an array of them becomes an image of points.
//
// A file has its dimensions in an order of its own: an OME-TIFF may go through time before it goes through channels, a
// .npy array may have channels first or last. Arrays of this project have time, slices, rows, columns, slowest first,
// and channels as fields of a struct, so that a filter never mixes them. arrange() goes there, in_layout() back.
//
//   letter   dimension
//   t z y x  time, slices, rows, columns
//   c        channels: each is filtered by itself
//   s        samples of a colour: grey and alpha, red green blue, these and alpha
//   others   a dimension of another meaning, filtered as those of space are
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/image.hpp"
#include "io/samples.hpp"

namespace tessera::io {

// "tzyxc", "z4c2yx": letters, each with its extent or without. Throws Error(argument).
FileAxes parse_axes(std::string_view text);
std::string letters_of(const FileAxes&);
// Of an array whose dimensions nobody named: "zyx" of three; q before time.
std::string usual_letters(std::size_t rank);
i64 product_of(const FileAxes&);  // at most 2^62

// `array` as the file has it, with a letter for each dimension in `letters`; the elements may be structs, whose fields
// may have a letter at the end, else they are s. `steps`: of each dimension, or empty. The header says what became of
// it; what it held before stays.
Image arrange(const Array& array, const std::string& letters, const std::vector<Step>& steps, ImageHeader header = {});
// Whether that copies the elements.
bool arranging_copies(const std::string& letters);
// The image as scalars with the dimensions of `layout`, letters of header.axes with c and s among them. `samples`: the
// extent of s.
Array in_layout(const Image& image, const std::string& layout, int samples);
// The header's layout, where it can be that of this array.
std::string layout_for(const ImageHeader&, const Array&);

// What an option calls the dimensions of such an array of the file `name`. Throws Error(argument) when the numbers of
// dimensions or their extents differ.
FileAxes axes_of_option(const std::string& option, const std::string& name, const Format&, const Shape&);
// Names what an option calls the dimensions of an array that is read already. Throws Error(argument) when the numbers
// of dimensions differ. `name`: of the file.
Image rename_axes(Image image, const std::string& option, const std::string& name);

}  // namespace tessera::io
