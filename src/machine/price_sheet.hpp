// Prices as text: what `tessera tune` stores, and people read.
//
//   {"format": "tessera prices", "set": "3f0c...", "target": "cpu", "device": "AMD EPYC 9R14", "measured":
//   "2026-11-23",
//    "prices": {"term": 0.0185, ...}}
//
// The set is a digest of all names, units and meanings: a file of another set says nothing about these prices.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "machine/prices.hpp"

namespace tessera::machine {

struct PriceSheet {
  std::string target, device;  // "cpu" and the processor's name, or another target and its device
  std::string measured;        // the day, as 2026-11-23
  Prices prices;
};

std::string price_set();  // 16 hexadecimal digits
std::string to_json(const PriceSheet&);
// Nothing where the text is no sheet of this set: `reason` says why, as the end of a sentence.
std::optional<PriceSheet> price_sheet_of(std::string_view text, std::string& reason);

}  // namespace tessera::machine
