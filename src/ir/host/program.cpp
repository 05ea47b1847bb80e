// The text of host programs: one line a statement, arrays and transforms ahead of them.
#include "ir/host/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace tessera::ir::host {

namespace {

class Printer {
 public:
  Printer(const Program& program, const Graph& graph) : program_(program), graph_(graph) {}

  std::string text() {
    for (const Array& a : program_.arrays) array(a);
    for (const Transform& t : program_.transforms) transform(t);
    statements(program_.body, "");
    return out_;
  }

 private:
  void array(const Array& a) {
    std::string extents;
    for (const SizeId n : a.extents) extents += (extents.empty() ? "" : ", ") + graph_.to_string(n);
    out_ += fmt::format("array {}: {}", a.name, a.format.name());
    if (a.is_array) out_ += fmt::format(" [{}]", extents);
    if (a.kind == Array::Kind::argument) out_ += fmt::format(", argument {}", a.index);
    if (a.kind == Array::Kind::output) out_ += fmt::format(", output {}", a.index);
    out_ += "\n";
  }

  void transform(const Transform& t) {
    std::string along;
    for (const int d : t.along) along += fmt::format(" {}", d);
    out_ += fmt::format("transform {}: {}, {} to {}, along{}\n", t.name, t.inverse ? "inverse" : "forward",
                        t.from_real ? "numbers" : "pairs", t.to_real ? "numbers" : "pairs", along);
  }

  std::string names(const std::vector<ArrayId>& arrays) const {
    std::string list;
    for (const ArrayId a : arrays) list += (list.empty() ? "" : ", ") + name(a);
    return "(" + list + ")";
  }
  const std::string& name(ArrayId a) const { return program_.arrays[a].name; }

  void statements(const std::vector<Statement>& list, const std::string& indent) {
    for (const Statement& s : list) {
      out_ += indent;
      indent_ = indent;
      std::visit([&](const auto& one) { statement(one); }, s);
    }
  }

  void statement(const Acquire& s) { out_ += fmt::format("acquire {}\n", name(s.array)); }
  void statement(const Release& s) { out_ += fmt::format("release {}\n", name(s.array)); }
  void statement(const Bind& s) { out_ += fmt::format("bind {} to {}\n", name(s.array), name(s.to)); }
  void statement(const RunPart& s) {
    out_ += fmt::format("run {} {} -> {}\n", program_.parts[s.part].name, names(s.inputs), names(s.outputs));
  }
  void statement(const RunTransform& s) {
    out_ += fmt::format("transform {} ({}{}) -> ({})\n", program_.transforms[s.transform].name, name(s.from),
                        s.spent ? ", spent" : "", name(s.to));
  }
  void statement(const Shift& s) {
    out_ += "shift " + name(s.names[0]);
    for (std::size_t k = 1; k < s.names.size(); ++k) {
      out_ += " -> " + name(s.names[k]);
      if (s.instead[k - 1]) out_ += fmt::format(" (lent: {} instead)", name(*s.instead[k - 1]));
    }
    out_ += "\n";
  }
  void statement(const Repeat& s) {
    const std::string indent = indent_;
    out_ += fmt::format("repeat {} at most {} times while {} {{\n", s.loop, s.most, name(s.test));
    statements(s.body, indent + "  ");
    out_ += indent + "}\n";
  }

  const Program& program_;
  const Graph& graph_;
  std::string out_, indent_;
};

void find_moved(const std::vector<Statement>& list, std::vector<bool>& moved) {
  for (const Statement& s : list) {
    if (const auto* bind = std::get_if<Bind>(&s)) moved[bind->to] = true;
    if (const auto* repeat = std::get_if<Repeat>(&s)) find_moved(repeat->body, moved);
    if (const auto* shift = std::get_if<Shift>(&s)) {
      for (const ArrayId a : shift->names) moved[a] = true;
      for (const auto& a : shift->instead)
        if (a) moved[*a] = true;
    }
  }
}

}  // namespace

bool Program::loops() const {
  return std::any_of(body.begin(), body.end(), [](const Statement& s) { return std::holds_alternative<Repeat>(s); });
}

std::string print(const Program& program, const Graph& graph) {
  return Printer(program, graph).text();
}

std::vector<bool> moved(const Program& program) {
  std::vector<bool> all(program.arrays.size());
  find_moved(program.body, all);
  return all;
}

Slots slots(const Program& program) {
  const std::vector<bool> moves = moved(program);
  Slots result;
  result.of.resize(program.arrays.size());
  std::vector<std::size_t> free;
  const std::function<void(const std::vector<Statement>&)> walk = [&](const std::vector<Statement>& list) {
    for (const Statement& s : list) {
      if (const auto* acquire = std::get_if<Acquire>(&s);
          acquire != nullptr && program.arrays[acquire->array].kind == Array::Kind::own) {
        if (free.empty()) free.push_back(result.count++);
        const auto lowest = std::min_element(free.begin(), free.end());
        result.of[acquire->array] = *lowest;
        free.erase(lowest);
      }
      if (const auto* release = std::get_if<Release>(&s);
          release != nullptr && result.of[release->array] && !moves[release->array])
        free.push_back(*result.of[release->array]);
      if (const auto* repeat = std::get_if<Repeat>(&s)) walk(repeat->body);
    }
  };
  walk(program.body);
  return result;
}

i64 most_bytes(const Program& program, const Sizes& sizes) {
  const std::vector<bool> moves = moved(program);
  i64 now = 0, most = 0;
  const std::function<void(const std::vector<Statement>&)> walk = [&](const std::vector<Statement>& list) {
    for (const Statement& s : list) {
      if (const auto* acquire = std::get_if<Acquire>(&s)) now += sizes.arrays[acquire->array];
      if (const auto* release = std::get_if<Release>(&s); release != nullptr && !moves[release->array])
        now -= sizes.arrays[release->array];
      i64 work = 0;
      if (const auto* transform = std::get_if<RunTransform>(&s)) work = sizes.transforms[transform->transform];
      most = std::max(most, now + work);
      if (const auto* repeat = std::get_if<Repeat>(&s)) walk(repeat->body);
    }
  };
  walk(program.body);
  return most;
}

}  // namespace tessera::ir::host
