// What a well-formed loop nest is: every name is declared before it is used, once, and assigned only where it may be;
// operands have the types that their operations take; vectors have a power of two of lanes.
// What is called is a function of the module or one of the run-time library (library.hpp), and is given what it takes.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <optional>
#include <set>
#include <type_traits>

#include "ir/nest/library.hpp"
#include "ir/nest/nest.hpp"

namespace tessera::ir::nest {

namespace {

constexpr Type kIndex{};
constexpr Type kFlag{Lane::i32, 1, false};
constexpr int kMostLanes = 1024;

std::string spell(const Type& t) {
  return fmt::format("{}{}{}", name_of(t.lane), t.lanes > 1 ? fmt::format("x{}", t.lanes) : "", t.pointer ? "*" : "");
}

// The values of an integer lane.
struct ValueRange {
  i64 lo = INT64_MIN, hi = INT64_MAX;
};

ValueRange range_of(Lane lane) {
  const int bits = 8 * size_of(lane);
  if (bits == 64) return {};
  if (is_signed(lane)) return {-(i64{1} << (bits - 1)), (i64{1} << (bits - 1)) - 1};
  return {0, (i64{1} << bits) - 1};
}

enum class Role : std::uint8_t { constant, variable, array };

struct Declared {
  Type type;
  Role role = Role::constant;
};

class Verifier {
 public:
  Verifier(const Module& module, Runs runs) : module_(module), on_devices_(runs == Runs::on_devices) {}

  void run() {
    for (int k = 0; k <= static_cast<int>(Lane::f64); ++k) {
      const std::string name = fmt::format("tsr_shared_{}", name_of(static_cast<Lane>(k)));
      tables_[name] = {shared_memory(name).value(), Role::constant};
    }
    for (std::size_t k = 0; k < module_.tables.size(); ++k) {
      const Table& t = module_.tables[k];
      i64 count = 1;
      for (i64 n : t.extents)
        require(n > 0 && __builtin_mul_overflow(count, n, &count) == 0, "a table has an extent below 1");
      require(count == static_cast<i64>(t.values.size()),
              [&] { return fmt::format("table '{}' has {} values for {} elements", t.name, t.values.size(), count); });
      const ValueRange of = range_of(lane_of(t.type));
      for (double v : t.values)
        require(is_float(t.type) || (v >= static_cast<double>(of.lo) && v <= static_cast<double>(of.hi)),
                [&] { return fmt::format("{} in table '{}' does not fit {}", v, t.name, name_of(lane_of(t.type))); });
      tables_[fmt::format("tsr_table_{}", k)] = {{lane_of(t.type), 1, true}, Role::constant};
    }
    for (const Function& f : module_.functions)
      require(functions_.emplace(f.name, &f).second,
              [&] { return fmt::format("function '{}' is there twice", f.name); });
    for (const Function& f : module_.functions) function(f);
  }

 private:
  // Messages are texts, or functions that make them once they are needed.
  static std::string said(std::string_view text) { return std::string(text); }
  template <class Make>
    requires std::is_invocable_v<Make>
  static std::string said(const Make& make) {
    return make();
  }
  template <class Rule>
  void require(bool holds, const Rule& text) const {
    if (holds) return;
    const std::string rule = said(text);
    throw Error(ErrorClass::internal,
                fmt::format("loop nest{}: {}", where_.empty() ? "" : ", function '" + where_ + "'", rule));
  }

  // ---- names

  const Declared* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto it = scope->find(name); it != scope->end()) return &it->second;
    auto table = tables_.find(name);
    return table == tables_.end() ? nullptr : &table->second;
  }
  void declare(const std::string& name, const Type& type, Role role) {
    valid(type);
    require(!name.empty() && find(name) == nullptr, [&] { return fmt::format("'{}' is declared twice", name); });
    scopes_.back()[name] = {type, role};
  }

  // ---- types

