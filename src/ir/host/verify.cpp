// The rules of host programs (program.hpp), each with the statement that breaks it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/host/program.hpp"
#include "tessera/error.hpp"

namespace tessera::ir::host {

namespace {

class Verifier {
 public:
  Verifier(const Program& program, const Graph& graph)
      : program_(program), graph_(graph), there_(program.arrays.size()) {}

  void run() {
    std::set<std::string> names;
    for (const Array& a : program_.arrays) {
      check(names.insert(a.name).second, "two arrays have one name", a.name);
      array(a);
    }
    statements(program_.body, 0);
    for (ArrayId a = 0; a < there_.size(); ++a)
      check(!there_[a], "nothing releases the array", program_.arrays[a].name);
  }

 private:
  static void check(bool holds, std::string_view rule, const std::string& name) {
    if (!holds) throw Error(ErrorClass::internal, fmt::format("host program: '{}': {}", name, rule));
  }
  const std::string& name(ArrayId a) const { return program_.arrays[a].name; }

  void array(const Array& a) const {
    if (a.kind == Array::Kind::argument) {
      check(a.index < graph_.arguments.size(), "no argument has this number", a.name);
      check(a.is_array == graph_.arguments[a.index].is_array, "a number is an array, or an array a number", a.name);
      check(a.extents == graph_.arguments[a.index].extents, "its extents are not those of the argument", a.name);
    } else if (a.kind == Array::Kind::output) {
      check(a.index < graph_.outputs.size(), "no output has this number", a.name);
      check(a.extents == graph_.stage(graph_.outputs[a.index].stages.front()).domain,
            "its extents are not those of the output", a.name);
    }
    for (const SizeId n : a.extents) check(n.id < graph_.size_count(), "an extent is not of the graph", a.name);
  }

  void used(ArrayId a) const {
    check(a < there_.size(), "no array has this number", std::to_string(a));
    check(there_[a] || !program_.arrays[a].is_array, "it has no memory where it is used", name(a));
  }
  void written(ArrayId a) const {
    used(a);
    check(program_.arrays[a].kind != Array::Kind::argument, "an argument is written", name(a));
  }

  void statements(const std::vector<Statement>& list, int depth) {
    for (const Statement& s : list) std::visit([&](const auto& one) { statement(one, depth); }, s);
  }

  void statement(const Acquire& s, int) {
    check(s.array < there_.size() && !there_[s.array], "it is acquired twice", std::to_string(s.array));
    check(program_.arrays[s.array].is_array, "a number needs no memory", name(s.array));
    there_[s.array] = true;
  }
  void statement(const Release& s, int) {
    used(s.array);
    check(there_[s.array], "it is released and was not acquired", name(s.array));
    there_[s.array] = false;
  }
  void statement(const Bind& s, int) {
    used(s.to);
    check(s.array < there_.size() && !there_[s.array], "it is bound and has memory", std::to_string(s.array));
    check(program_.arrays[s.array].kind == Array::Kind::own, "what is the caller's is bound", name(s.array));
    check(program_.arrays[s.array].extents == program_.arrays[s.to].extents, "it is bound to other extents",
          name(s.array));
    there_[s.array] = true;
  }
  void statement(const RunPart& s, int) {
    check(s.part < program_.parts.size(), "no part has this number", std::to_string(s.part));
    const Part& part = program_.parts[s.part];
    check(part.graph.arguments.size() == s.inputs.size() && part.graph.outputs.size() == s.outputs.size(),
          "the part has other arguments or outputs than the statement", part.name);
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      used(s.inputs[k]);
      check(part.graph.arguments[k].is_array == program_.arrays[s.inputs[k]].is_array,
            "the part reads a number for an array, or an array for a number", part.name);
    }
    for (const ArrayId a : s.outputs) {
      written(a);
      check(std::find(s.inputs.begin(), s.inputs.end(), a) == s.inputs.end(), "a part reads what it writes", name(a));
    }
  }
  void statement(const RunTransform& s, int) {
    check(s.transform < program_.transforms.size(), "no transform has this number", std::to_string(s.transform));
    const Transform& t = program_.transforms[s.transform];
    used(s.from), written(s.to);
    check(s.from != s.to, "a transform reads what it writes", t.name);
    check(!s.spent || program_.arrays[s.from].kind == Array::Kind::own, "what is the caller's is written over", t.name);
    for (const ArrayId a : {s.from, s.to})
      check(program_.arrays[a].extents == t.domain, "its extents are not those of the transform", name(a));
    for (const int d : t.along)
      check(d >= 0 && static_cast<std::size_t>(d) < t.domain.size(), "it has no such dimension", t.name);
  }
  void statement(const Shift& s, int depth) {
    check(depth > 0, "versions are shifted outside of a loop", s.names.empty() ? "" : name(s.names[0]));
    check(s.names.size() >= 2 && s.instead.size() + 1 == s.names.size(), "versions and what stands for them differ",
          s.names.empty() ? "" : name(s.names[0]));
    for (const ArrayId a : s.names) {
      written(a);
      check(program_.arrays[a].kind == Array::Kind::own, "what is the caller's is shifted", name(a));
    }
    for (const auto& a : s.instead)
      if (a) written(*a);
  }
  void statement(const Repeat& s, int depth) {
    used(s.test);
    const Array& test = program_.arrays[s.test];
    check(test.format.size() == 1, "the test of a loop is one byte", test.name);
    check(s.most >= 1, "a loop runs once at least", s.loop);
    const std::vector<bool> before = there_;
    statements(s.body, depth + 1);
    check(before == there_, "a turn of the loop begins and ends with other memory", s.loop);
  }

  const Program& program_;
  const Graph& graph_;
  std::vector<bool> there_;
};

}  // namespace

void verify(const Program& program, const Graph& graph) {
  Verifier(program, graph).run();
}

}  // namespace tessera::ir::host
