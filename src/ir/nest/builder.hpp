// Writing statements in order: a cursor into nested blocks, and fresh names.
#pragma once

#include <string>
#include <vector>

#include "ir/nest/nest.hpp"

namespace tessera::ir::nest {

constexpr Type index_type{};
constexpr Type flag_type{Lane::i32, 1, false};
constexpr Type bytes_pointer{Lane::u8, 1, true};

// A helper of the emitted code that gives an i64.
inline Value call_i64(const std::string& name, std::vector<Value> args) {
  return call(name, index_type, std::move(args));
}

class Builder {
 public:
  explicit Builder(std::vector<Statement>& body) { blocks_.push_back(&body); }

  std::string fresh(const std::string& stem) { return stem + "_" + std::to_string(++count_); }

  // let name = v; returns the variable. Integers and variables are returned as they are.
  Value let(const std::string& stem, const Value& v) {
    if (v->kind == Kind::integer || v->kind == Kind::variable) return v;
    return declare(StatementKind::let, fresh(stem), v);
  }
  Value var(const std::string& stem, const Value& v) { return declare(StatementKind::var, fresh(stem), v); }
  // T name[count]; elements are read by `load` and written by assign_element.
  Value array(const std::string& stem, Type type, i64 count) {
    Statement s;
    s.kind = StatementKind::var;
    s.name = fresh(stem);
    s.type = type;
    s.i = count;
    put(s);
    return variable(s.name, type);
  }
  void assign(const Value& variable, const Value& v) { put(statement(StatementKind::assign, variable->name, {v})); }
  void assign_element(const Value& array, const Value& index, const Value& v) {
    put(statement(StatementKind::assign, array->name, {v, index}));
  }
  void store(const Value& pointer, const Value& index, const Value& v, bool streaming = false) {
    Statement s = statement(StatementKind::store, "", {pointer, index, v});
    s.streaming = streaming;
    put(s);
  }
  void call(const std::string& name, std::vector<Value> args) {
    put(statement(StatementKind::call, name, std::move(args)));
  }
  void comment(const std::string& text) { put(statement(StatementKind::comment, text, {})); }

  // for (i64 name = lo; name < hi; name += step) { body(name) }
  template <class Body>
  void loop(const std::string& stem, const Value& lo, const Value& hi, const Value& step, Body body) {
    Statement s = statement(StatementKind::loop, fresh(stem), {lo, hi, step});
    Value index = variable(s.name, {});
    blocks_.back()->push_back(std::move(s));
    inside(blocks_.back()->back().body, [&] { body(index); });
  }
  // The same, `times` turns in one where the compiler can.
  template <class Body>
  void unrolled_loop(const std::string& stem, const Value& lo, const Value& hi, i64 times, Body body) {
    std::vector<Statement>& block = *blocks_.back();
    const std::size_t at = block.size();
    loop(stem, lo, hi, integer(1), body);
    block[at].i = times;
  }
  // A block that outline_blocks may make a function of that name.
  template <class Body>
  void block(const std::string& name, Body body) {
    blocks_.back()->push_back(statement(StatementKind::block, name, {}));
    inside(blocks_.back()->back().body, body);
  }
  template <class Then>
  void branch(const Value& condition, Then then) {
    blocks_.back()->push_back(statement(StatementKind::branch, "", {condition}));
    inside(blocks_.back()->back().body, then);
  }
  template <class Then, class Else>
  void branch(const Value& condition, Then then, Else otherwise) {
    blocks_.back()->push_back(statement(StatementKind::branch, "", {condition}));
    std::vector<Statement>& block = *blocks_.back();
    std::size_t at = block.size() - 1;
    inside(block[at].body, then);
    inside(block[at].orelse, otherwise);
  }

 private:
  template <class Body>
  void inside(std::vector<Statement>& block, Body body) {
    blocks_.push_back(&block);
    body();
    blocks_.pop_back();
  }
  static Statement statement(StatementKind kind, std::string name, std::vector<Value> values) {
    Statement s;
    s.kind = kind;
    s.name = std::move(name);
    s.values = std::move(values);
    return s;
  }
  Value declare(StatementKind kind, std::string name, const Value& v) {
    Statement s = statement(kind, name, {v});
    s.type = v->type;
    put(s);
    return variable(std::move(name), v->type);
  }
  void put(Statement s) { blocks_.back()->push_back(std::move(s)); }

  std::vector<std::vector<Statement>*> blocks_;
  int count_ = 0;
};

}  // namespace tessera::ir::nest