  void valid(const Type& t) const {
    require(t.lanes >= 1 && t.lanes <= kMostLanes && std::has_single_bit(static_cast<unsigned>(t.lanes)),
            [&] { return fmt::format("{} has {} lanes; a power of two is expected", spell(t), t.lanes); });
  }
  template <class What>
  void same(const Type& got, const Type& expected, const What& what) const {
    require(got == expected,
            [&] { return fmt::format("{} is {}; {} is expected", said(what), spell(got), spell(expected)); });
  }
  template <class What>
  void index(const Value& v, const What& what) const {
    const bool narrow = v->type == Type{Lane::i32, 1, false} || v->type == Type{Lane::u32, 1, false};
    if (!on_devices_ || !narrow) same(v->type, kIndex, what);
  }

  bool is_array(const Value& v) const {
    const Declared* d = v->kind == Kind::variable ? find(v->name) : nullptr;
    return d != nullptr && d->role == Role::array;
  }

  // ---- expressions

  void value(const Value& v) const {
    require(v != nullptr, "an operand is missing");
    const Node& n = *v;
    valid(n.type);
    for (const Value& a : n.args) value(a);
    auto count = [&](std::size_t wanted, std::string_view what) {
      require(n.args.size() == wanted,
              [&] { return fmt::format("{} has {} operands; {} are expected", what, n.args.size(), wanted); });
    };
    switch (n.kind) {
      case Kind::variable: {
        const Declared* d = find(n.name);
        require(d != nullptr, [&] { return fmt::format("'{}' is used before it is declared", n.name); });
        same(n.type, d->type, [&] { return "'" + n.name + "'"; });
        return;
      }
      case Kind::integer:
        return integer_fits(n);
      case Kind::real:
        return require(is_float(n.type.lane) && n.type.lanes == 1 && !n.type.pointer,
                       [&] { return fmt::format("a real has type {}", spell(n.type)); });
      case Kind::convert:
        count(1, "convert");
        return conversion(n.args[0]->type, n.type);
      case Kind::broadcast:
        count(1, "broadcast");
        return same(n.args[0]->type, {n.type.lane, 1, false}, "the operand of broadcast");
      case Kind::load:
        count(2, "load");
        require(n.i >= 1, [&] { return fmt::format("a load takes elements {} apart", n.i); });
        require(n.phase >= 0 && n.phase < (n.i == 1 ? n.type.lanes : n.i),
                [&] { return fmt::format("phase {} of a load by {}", n.phase, n.i); });
        require(!n.type.pointer, "a load gives a pointer");
        if (is_array(n.args[0]))
          same(n.args[0]->type, {n.type.lane, 1, false}, "the array of a load");
        else
          same(n.args[0]->type, {n.type.lane, 1, true}, "the pointer of a load");
        return index(n.args[1], "the index of a load");
      case Kind::gather:
        return gather(n);
      case Kind::interleave:
        count(2, "interleave");
        require(n.type.lanes > 1 && n.type.lanes % 2 == 0 && !n.type.pointer && (n.i == 0 || n.i == 1),
                [&] { return fmt::format("half {} of interleaved {}", n.i, spell(n.type)); });
        require(n.phase == 0 || (n.phase > 0 && 2 * n.phase <= n.type.lanes && (n.phase & (n.phase - 1)) == 0),
                [&] { return fmt::format("{} elements of interleaved {} at a time", n.phase, spell(n.type)); });
        same(n.args[0]->type, n.type, "the first operand of interleave");
        return same(n.args[1]->type, n.type, "the second operand of interleave");
      case Kind::fused:
        count(3, "fused");
        require(is_float(n.type.lane) && !n.type.pointer,
                [&] { return fmt::format("fused has type {}", spell(n.type)); });
        for (const Value& a : n.args) same(a->type, n.type, "an operand of fused");
        return;
      case Kind::iota:
        count(0, "iota");
        return require(!is_float(n.type.lane) && !n.type.pointer && n.type.lanes > 1,
                       [&] { return fmt::format("iota has type {}", spell(n.type)); });
      case Kind::address:
        count(2, "address");
        require(n.type.pointer, [&] { return fmt::format("an address has type {}", spell(n.type)); });
        same(n.args[0]->type, n.type, "the pointer of an address");
        return index(n.args[1], "the index of an address");
      case Kind::call:
        return called(n.name, n.type, n.args);
      case Kind::operation:
        return operation(n);
    }
  }

