// An image that lies in a file without a name, for as long as somebody has it: what a run keeps between its passes.
#pragma once

#include <memory>
#include <string>

#include "tessera/array.hpp"
#include "tessera/options.hpp"

namespace tessera::io {

class Scratch {
 public:
  // In the folder of this file. Elements are 0. Throws Error(io) where there is no room for a name.
  Scratch(const std::string& beside, const Format&, const Shape&);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const Shape& shape() const { return shape_; }
  // Of a region of the whole, which an array of its extents has. Thread-safe, but for regions in common. Throw
  // Error(io): the disk is full.
  void read(const Region&, const Array& to) const;
  void write(const Region&, const Array& from);

 private:
  struct File;
  Shape shape_;
  std::unique_ptr<File> file_;
};

}  // namespace tessera::io
