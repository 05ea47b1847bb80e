// What a stage reads outside an image. The mode belongs to one use of an image, not to the image.
//
//   mode      pattern around abcdefgh
//   none      no value: the stage is evaluated on its interior only
//   clamp     aaa|abcdefgh|hhh
//   mirror    dcb|abcdefgh|gfe      reflect-101
//   symmetric cba|abcdefgh|hgf
//   wrap      fgh|abcdefgh|abc
//   constant  kkk|abcdefgh|kkk
#pragma once

#include <cstdint>

namespace tessera {

enum class BorderMode : std::uint8_t { none, clamp, mirror, symmetric, wrap, constant };

struct Border {
  BorderMode mode = BorderMode::none;
  double value = 0;  // of constant
  bool operator==(const Border&) const = default;
};

}  // namespace tessera