  void integer_fits(const Node& n) const {
    require(!is_float(n.type.lane) && n.type.lanes == 1 && !n.type.pointer,
            [&] { return fmt::format("an integer has type {}", spell(n.type)); });
    const ValueRange of = range_of(n.type.lane);
    require(n.i >= of.lo && n.i <= of.hi, [&] { return fmt::format("{} does not fit {}", n.i, spell(n.type)); });
  }

  void conversion(const Type& from, const Type& to) const {
    require(from.lanes == to.lanes, [&] { return fmt::format("{} is converted to {}", spell(from), spell(to)); });
    require(from.pointer == to.pointer || (to.pointer && from == kIndex),
            [&] { return fmt::format("{} is converted to {}", spell(from), spell(to)); });
  }

  void gather(const Node& n) const {
    require(n.args.size() == 2, [&] { return fmt::format("gather has {} operands; 2 are expected", n.args.size()); });
    const Type &pointer = n.args[0]->type, &at = n.args[1]->type;
    require(
        !n.type.pointer && at.lanes == n.type.lanes && !at.pointer && (at.lane == Lane::i32 || at.lane == Lane::i64),
        [&] { return fmt::format("{} is gathered at {}", spell(n.type), spell(at)); });
    // Byte offsets from anywhere, or indices of elements.
    same(pointer, {at.lane == Lane::i64 ? Lane::u8 : n.type.lane, 1, true}, "the pointer of a gather");
  }

  void operation(const Node& n) const {
    const std::string_view name = ir::name_of(n.op);
    const int arity = arity_of(n.op);
    require(arity >= 1 && !is_reduction(n.op) && n.op != Op::convert && n.op != Op::saturate,
            [&] { return fmt::format("'{}' is no operation of loop nests", name); });
    require(static_cast<int>(n.args.size()) == arity,
            [&] { return fmt::format("'{}' has {} operands; {} are expected", name, n.args.size(), arity); });
    auto operands = [&](std::size_t from, const Type& expected) {
      for (std::size_t k = from; k < n.args.size(); ++k)
        same(n.args[k]->type, expected, [&] { return fmt::format("operand {} of '{}'", k + 1, name); });
    };
    switch (n.op) {
      case Op::lt:
      case Op::le:
      case Op::eq:
      case Op::ne: {
        const Type& of = n.args[0]->type;
        operands(1, of);
        return same(n.type, flag_of(of), [&] { return fmt::format("the result of '{}'", name); });
      }
      case Op::select: {
        operands(1, n.type);
        return same(n.args[0]->type, flag_of(n.type), "the condition of 'select'");
      }
      case Op::bit_and:
      case Op::bit_or:
      case Op::bit_xor:
      case Op::bit_not:
      case Op::shl:
      case Op::shr:
      case Op::rem:
        require(!is_float(n.type.lane), [&] { return fmt::format("'{}' works on {}", name, spell(n.type)); });
        break;
      default:
        require(!is_function(n.op) || n.type.lane == Lane::f32 || n.type.lane == Lane::f64,
                [&] { return fmt::format("'{}' works on {}", name, spell(n.type)); });
    }
    require(!n.type.pointer, [&] { return fmt::format("'{}' works on {}", name, spell(n.type)); });
    operands(0, n.type);
  }

  // A call; of statements, whose results nobody takes, `result` is missing.
  void called(const std::string& name, const std::optional<Type>& result, const std::vector<Value>& args) const {
    require(!name.empty() && name != "return", "a call has no name");
    if (const auto own = functions_.find(name); own != functions_.end()) return called(*own->second, result, args);
    const Routine* const known = routine(name);
    require(known != nullptr, [&] { return fmt::format("'{}' is called; there is no such function", name); });
    const std::optional<std::string> wrong = mismatch(*known, name, result, args);
    require(!wrong, [&] { return *wrong; });
  }

  void called(const Function& f, const std::optional<Type>& result, const std::vector<Value>& args) const {
    require(!result || (f.has_result && *result == f.result),
            [&] { return fmt::format("'{}' does not give {}", f.name, spell(*result)); });
    require(args.size() == f.parameters.size(),
            [&] { return fmt::format("'{}' takes {} arguments, not {}", f.name, f.parameters.size(), args.size()); });
    for (std::size_t k = 0; k < args.size(); ++k)
      same(args[k]->type, f.parameters[k].type, [&] { return fmt::format("argument {} of '{}'", k + 1, f.name); });
  }

