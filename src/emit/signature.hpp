// The published entry point of emitted files:
//   void NAME(inputs and scalars in declaration order..., run-time parameters as int..., outputs...)
// on contiguous arrays. What C, CUDA and OpenCL files share of it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace tessera::emit {

// A type as C spells it; half as its bits, so that no compiler has to know the type.
std::string spelling(const Format&);

struct Signature {
  struct Item {
    std::string name, type;
    std::string shape;  // "M x N", or "" of a number
    bool pointer = false, constant = false, parameter = false;
  };
  std::vector<Item> items;  // arguments, parameters, outputs
};

Signature signature_of(const plan::Plan&);
Signature signature_of(const ir::Graph&, const rewrite::Lifted& = {});
// "const float* image, int M, int N, float* output". `array` is what arrays are instead of pointers to their elements.
std::string parameter_list(const Signature&, std::string_view array = {});
// "void NAME(...)".
std::string declaration(const Signature&, const std::string& name);
// For the body of a C file's entry point: tsr_given, the addresses of arguments and outputs, and tsr_sizes, its
// extents.
std::string given_and_sizes(const Signature&);
// The structs of arguments and outputs, each once however many files define it.
std::string struct_types(const ir::Graph&);
// Throws Error(argument) for words of CUDA and OpenCL that a struct or the entry point would be mistaken for.
void check_device_names(const ir::Graph&, const std::string& name, bool cuda);
// A line an argument, for a comment.
std::string shapes_comment(const Signature&);

// Extents as declarations of constants, each once. The text uses the variable that `parameters` names, tsr_floor_div,
// tsr_min and tsr_max.
class Extents {
 public:
  Extents(const ir::Graph& graph, std::string& out, std::string parameters = "N", std::string prefix = "n")
      : graph_(graph), out_(out), parameters_(std::move(parameters)), prefix_(std::move(prefix)) {}
  std::string operator()(ir::SizeId);
  // "n0 < 1 || n1 < 1 || n2 != n3" of all extents that the caller may have chosen too small, and of what has to hold of
  // them besides; "" when there is nothing.
  std::string none_left();

 private:
  const ir::Graph& graph_;
  std::string& out_;
  std::string parameters_, prefix_;
  std::map<ir::SizeId, std::string> names_;
};

}  // namespace tessera::emit
