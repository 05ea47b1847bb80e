// An image that lies in a file for as long as somebody has it: what a run keeps between its passes. The file has no
// name, or one by which a later run finds it.
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
  struct Kept {
    std::string path;
  };
  // Under the partial name of this path: with what stands there, or elements 0. The file stays.
  Scratch(const Kept&, const Format&, const Shape&);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const Shape& shape() const { return shape_; }
  const std::string& path() const { return path_; }  // of one that stays; "" without a name
  // Of a region of the whole, which an array of its extents has. Thread-safe, but for regions in common. Throw
  // Error(io): the disk is full.
  void read(const Region&, const Array& to) const;
  void write(const Region&, const Array& from);

 private:
  struct File;
  Shape shape_;
  std::string path_;
  std::unique_ptr<File> file_;
};

}  // namespace tessera::io