  // ---- statements

  void function(const Function& f) {
    where_ = f.name;
    require(!f.name.empty(), "a function has no name");
    scopes_.assign(1, {});
    for (const Function::Parameter& p : f.parameters) declare(p.name, p.type, Role::constant);
    if (f.has_result) valid(f.result);
    result_ = f.has_result ? std::optional(f.result) : std::nullopt;
    block(f.body);
    where_.clear();
  }

  void block(const std::vector<Statement>& list) {
    scopes_.emplace_back();
    for (const Statement& s : list) statement(s);
    scopes_.pop_back();
  }

  void statement(const Statement& s) {
    for (const Value& v : s.values) value(v);
    auto count = [&](std::size_t wanted, std::string_view what) {
      require(s.values.size() == wanted,
              [&] { return fmt::format("{} has {} operands; {} are expected", what, s.values.size(), wanted); });
    };
    switch (s.kind) {
      case StatementKind::let:
        count(1, "let");
        same(s.values[0]->type, s.type, [&] { return "'" + s.name + "'"; });
        return declare(s.name, s.type, Role::constant);
      case StatementKind::var:
        if (s.i > 0) {
          count(0, "an array");
          return declare(s.name, s.type, Role::array);
        }
        count(1, "var");
        same(s.values[0]->type, s.type, [&] { return "'" + s.name + "'"; });
        return declare(s.name, s.type, Role::variable);
      case StatementKind::assign: {
        const Declared* d = find(s.name);
        require(d != nullptr, [&] { return fmt::format("'{}' is assigned before it is declared", s.name); });
        if (s.values.size() == 2) {
          const bool memory = d->role == Role::constant && d->type.pointer;
          require(d->role == Role::array || memory,
                  [&] { return fmt::format("'{}' has no elements to assign", s.name); });
          index(s.values[1], [&] { return "the index of '" + s.name + "'"; });
          Type element = d->type;
          if (memory) element.pointer = false;
          return same(s.values[0]->type, element, [&] { return "an element of '" + s.name + "'"; });
        }
        count(1, "set");
        require(d->role == Role::variable, [&] { return fmt::format("'{}' is never assigned again", s.name); });
        return same(s.values[0]->type, d->type, [&] { return "'" + s.name + "'"; });
      }
      case StatementKind::loop:
        count(3, "a loop");
        for (const Value& v : s.values) same(v->type, kIndex, "a bound of a loop");
        require(s.values[2]->kind != Kind::integer || s.values[2]->i > 0, "a loop steps forward");
        scopes_.emplace_back();
        declare(s.name, kIndex, Role::constant);
        block(s.body);
        scopes_.pop_back();
        return;
      case StatementKind::branch:
        count(1, "a branch");
        same(s.values[0]->type, kFlag, "the condition of a branch");
        block(s.body);
        return block(s.orelse);
      case StatementKind::store:
        count(3, "a store");
        same(s.values[0]->type, {s.values[2]->type.lane, 1, true}, "the pointer of a store");
        require(!s.values[2]->type.pointer, "a pointer is stored");
        require(!s.streaming || on_devices_ || s.values[2]->type.lanes > 1, "a number alone is stored past the caches");
        return index(s.values[1], "the index of a store");
      case StatementKind::call:
        if (s.name != "return") return called(s.name, std::nullopt, s.values);
        require(result_.has_value() && s.values.size() == 1, "a function returns what it does not promise");
        return same(s.values[0]->type, *result_, "the result");
      case StatementKind::comment:
        return count(0, "a comment");
      case StatementKind::block:
        count(0, "a block");
        return block(s.body);
    }
  }

  const Module& module_;
  bool on_devices_;
  std::string where_;
  std::map<std::string, Declared> tables_;
  std::map<std::string, const Function*> functions_;
  std::vector<std::map<std::string, Declared>> scopes_;
  std::optional<Type> result_;
};

}  // namespace

void verify(const Module& module, Runs runs) {
  Verifier(module, runs).run();
}

}  // namespace tessera::ir::nest
