// Expressions of launches: how they are made, what they are, how they read.
#include "ir/host/launch.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/division.hpp"

namespace tessera::ir::host {

namespace {

using Op = Number::Op;

i64 times(i64 a, i64 b) {
  i64 product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<i64>::max() : product;
}

std::string text_of(const Number&, const Launch&, const Graph&);

std::string list_of(const std::vector<Number>& numbers, const char* between, const Launch& launch, const Graph& graph) {
  std::string list;
  for (const Number& n : numbers) {
    const std::string text = text_of(n, launch, graph);
    const bool compound = n.op == Op::product || (n.op == Op::size && text.find_first_of("+-*/") != std::string::npos);
    const bool inner = compound && between[0] != ',';
    list += (list.empty() ? "" : between) + (inner ? "(" + text + ")" : text);
  }
  return list;
}

std::string text_of(const Number& n, const Launch& launch, const Graph& graph) {
  switch (n.op) {
    case Op::constant:
      return std::to_string(n.value);
    case Op::size:
      return graph.to_string(n.of_size);
    case Op::first:
      return "first";
    case Op::last:
      return "last";
    case Op::rows:
      return "rows";
    case Op::at_once:
      return "at_once";
    case Op::offset:
      return fmt::format("offset {}", n.index);
    case Op::stride:
      return fmt::format("stride {} {}", n.index, n.dimension);
    case Op::order:
      return "order";
    case Op::let:
      return launch.lets[n.index].name;
    case Op::filled:
      return fmt::format("{} {}", launch.lets[n.index].name, n.dimension);
    case Op::product:
      return list_of(n.args, " * ", launch, graph);
    case Op::ceil_divide:
      return fmt::format("ceil({})", list_of(n.args, " / ", launch, graph));
    case Op::call:
      return fmt::format("{}({})", n.function, list_of(n.args, ", ", launch, graph));
  }
  return {};
}

}  // namespace

Number operator*(Number a, Number b) {
  if (a.op == Op::constant && a.value == 1) return b;
  Number n(Op::product);
  if (a.op == Op::product)
    n.args = std::move(a.args);
  else
    n.args.push_back(std::move(a));
  n.args.push_back(std::move(b));
  return n;
}

Number ceil_divide(Number a, Number b) {
  Number n(Op::ceil_divide);
  n.args = {std::move(a), std::move(b)};
  return n;
}

Number call(std::string function, std::vector<Number> args) {
  Number n(Op::call);
  n.function = std::move(function);
  n.args = std::move(args);
  return n;
}

LaunchValues::LaunchValues(const Launch& launch, const LaunchContext& context) : context_(context) {
  for (const Launch::Let& let : launch.lets) {
    std::vector<i64> filled(let.fills);
    if (let.fills > 0) {
      std::vector<i64> args;
      for (const Number& n : let.value.args) args.push_back((*this)(n));
      lets_.push_back(context_.call(let.value.function, args, filled));
    } else {
      lets_.push_back((*this)(let.value));
    }
    filled_.push_back(std::move(filled));
  }
}

i64 LaunchValues::operator()(const Number& n) const {
  switch (n.op) {
    case Op::constant:
      return n.value;
    case Op::size:
      return context_.size(n.of_size);
    case Op::first:
      return context_.first;
    case Op::last:
      return context_.last;
    case Op::rows:
      return context_.last - context_.first;
    case Op::at_once:
      return context_.at_once;
    case Op::offset:
      return context_.offset(n.index);
    case Op::stride:
      return context_.stride(n.index, n.dimension);
    case Op::order:
      return 0;
    case Op::let:
      return lets_[n.index];
    case Op::filled:
      return filled_[n.index][n.dimension];
    case Op::product: {
      i64 product = 1;
      for (const Number& a : n.args) product = times(product, (*this)(a));
      return product;
    }
    case Op::ceil_divide:
      return base::ceil_divide((*this)(n.args[0]), (*this)(n.args[1]));
    case Op::call: {
      std::vector<i64> args, none;
      for (const Number& a : n.args) args.push_back((*this)(a));
      return context_.call(n.function, args, none);
    }
  }
  return 0;
}

std::string print(const Launch& launch, const Graph& graph) {
  std::string text;
  for (const Launch::Let& let : launch.lets)
    text += fmt::format("let {} = {}{}\n", let.name, text_of(let.value, launch, graph),
                        let.fills > 0 ? fmt::format(", fills {}", let.fills) : "");
  text += "grid " + text_of(launch.grid, launch, graph) + "\n";
  text += "integers " + list_of(launch.integers, ", ", launch, graph) + "\n";
  return text;
}

}  // namespace tessera::ir::host
