// Free names, canonical names and the functions made of blocks; see outline.hpp.
#include "lower/outline.hpp"

#include <unordered_map>
#include <unordered_set>

namespace tessera::lower {

using ir::nest::Function;
using ir::nest::Kind;
using ir::nest::Module;
using ir::nest::Statement;
using ir::nest::StatementKind;
using ir::nest::Type;
using ir::nest::Value;

namespace {

std::size_t count(const std::vector<Statement>& list) {
  std::size_t n = list.size();
  for (const Statement& s : list) n += count(s.body) + count(s.orelse);
  return n;
}

// The names that statements use without declaring them, in the order of their first use.
class FreeNames {
 public:
  explicit FreeNames(const std::vector<Statement>& list) { block(list); }
  std::vector<std::pair<std::string, Type>> found;

 private:
  void block(const std::vector<Statement>& list) {
    for (const Statement& s : list) statement(s);
  }
  void statement(const Statement& s) {
    for (const Value& v : s.values) value(v);
    // Names are fresh in a function: no scope hides another's.
    bool declares = s.kind == StatementKind::let || s.kind == StatementKind::var || s.kind == StatementKind::loop;
    if (declares) known_.insert(s.name);
    block(s.body);
    block(s.orelse);
  }
  void value(const Value& v) {
    if (!seen_.insert(v.get()).second) return;
    bool constant_table = v->kind == Kind::variable && v->name.starts_with("tsr_table_");
    if (v->kind == Kind::variable && !constant_table && known_.insert(v->name).second)
      found.emplace_back(v->name, v->type);
    for (const Value& a : v->args) value(a);
  }
  std::unordered_set<std::string> known_;
  std::unordered_set<const ir::nest::Node*> seen_;
};

// Names by order of appearance, so that functions which do the same have the same text.
class Renaming {
 public:
  void parameter(std::string& name) { name = name_of(name); }
  void block(std::vector<Statement>& list) {
    for (Statement& s : list) {
      for (Value& v : s.values) v = value(v);
      bool named = s.kind == StatementKind::let || s.kind == StatementKind::var || s.kind == StatementKind::loop ||
                   s.kind == StatementKind::assign;
      if (named) s.name = name_of(s.name);
      block(s.body);
      block(s.orelse);
    }
  }

 private:
  std::string name_of(const std::string& name) {
    return names_.try_emplace(name, "v" + std::to_string(names_.size())).first->second;
  }
  Value value(const Value& v) {
    if (auto it = values_.find(v.get()); it != values_.end()) return it->second.second;
    auto node = std::make_shared<ir::nest::Node>(*v);
    if (v->kind == Kind::variable && !v->name.starts_with("tsr_table_")) node->name = name_of(v->name);
    for (Value& a : node->args) a = value(a);
    values_[v.get()] = {v, node};
    return node;
  }
  std::unordered_map<std::string, std::string> names_;
  std::unordered_map<const ir::nest::Node*, std::pair<Value, Value>>
      values_;  // the old one is kept: its address is the key
};

class Outliner {
 public:
  void function(Function f) {
    block(f, f.body);
    functions.push_back(std::move(f));
  }
  std::vector<Function> functions;

 private:
  void block(const Function& parent, std::vector<Statement>& list) {
    for (Statement& s : list) {
      block(parent, s.body);
      block(parent, s.orelse);
      if (s.kind == StatementKind::block && !s.name.empty()) s = outlined(parent, std::move(s));
    }
  }

  Statement outlined(const Function& parent, Statement block) {
    Function f;
    f.local = true;
    Statement call;
    call.kind = StatementKind::call;
    Renaming renaming;
    for (const auto& [name, type] : FreeNames(block.body).found) {
      Function::Parameter parameter{name, type, false, false};
      for (const Function::Parameter& p : parent.parameters)
        if (p.name == name) parameter = p;
      renaming.parameter(parameter.name);
      f.parameters.push_back(std::move(parameter));
      call.values.push_back(ir::nest::variable(name, type));
    }
    f.body = std::move(block.body);
    renaming.block(f.body);
    Module alone;
    alone.functions.push_back(std::move(f));
    std::string text = ir::nest::print(alone);
    auto [known, fresh] = names_.try_emplace(std::move(text), block.name);
    call.name = known->second;
    if (fresh) {
      alone.functions.front().name = block.name;
      functions.push_back(std::move(alone.functions.front()));
    }
    return call;
  }

  std::unordered_map<std::string, std::string> names_;  // text without a name -> name
};

void forget_names(std::vector<Statement>& list) {
  for (Statement& s : list) {
    if (s.kind == StatementKind::block) s.name.clear();
    forget_names(s.body);
    forget_names(s.orelse);
  }
}

}  // namespace

void outline_blocks(Module& module, std::size_t large) {
  std::size_t statements = 0;
  for (const Function& f : module.functions) statements += count(f.body);
  if (statements < large) {
    for (Function& f : module.functions) forget_names(f.body);
    return;
  }
  Outliner outliner;
  for (Function& f : module.functions) outliner.function(std::move(f));
  module.functions = std::move(outliner.functions);
}

}  // namespace tessera::lower
