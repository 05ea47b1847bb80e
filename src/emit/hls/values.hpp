// The signals of a netlist as statements of HLS C++: one constant of exact width each.
#pragma once

#include <string>
#include <vector>

#include "hardware/netlist/netlist.hpp"

namespace tessera::emit {

// Of the positions that a netlist asks for: `at0_row`, `at0_word`, `at0_there` are those of words `lag` ticks back.
class HlsPositions {
 public:
  std::size_t index_of(hardware::Lag);  // enters it
  const std::vector<hardware::Lag>& lags() const { return lags_; }

 private:
  std::vector<hardware::Lag> lags_;
};

// "ap_uint<8>"
std::string hls_type(hardware::Bits);

class HlsValues {
 public:
  explicit HlsValues(const hardware::Netlist&);

  // How a value is written where its bits are used: its name, or a number; of a float, the bits of its name.
  const std::string& text(hardware::NodeId n) const { return texts_[n.id]; }
  const std::string& name(hardware::NodeId n) const { return names_[n.id]; }
  // Names of a value of a frame, of a table.
  std::string scalar(std::size_t k) const;
  std::string table(std::size_t k) const;
  // The tables that are read, as constants.
  std::string tables() const;
  std::string type(hardware::NodeId) const;
  bool has_statement(hardware::NodeId) const;
  // What it is; of a delay, an input: nothing, for who keeps the state knows.
  std::string expression(hardware::NodeId);
  const HlsPositions& positions() const { return positions_; }

 private:
  std::string cast(hardware::Bits to, hardware::NodeId) const;
  std::string mixed(hardware::NodeId a, std::string_view op, hardware::NodeId b) const;
  std::string position(const hardware::Node&);
  std::string widened_shift(const hardware::Node&, std::string_view op, const std::string& count) const;
  std::string float_operand(hardware::NodeId, ElementType) const;
  std::string float_expression(const hardware::Node&) const;

  const hardware::Netlist& netlist_;
  std::vector<std::string> texts_, names_;
  HlsPositions positions_;
};

// "float", "double", "int" of what computes with elements of that type.
std::string_view hls_number(ElementType);

// Letters, digits and _ of a name, in C's sense and free in it.
std::string hls_name(const std::string&);

}  // namespace tessera::emit
