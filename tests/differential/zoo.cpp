// The programs and the sizes they run at.
#include "zoo.hpp"

#include <algorithm>
#include <string_view>

#include "lang/compile.hpp"

namespace tessera::differential {

const std::vector<ZooProgram>& zoo() {
  static const std::vector<ZooProgram> all = [] {
    std::vector<ZooProgram> list = zoo_of_language();
    list.insert(list.end(), zoo_of_groups().begin(), zoo_of_groups().end());
    list.insert(list.end(), zoo_of_convolutions().begin(), zoo_of_convolutions().end());
    list.insert(list.end(), zoo_of_reductions().begin(), zoo_of_reductions().end());
    list.insert(list.end(), zoo_of_loops().begin(), zoo_of_loops().end());
    list.insert(list.end(), zoo_of_volumes().begin(), zoo_of_volumes().end());
    list.insert(list.end(), zoo_of_marches().begin(), zoo_of_marches().end());
    list.insert(list.end(), zoo_of_spectra().begin(), zoo_of_spectra().end());
    list.insert(list.end(), zoo_of_chains().begin(), zoo_of_chains().end());
    list.insert(list.end(), zoo_of_methods().begin(), zoo_of_methods().end());
    list.insert(list.end(), zoo_of_bytes().begin(), zoo_of_bytes().end());
    list.insert(list.end(), zoo_of_nans().begin(), zoo_of_nans().end());
    list.insert(list.end(), zoo_of_products().begin(), zoo_of_products().end());
    list.insert(list.end(), zoo_of_fields().begin(), zoo_of_fields().end());
    return list;
  }();
  return all;
}

namespace {

// Windows of thousands of points: the interpreter takes minutes for the largest image, which thorough runs alone ask of
// it.
constexpr std::string_view wide[] = {"median of thousands",
                                     "median of large sums",
                                     "boxes of a stage",
                                     "a wide box of floats",
                                     "greatest and least of many neighbours",
                                     "boxes of bytes that wrap and that have margins",
                                     "a flat top, and a row of steps",
                                     "weights larger than the image, around it"};

}  // namespace

Case zoo_case(std::size_t index, bool thorough) {
  const ZooProgram& program = zoo().at(index);
  lang::CompileInput input;
  input.text = program.text;
  input.file_name = std::string(program.name) + ".forma";
  Case c;
  c.graph = lang::compile(input).graph;
  c.name = std::string("zoo: ") + program.name;
  c.source = program.text;
  c.seed = index + 1;
  c.data = program.data;
  c.relative = program.absolute > 0 ? 1e-5 : 0;
  c.absolute = program.absolute;
  switch (c.graph.parameters.size()) {
    case 1:
      c.parameters = {{1}, {2}, {3}, {7}, {16}, {17}, {64}, {65}, {257}, {1000}};
      break;
    case 2:
      c.parameters = {{1, 1}, {1, 9}, {9, 1},   {2, 2},   {2, 3},    {3, 5},    {4, 4},
                      {5, 9}, {6, 8}, {17, 33}, {64, 64}, {65, 130}, {100, 257}};
      break;
    default:
      c.parameters = {{1, 1, 1},  {2, 3, 4},    {3, 2, 1},    {5, 9, 17},
                      {7, 8, 65}, {3, 33, 100}, {19, 1, 270}, {16, 5, 288}};
      for (std::vector<i64>& set : c.parameters)
        if (c.graph.parameters.size() == 4) set.insert(set[0] > 9 ? set.begin() + 1 : set.begin(), set[0] / 8 + 1);
      break;
  }
  if (!thorough && std::ranges::find(wide, program.name) != std::end(wide)) c.parameters.pop_back();
  std::vector<Way> bases;
  for (const Schedule s : {Schedule::automatic, Schedule::stream, Schedule::tiled, Schedule::untiled})
    for (const Numbers n : {Numbers::fast, Numbers::exact}) {
      // The two that matter most take turns, the others come by now and then.
      const bool asked = program.method != Method::automatic;
      if (asked && (s != Schedule::automatic || (n != Numbers::fast && program.absolute > 0))) continue;
      const bool chosen = asked                      ? true
                          : s == Schedule::automatic ? n == Numbers::fast && index % 2 == 0
                          : s == Schedule::stream    ? n == Numbers::exact && index % 2 == 1
                          : s == Schedule::tiled     ? n == Numbers::exact && index % 8 == 3
                                                     : n == Numbers::fast && index % 8 == 7;
      if (!thorough && !chosen) continue;
      Way b;
      b.schedule = s;
      b.numbers = program.exact_only ? Numbers::exact : n;
      b.method = program.method;
      bases.push_back(b);
    }
  for (const Way& b : bases) {
    Way whole = b, tiles = b, slim = b, view = b;
    whole.threads = 2;
    tiles.rows = 8;
    tiles.columns = 64;
    tiles.threads = 3;
    tiles.placement = Placement::flush_begin;
    slim.rows = static_cast<i64>(1 + index % 3);
    slim.columns = 128;
    view.rows = tiles.rows;
    view.columns = tiles.columns;
    view.threads = 2;
    view.placement = index % 5 == 0 ? Placement::sparse_view : Placement::view;
    c.ways.insert(c.ways.end(), {whole, tiles, slim, view});
  }
  return c;
}

}  // namespace tessera::differential
