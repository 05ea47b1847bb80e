// See lower_host.hpp. Statements are written first without memory; then every array is acquired ahead of the first
// statement that touches it and released behind the last, where a loop counts as one statement for what is not of its
// body alone.
//
// A loop that carries images has for each of them the name of the newest version, which is the image that the loop
// leaves; names of older versions; and one for what is computed next. What begins a version is not to be written where
// somebody else reads it: an image of its own then takes its place in the rotation (ir/host/program.hpp, Shift).
#include "lower/host/lower_host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera::lower {

namespace {

using ir::Section;
namespace host = ir::host;
using host::ArrayId;

class Writer {
 public:
  explicit Writer(const ir::Graph& graph) : graph_(graph) {}

  HostLowered run() {
    if (graph_.loops.empty()) {
      Section whole;
      whole.graph = graph_;
      for (std::size_t k = 0; k < graph_.arguments.size(); ++k) whole.inputs.push_back({false, k});
      for (std::size_t k = 0; k < graph_.outputs.size(); ++k) whole.outputs.push_back({false, k});
      section(std::move(whole));
    } else {
      ir::Sections cut = ir::sections(graph_);
      places_ = std::move(cut.places);
      for (Section& each : cut.sections) section(std::move(each));
    }
    program().body = with_memory(std::move(body_));
    return std::move(result_);
  }

 private:
  using Body = std::vector<host::Statement>;

  host::Program& program() { return result_.program; }

  // ---- names ----

  ArrayId add(host::Array array) {
    std::string name = array.name.empty() ? "result" : array.name;
    for (int k = 2; !names_.insert(name).second; ++k) name = fmt::format("{}#{}", array.name, k);
    array.name = std::move(name);
    program().arrays.push_back(std::move(array));
    return program().arrays.size() - 1;
  }
  ArrayId own(const std::string& name, const Format& format, const std::vector<ir::SizeId>& extents) {
    return add({host::Array::Kind::own, 0, name, true, format, extents});
  }
  ArrayId like(ArrayId of, const std::string& suffix) {
    const host::Array array = program().arrays[of];
    return own(array.name + suffix, array.format, array.extents);
  }

  ArrayId place(std::size_t index) {
    const auto known = of_place_.find(index);
    if (known != of_place_.end()) return known->second;
    const ir::Place& p = places_[index];
    return of_place_[index] = own(p.name, p.type, p.extents);
  }
  ArrayId argument(std::size_t index) {
    const auto known = of_argument_.find(index);
    if (known != of_argument_.end()) return known->second;
    const ir::Argument& a = graph_.arguments[index];
    return of_argument_[index] = add({host::Array::Kind::argument, index, a.name, a.is_array, a.format, a.extents});
  }
  ArrayId output(std::size_t index) {
    const auto known = of_output_.find(index);
    if (known != of_output_.end()) return known->second;
    const ir::Output& o = graph_.outputs[index];
    return of_output_[index] =
               add({host::Array::Kind::output, index, o.name, true, o.format, graph_.stage(o.stages.front()).domain});
  }
  ArrayId input_of(const Section::Value& v) { return v.place ? place(v.index) : argument(v.index); }
  ArrayId output_of(const Section::Value& v) { return v.place ? place(v.index) : output(v.index); }

  // ---- what runs ----

  void section(Section cut) {
    HostSection& made = result_.sections.emplace_back();
    std::vector<ArrayId> inputs, outputs;
    for (const Section::Value& v : cut.inputs) inputs.push_back(input_of(v));
    for (const Section::Value& v : cut.outputs) outputs.push_back(output_of(v));
    if (!cut.repeats()) {
      steps(made, cut, inputs, outputs, body_);
    } else {
      Body body;
      std::vector<host::Shift> shifts;
      const ArrayId test = outputs[cut.test];
      for (std::size_t k = 0; k < cut.carried.size(); ++k)
        if (cut.carried[k].output) shifts.push_back(versions(cut, k, inputs, outputs));
      steps(made, cut, inputs, outputs, body);
      for (host::Shift& shift : shifts) body.emplace_back(std::move(shift));
      body_.emplace_back(host::Repeat{graph_.loops[cut.loop].name, cut.most, test, std::move(body)});
    }
    made.section = std::move(cut);
  }

