// Writing statements in order: a cursor into nested blocks, and fresh names.
#pragma once

#include <string>
#include <vector>

#include "ir/nest.hpp"

namespace tessera::lower {

class Builder {
 public:
  explicit Builder(std::vector<ir::nest::Statement>& body) { blocks_.push_back(&body); }

  std::string fresh(const std::string& stem) { return stem + "_" + std::to_string(++count_); }

  // let name = v; returns the variable. Integers and variables are returned as they are.
  ir::nest::Value let(const std::string& stem, const ir::nest::Value& v) {
    if (v->kind == ir::nest::Kind::integer || v->kind == ir::nest::Kind::variable) return v;
    return declare(ir::nest::StatementKind::let, fresh(stem), v);
  }
  ir::nest::Value var(const std::string& stem, const ir::nest::Value& v) {
    return declare(ir::nest::StatementKind::var, fresh(stem), v);
  }
  // T name[count]; elements are read by `load` and written by assign_element.
  ir::nest::Value array(const std::string& stem, ir::nest::Type type, i64 count) {
    ir::nest::Statement s;
    s.kind = ir::nest::StatementKind::var;
    s.name = fresh(stem);
    s.type = type;
    s.i = count;
    put(s);
    return ir::nest::variable(s.name, type);
  }
  void assign(const ir::nest::Value& variable, const ir::nest::Value& v) {
    put(statement(ir::nest::StatementKind::assign, variable->name, {v}));
  }
  void assign_element(const ir::nest::Value& array, const ir::nest::Value& index, const ir::nest::Value& v) {
    put(statement(ir::nest::StatementKind::assign, array->name, {v, index}));
  }
  void store(const ir::nest::Value& pointer, const ir::nest::Value& index, const ir::nest::Value& v,
             bool streaming = false) {
    ir::nest::Statement s = statement(ir::nest::StatementKind::store, "", {pointer, index, v});
    s.streaming = streaming;
    put(s);
  }
  void call(const std::string& name, std::vector<ir::nest::Value> args) {
    put(statement(ir::nest::StatementKind::call, name, std::move(args)));
  }
  void comment(const std::string& text) { put(statement(ir::nest::StatementKind::comment, text, {})); }

  // for (i64 name = lo; name < hi; name += step) { body(name) }
  template <class Body>
  void loop(const std::string& stem, const ir::nest::Value& lo, const ir::nest::Value& hi, const ir::nest::Value& step,
            Body body) {
    ir::nest::Statement s = statement(ir::nest::StatementKind::loop, fresh(stem), {lo, hi, step});
    ir::nest::Value index = ir::nest::variable(s.name, {});
    blocks_.back()->push_back(std::move(s));
    inside(blocks_.back()->back().body, [&] { body(index); });
  }
  // The same, `times` turns in one where the compiler can.
  template <class Body>
  void unrolled_loop(const std::string& stem, const ir::nest::Value& lo, const ir::nest::Value& hi, i64 times,
                     Body body) {
    std::vector<ir::nest::Statement>& block = *blocks_.back();
    const std::size_t at = block.size();
    loop(stem, lo, hi, ir::nest::integer(1), body);
    block[at].i = times;
  }
  // A block that outline_blocks may make a function of that name.
  template <class Body>
  void block(const std::string& name, Body body) {
    blocks_.back()->push_back(statement(ir::nest::StatementKind::block, name, {}));
    inside(blocks_.back()->back().body, body);
  }
  template <class Then>
  void branch(const ir::nest::Value& condition, Then then) {
    blocks_.back()->push_back(statement(ir::nest::StatementKind::branch, "", {condition}));
    inside(blocks_.back()->back().body, then);
  }
  template <class Then, class Else>
  void branch(const ir::nest::Value& condition, Then then, Else otherwise) {
    blocks_.back()->push_back(statement(ir::nest::StatementKind::branch, "", {condition}));
    std::vector<ir::nest::Statement>& block = *blocks_.back();
    std::size_t at = block.size() - 1;
    inside(block[at].body, then);
    inside(block[at].orelse, otherwise);
  }

 private:
  template <class Body>
  void inside(std::vector<ir::nest::Statement>& block, Body body) {
    blocks_.push_back(&block);
    body();
    blocks_.pop_back();
  }
  static ir::nest::Statement statement(ir::nest::StatementKind kind, std::string name,
                                       std::vector<ir::nest::Value> values) {
    ir::nest::Statement s;
    s.kind = kind;
    s.name = std::move(name);
    s.values = std::move(values);
    return s;
  }
  ir::nest::Value declare(ir::nest::StatementKind kind, std::string name, const ir::nest::Value& v) {
    ir::nest::Statement s = statement(kind, name, {v});
    s.type = v->type;
    put(s);
    return ir::nest::variable(std::move(name), v->type);
  }
  void put(ir::nest::Statement s) { blocks_.back()->push_back(std::move(s)); }

  std::vector<std::vector<ir::nest::Statement>*> blocks_;
  int count_ = 0;
};

}  // namespace tessera::lower
