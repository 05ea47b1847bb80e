// Border modes: what a stage reads outside an image. The map belongs to an edge of the graph (consumer, argument).
//
//   mode      pattern around abcdefgh
//   none      no value: the stage is evaluated on its interior only
//   clamp     aaa|abcdefgh|hhh
//   mirror    dcb|abcdefgh|gfe      reflect-101
//   symmetric cba|abcdefgh|hgf
//   wrap      fgh|abcdefgh|abc
//   constant  kkk|abcdefgh|kkk
#pragma once

#include <string_view>

#include "tessera/array.hpp"

namespace tessera {

enum class BorderMode : std::uint8_t { none, clamp, mirror, symmetric, wrap, constant };

struct Border {
  BorderMode mode = BorderMode::none;
  double value = 0;  // of constant
  bool operator==(const Border&) const = default;
};

std::string_view name_of(BorderMode);  // "none", "clamped", "mirror", "symmetric", "wrap", "constant"

// The index inside [0, n) that stands for i, or -1 where mode constant or none takes no element. n >= 1.
// Right for any i, however far outside, and for n = 1.
i64 map_index(BorderMode mode, i64 i, i64 n);

}  // namespace tessera