  // The chain that begins with a carried image: names for what the body reads and writes, bound to what it begins with.
  host::Shift versions(const Section& cut, std::size_t first, std::vector<ArrayId>& inputs,
                       std::vector<ArrayId>& outputs) {
    const std::size_t output = *cut.carried[first].output;
    const ArrayId newest = outputs[output];
    host::Shift shift;
    shift.names = {outputs[output] = like(newest, "'")};
    for (std::size_t k = first; k < cut.carried.size() && (k == first || !cut.carried[k].output); ++k) {
      const std::size_t input = cut.carried[k].input;
      const ArrayId version = k == first ? newest : like(newest, fmt::format("-{}", k - first));
      body_.emplace_back(host::Bind{version, inputs[input]});
      inputs[input] = version;
      shift.names.push_back(version);
      std::optional<ArrayId>& instead = shift.instead.emplace_back();
      if (!cut.carried[k].spent) instead = like(newest, "''");
    }
    return shift;
  }

  void steps(HostSection& made, Section& cut, const std::vector<ArrayId>& inputs, const std::vector<ArrayId>& outputs,
             Body& body) {
    if (!rewrite::has_transforms(cut.graph)) {
      made.steps.push_back(part(std::move(cut.graph)));
      body.emplace_back(host::RunPart{made.steps.back(), inputs, outputs});
      return;
    }
    made.parts = rewrite::cut(cut.graph);
    std::vector<ArrayId> between;
    for (const rewrite::Between& b : made.parts->between) between.push_back(own(b.name, b.format, b.domain));
    const auto array = [&](const rewrite::Place& p) {
      using Kind = rewrite::Place::Kind;
      return p.kind == Kind::argument ? inputs[p.index] : p.kind == Kind::output ? outputs[p.index] : between[p.index];
    };
    for (std::size_t k = 0; k < made.parts->steps.size(); ++k) {
      rewrite::Step& step = made.parts->steps[k];
      if (!step.is_part()) {
        const rewrite::Place& from = step.inputs[0];
        const bool spent = from.kind == rewrite::Place::Kind::between && made.parts->between[from.index].last == k;
        made.steps.push_back(program().transforms.size());
        program().transforms.push_back(step.transform);
        body.emplace_back(host::RunTransform{made.steps.back(), array(from), array(step.outputs[0]), spent});
        continue;
      }
      made.steps.push_back(part(std::move(step.part)));
      host::RunPart run{made.steps.back(), {}, {}};
      for (const rewrite::Place& p : step.inputs) run.inputs.push_back(array(p));
      for (const rewrite::Place& p : step.outputs) run.outputs.push_back(array(p));
      body.emplace_back(std::move(run));
    }
  }

  std::size_t part(ir::Graph graph) {
    program().parts.push_back({fmt::format("part {}", program().parts.size()), std::move(graph)});
    return program().parts.size() - 1;
  }

  // ---- memory ----

  // The arrays of a statement, each as often as it comes.
  static void touched(const host::Statement& s, std::vector<ArrayId>& all) {
    if (const auto* bind = std::get_if<host::Bind>(&s)) all.insert(all.end(), {bind->to});
    if (const auto* run = std::get_if<host::RunPart>(&s)) {
      all.insert(all.end(), run->inputs.begin(), run->inputs.end());
      all.insert(all.end(), run->outputs.begin(), run->outputs.end());
    }
    if (const auto* transform = std::get_if<host::RunTransform>(&s))
      all.insert(all.end(), {transform->from, transform->to});
    if (const auto* shift = std::get_if<host::Shift>(&s)) {
      all.insert(all.end(), shift->names.begin(), shift->names.end());
      for (const auto& instead : shift->instead)
        if (instead) all.push_back(*instead);
    }
    if (const auto* repeat = std::get_if<host::Repeat>(&s)) {
      all.push_back(repeat->test);
      for (const host::Statement& inner : repeat->body) touched(inner, all);
    }
  }

