// The prices that plans are made with on this machine: those that `tessera tune` stored, else the ones built in.
//
// A file for each target and device lies beside the cache of compiled code, "prices-cpu-NAME.json". It is read once in
// a process. What cannot be used is ignored with a note, never an error: prices decide how fast a program runs, not
// what it computes. $TESSERA_PRICES names another file to take for all devices; set to an empty string it means the
// prices that are built in.
#pragma once

#include <string>

#include "machine/price_sheet.hpp"

namespace tessera::engine {

struct PricesInUse {
  machine::Prices prices;
  std::string file;      // where they are, or would be stored; "" where nothing can be
  std::string measured;  // the day; "" for prices built in
  std::string note;      // why the file is ignored; "" where it is not
};

// Thread-safe. `device` is the name by which `tessera devices` lists it.
PricesInUse prices_in_use(const std::string& target, const std::string& device);

// The file that prices of the device are stored in. Throws Error(io) where there is no folder for it, or it
// cannot be written.
std::string place_of_prices(const std::string& target, const std::string& device);
// Stores them for sheet.target and sheet.device, and uses them from now on in this process. Returns the file's path.
// Other processes see the old file or the new one. Throws Error(io).
std::string store_prices(const machine::PriceSheet& sheet);
// Back to those that are built in; false where there was no file.
bool forget_prices(const std::string& target, const std::string& device);

}  // namespace tessera::engine
