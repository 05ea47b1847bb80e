// One Fourier transform of a program between arrays of the host (rewrite/parts.hpp), with engine::Fft.
//
//   real to pairs   the half that a real transform gives, then the other half, which is its conjugate, backwards
//   pairs to real   the part of the spectrum that is the transform of a real image, half of it, then a real inverse:
//   the real
//                   part of the inverse of any spectrum is the inverse of that part
//   else            complex numbers throughout
//
// Up to three dimensions that are the last ones go at once; others one by one, through an array in which theirs is the
// last.
#pragma once

#include <memory>
#include <string>

#include "ir/host/program.hpp"
#include "tessera/program.hpp"

namespace tessera::engine {

class HostTransform {
 public:
  virtual ~HostTransform() = default;
  // Arrays of the shape and the strides that it was made for. Thread-safe; the same bits for any number of threads.
  virtual void run(const Array& from, const Array& to, int threads) const = 0;
};

// Whether the elements lie as transforms want them: side by side, rows whole elements apart.
bool lies_well(const Array&);

// Both lie well. Plans, makes tables and loads code. Throws what Fft throws.
std::unique_ptr<HostTransform> host_transform(const ir::host::Transform&, const Array& from, const Array& to,
                                              const std::string& compiler);

}  // namespace tessera::engine
