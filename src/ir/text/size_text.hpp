// Extents as infix text, with a hook for parts that grow long: shared operands can make the text exponential in the
// number of nodes.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ir/graph.hpp"

namespace tessera::ir {

class SizePrinter {
 public:
  // `parameter` names a parameter by index; `shorten` gets every compound part longer than `limit` characters and
  // returns what to write in its place (an atom).
  SizePrinter(const Graph& g, std::function<std::string(std::size_t)> parameter, std::size_t limit,
              std::function<std::string(const std::string&)> shorten)
      : g_(g), parameter_(std::move(parameter)), limit_(limit), shorten_(std::move(shorten)) {}

  std::string text(SizeId);

 private:
  // Binding strength: 1 a sum, 2 a product, 3 an atom.
  struct Part {
    std::string text;
    int strength = 3;
  };
  Part part(const SizeNode&) const;
  std::string operand(SizeId, int least) const;

  const Graph& g_;
  std::function<std::string(std::size_t)> parameter_;
  std::size_t limit_;
  std::function<std::string(const std::string&)> shorten_;
  std::map<SizeId, Part> parts_;
};

}  // namespace tessera::ir
