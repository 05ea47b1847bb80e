// The words of a file's options, and graphs there and back.
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "lang/compile.hpp"
#include "machine/machines.hpp"
#include "rewrite/sums/choice.hpp"

namespace tessera::passes {

namespace {

template <class T, std::size_t N>
T chosen(const PassCase& one, const std::string& key, const std::array<std::pair<const char*, T>, N>& table) {
  const std::string word = one.option(key, table[0].first);
  for (const auto& [name, value] : table)
    if (word == name) return value;
  throw std::runtime_error(one.name + ": unknown " + key + ": " + word);
}

bool is_graph_text(const std::string& input) {
  return input.starts_with("parameter \"") || input.starts_with("a0 = ") || input.starts_with("s0 = ") ||
         input.starts_with("t0 = ");
}

}  // namespace

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) {
    if (word.ends_with(',')) word.pop_back();
    list.push_back(word);
  }
  return list;
}

machine::Machine machine_of(const std::string& text) {
  const std::vector<std::string> list = words(text);
  machine::Machine m;
  m.name = "a machine of the tests";
  m.threads = 4;
  const std::array<std::pair<const char*, bool machine::Machine::*>, 8> abilities = {
      {{"byte_products", &machine::Machine::byte_products},
       {"columns_together", &machine::Machine::columns_together},
       {"joins_fields", &machine::Machine::joins_fields},
       {"large_tiles", &machine::Machine::large_tiles},
       {"matrices", &machine::Machine::matrices},
       {"minima", &machine::Machine::minima},
       {"shuffles", &machine::Machine::shuffles},
       {"transforms", &machine::Machine::transforms}}};
  for (const std::string& word : list) {
    if (word == "core") continue;
    if (word == "cuda" || word == "opencl") {
      m = machine::device(machine::abilities_of_target(word));
      continue;
    }
    const bool without = word.starts_with("-");
    bool known = false;
    for (const auto& [name, member] : abilities)
      if (word.substr(without ? 1 : 0) == name) m.*member = !without, known = true;
    if (!known) throw std::runtime_error("unknown machine: " + word);
  }
  return m;
}

plan::Options plan_options(const PassCase& one) {
  plan::Options options;
  options.numbers = chosen<Numbers, 2>(one, "numbers", {{{"fast", Numbers::fast}, {"exact", Numbers::exact}}});
  options.schedule = chosen<Schedule, 4>(one, "schedule",
                                         {{{"automatic", Schedule::automatic},
                                           {"stream", Schedule::stream},
                                           {"tiled", Schedule::tiled},
                                           {"untiled", Schedule::untiled}}});
  options.method = chosen<Method, 7>(one, "method",
                                     {{{"auto", Method::automatic},
                                       {"direct", Method::direct},
                                       {"separable", Method::separable},
                                       {"low-rank", Method::low_rank},
                                       {"transform", Method::transform},
                                       {"whole", Method::whole},
                                       {"matrix", Method::matrix}}});
  for (const std::string& word : words(one.option("extents", ""))) options.parameters.push_back(std::stoll(word));
  return options;
}

ir::Graph graph_of(const PassCase& one) {
  ir::Graph graph;
  if (is_graph_text(one.input)) {
    graph = ir::parse_graph(one.input);
  } else {
    lang::CompileInput input;
    input.text = one.input;
    input.file_name = one.name + ".forma";
    graph = lang::compile(input).graph;
  }
  ir::verify(graph);
  return graph;
}

std::string checked_text(const ir::Graph& graph) {
  ir::verify(graph);
  std::istringstream lines(ir::print(graph));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("span ")) text += line + "\n";
  const ir::Graph back = ir::parse_graph(text);
  ir::verify(back);
  if (ir::print(back) != text) throw std::runtime_error("the text of a graph does not read back:\n" + text);
  return text;
}

std::string text_of_groups(const plan::Plan& p) {
  const auto names = [](const std::vector<ir::StageId>& stages) {
    std::string text;
    for (const ir::StageId s : stages) text += fmt::format(" s{}", s);
    return text;
  };
  std::string text;
  for (const plan::Group& g : p.groups) {
    text += fmt::format("group of{}: gives{}, {} rows a step\n", names(g.stages), names(g.results), g.step);
    for (const plan::Pass& pass : g.passes) {
      text += fmt::format("  pass{}:", names(pass.stages));
      if (pass.composes()) text += " composes";
      text += fmt::format(" {} along {}, {} columns", pass.rows, pass.along, pass.lanes);
      if (!pass.composes() && pass.form != plan::PassForm::vectors)
        text += fmt::format(", {}", plan::name_of(pass.form));
      text += "\n";
    }
    for (const ir::StageId s : g.stages) {
      const plan::StagePlan& stage = p.stages[s];
      if (stage.home == plan::Home::ring)
        text += fmt::format("  ring s{} of {}{}\n", s, stage.depth, stage.filled ? ", filled by pieces" : "");
      if (stage.home == plan::Home::inside) text += fmt::format("  s{} lies inside s{}\n", s, stage.whole);
    }
  }
  return text;
}

}  // namespace tessera::passes
