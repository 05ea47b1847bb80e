// Loop nests as text of any dialect of the C family (dialect.hpp).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "emit/nest/dialect.hpp"
#include "emit/nest/needs.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::emit {

class NestPrinter {
 public:
  explicit NestPrinter(const Dialect& dialect) : dialect_(dialect) {}

  void statements(const std::vector<ir::nest::Statement>&, int depth, std::string& out);
  // A type of a declaration, address space included.
  std::string spelled(const ir::nest::Type&);
  // A table as a constant: its definition, and the comment above it.
  std::string table(const ir::Table&, std::size_t index);

  const Needs& needs() const { return needs_; }
  // Names of the tables that have been read so far.
  const std::set<std::string, std::less<>>& tables_read() const { return tables_read_; }

 private:
  using Node = ir::nest::Node;
  using Value = ir::nest::Value;

  void statement(const ir::nest::Statement&, int depth, std::string& out);
  void store(const ir::nest::Statement&, const std::string& indent, std::string& out);
  std::string text(const Value&);
  std::string list(const std::vector<Value>&);
  std::string integer(const Node&) const;
  std::string number(double, ir::nest::Lane) const;
  std::string conversion(const Node&);
  std::string called(const Node&);
  std::string fused(const Node&);
  std::string operation(const Node&);
  std::string comparison(const Node&, std::vector<std::string> operands);
  std::string choice(const Node&, const std::vector<std::string>& operands);
  std::string extreme(const Node&, bool lesser, std::vector<std::string> operands);
  std::string arithmetic(const Node&, const std::vector<std::string>& operands) const;
  bool computes(const ir::nest::Type&) const;  // as floats do
  bool decides(const Value&, bool lesser) const;

  // Of vectors: vectors.cpp.
  std::string broadcast(const Node&);
  std::string interleave(const Node&);
  std::string gather(const Node&);
  std::string load(const Node&);
  std::string field_words(const Node&);

  const Dialect& dialect_;
  Needs needs_;
  std::set<std::string, std::less<>> tables_read_;
};

std::string table_name(std::size_t index);

}  // namespace tessera::emit
