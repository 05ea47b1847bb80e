// The names of methods; see choice.hpp.
#include "rewrite/sums/choice.hpp"

namespace tessera::rewrite {

const char* name_of(Method method) {
  switch (method) {
    case Method::automatic:
      return "auto";
    case Method::direct:
      return "direct";
    case Method::separable:
      return "separable";
    case Method::low_rank:
      return "low-rank";
    case Method::transform:
      return "transform";
    case Method::whole:
      return "whole";
    case Method::matrix:
      return "matrix";
  }
  return "";
}

}  // namespace tessera::rewrite
