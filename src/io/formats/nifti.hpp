// The header of a NIfTI file, version 1 or 2, apart from what follows of the array: its type and its place in the file.
//
// https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h and nifti2.h. Names are those of the standard. Dimensions
// are counted as there, from the fastest: dim[1] is x, dim[4] is time, dim[0] their number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/header.hpp"

namespace tessera::io {

struct NiftiHeader {
  struct Extension {
    std::int32_t code = 0;
    std::vector<std::byte> content;
  };
  // What a reader of the voxels needs and a writer sets anew.
  int version = 1;
  bool swapped = false;  // the file is big-endian
  bool paired = false;   // voxels are in a file of their own
  std::array<std::int64_t, 8> dim{};
  std::int32_t datatype = 0, bitpix = 0;
  double vox_offset = 0, scl_slope = 1, scl_inter = 0, cal_max = 0, cal_min = 0;
  // What travels with the image.
  std::array<char, 10> data_type{};
  std::array<char, 18> db_name{};
  std::uint8_t dim_info = 0;
  double intent_p1 = 0, intent_p2 = 0, intent_p3 = 0;
  std::int32_t intent_code = 0;
  std::array<double, 8> pixdim{1, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t slice_start = 0, slice_end = 0;
  std::int32_t slice_code = 0, xyzt_units = 0;
  double slice_duration = 0, toffset = 0;
  std::array<char, 80> descrip{};
  std::array<char, 24> aux_file{};
  std::int32_t qform_code = 0, sform_code = 0;
  double quatern_b = 0, quatern_c = 0, quatern_d = 0;
  std::array<double, 3> qoffset{};
  std::array<double, 12> srow{};  // three rows of four
  std::array<char, 16> intent_name{};
  std::vector<Extension> extensions;
};

// Bytes of the fixed part of each version, and of the flag that says whether extensions follow.
inline constexpr std::size_t nifti1_size = 348, nifti2_size = 540, nifti_flag_size = 4;

// 1 or 2 by the signature; 0 when these first bytes of a file (348 or fewer) do not begin a NIfTI file. A version is
// found in a piece that ends before the signature as well, when the piece can be nothing else.
int nifti_version(std::span<const std::byte> start);
// The fixed part, of its version's size; returns a reason when it contradicts itself, else "".
std::string parse_nifti(std::span<const std::byte> fixed, NiftiHeader&);
// As version 1, little-endian: fixed part, flag and extensions, padded to a multiple of 16 bytes. Sets vox_offset.
std::vector<std::byte> print_nifti(NiftiHeader&);

// Distances along the dimensions of an array of this rank, slowest first.
std::vector<Step> nifti_steps(const NiftiHeader&, int rank);
// The converse, for a header that comes from elsewhere.
void set_nifti_steps(NiftiHeader&, const std::vector<Step>&);
// Moves the origin by this many voxels in x, y and z.
void move_nifti_origin(NiftiHeader&, const std::array<double, 3>& voxels);

}  // namespace tessera::io
