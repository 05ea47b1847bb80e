// Statements of loop nests in any language of the C family; values and types are the dialect's.
#pragma once

#include <string>
#include <vector>

#include "ir/nest/nest.hpp"

namespace tessera::emit {

std::string_view infix(ir::Op);                // "+" ... "!="; "" of operations that are no infix
bool compares(ir::Op);                         // lt le eq ne
bool wraps(ir::Op);                            // of integers: what overflows
ir::nest::Lane unsigned_lane(ir::nest::Lane);  // of the same width

class Statements {
 protected:
  ~Statements() = default;
  void statements(const std::vector<ir::nest::Statement>&, int depth, std::string& out);

  virtual std::string text(const ir::nest::Value&) = 0;
  virtual std::string spelled(const ir::nest::Type&) const = 0;
  virtual void store(const ir::nest::Statement&, const std::string& indent, std::string& out) = 0;
  virtual void note(const ir::nest::Type&) {}          // a type that is used
  virtual void called(const std::string& /*name*/) {}  // a statement that calls

 private:
  void statement(const ir::nest::Statement&, int depth, std::string& out);
};

}  // namespace tessera::emit