  // Arrays whose first and last statement stand in the body of a loop, and which no turn hands on to the next.
  static bool of_one_turn(const Body& body, ArrayId array) {
    bool written = false;
    for (const host::Statement& s : body) {
      const auto has = [&](const std::vector<ArrayId>& list) {
        return std::find(list.begin(), list.end(), array) != list.end();
      };
      if (const auto* shift = std::get_if<host::Shift>(&s); shift != nullptr) {
        std::vector<ArrayId> all;
        touched(s, all);
        if (has(all)) return false;
      }
      if (const auto* run = std::get_if<host::RunPart>(&s)) {
        if (!written && has(run->inputs)) return false;
        written = written || has(run->outputs);
      }
      if (const auto* transform = std::get_if<host::RunTransform>(&s)) {
        if (!written && transform->from == array) return false;
        written = written || transform->to == array;
      }
    }
    return written;
  }

  // From the first statement of a list that touches an array to the last one.
  using Stays = std::map<ArrayId, std::pair<std::size_t, std::size_t>>;

  static void touch(Stays& stays, ArrayId array, std::size_t at) {
    stays.try_emplace(array, at, at).first->second.second = at;
  }

  // `bound`: what gets its memory by a statement of its own.
  static Body around(Body list, const Stays& stays, const std::set<ArrayId>& bound) {
    Body out;
    for (std::size_t k = 0; k < list.size(); ++k) {
      for (const auto& [array, stay] : stays)
        if (stay.first == k && !bound.contains(array)) out.emplace_back(host::Acquire{array});
      out.push_back(std::move(list[k]));
      for (const auto& [array, stay] : stays)
        if (stay.second == k) out.emplace_back(host::Release{array});
    }
    return out;
  }

  Body with_memory(Body list) {
    Stays stays;
    std::set<ArrayId> bound, lent;  // lent: to versions of the next loop, which may hold it to its end
    for (std::size_t k = 0; k < list.size(); ++k) {
      if (const auto* bind = std::get_if<host::Bind>(&list[k])) bound.insert(bind->array), lent.insert(bind->to);
      std::vector<ArrayId> all;
      touched(list[k], all);
      if (auto* repeat = std::get_if<host::Repeat>(&list[k])) {
        const std::set<ArrayId> own = within(*repeat, list, k);
        std::erase_if(all, [&](ArrayId a) { return own.contains(a); });
        all.insert(all.end(), lent.begin(), lent.end());
        lent.clear();
      }
      for (const ArrayId a : all)
        if (program().arrays[a].is_array) touch(stays, a, k);
    }
    return around(std::move(list), stays, bound);
  }

  // What a turn of a loop needs alone gets its memory in the turn: these arrays.
  std::set<ArrayId> within(host::Repeat& repeat, const Body& list, std::size_t at) {
    std::vector<ArrayId> elsewhere = {repeat.test};
    for (std::size_t k = 0; k < list.size(); ++k)
      if (k != at) touched(list[k], elsewhere);
    const std::set<ArrayId> others(elsewhere.begin(), elsewhere.end());
    Stays stays;
    std::set<ArrayId> own;
    for (std::size_t k = 0; k < repeat.body.size(); ++k) {
      std::vector<ArrayId> here;
      touched(repeat.body[k], here);
      for (const ArrayId a : here)
        if (program().arrays[a].kind == host::Array::Kind::own && !others.contains(a) && of_one_turn(repeat.body, a))
          own.insert(a), touch(stays, a, k);
    }
    repeat.body = around(std::move(repeat.body), stays, {});
    return own;
  }

  const ir::Graph& graph_;
  HostLowered result_;
  Body body_;
  std::vector<ir::Place> places_;
  std::map<std::size_t, ArrayId> of_place_, of_argument_, of_output_;
  std::set<std::string> names_;
};

}  // namespace

bool needs_host_program(const ir::Graph& graph) {
  return !graph.loops.empty() || rewrite::has_transforms(graph);
}

HostLowered lower_host(const ir::Graph& graph) {
  HostLowered lowered = Writer(graph).run();
  ir::host::verify(lowered.program, graph);
  return lowered;
}

}  // namespace tessera::lower
