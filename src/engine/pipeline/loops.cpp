// Loops with a test of pipelines: the body is built once, on stages that stand for the images before.
#include <fmt/format.h>

#include <algorithm>

#include "engine/pipeline/impl.hpp"
#include "ir/build.hpp"

namespace tessera {

namespace {

using detail::fail;
using detail::View;

// A stage like another one, with a meaning of its own.
ir::Stage like(const ir::Graph& g, ir::StageId s, std::string name) {
  ir::Stage stage;
  stage.name = std::move(name);
  stage.type = g.stage(s).type;
  stage.domain = g.stage(s).domain;
  return stage;
}

// What the body only hands on is computed all the same.
ir::StageId computed(ir::Graph& g, ir::StageId s) {
  if (g.stage(s).kind != ir::StageKind::carried) return s;
  ir::Stage copy = like(g, s, g.stage(s).name + "_again");
  const std::size_t rank = copy.domain.size();
  copy.margin_lo.assign(rank, 0);
  copy.margin_hi.assign(rank, 0);
  copy.body = ir::access(g, s, std::vector<ir::Index>(rank), std::vector<Border>(rank));
  return g.add(std::move(copy));
}

View view_of(const View& like, ir::StageId stage, bool borders) {
  View view = like;
  view.stage = stage;
  if (!borders) std::fill(view.borders.begin(), view.borders.end(), Border{});
  std::fill(view.strides.begin(), view.strides.end(), 1);
  return view;
}

}  // namespace

std::vector<View> Pipeline::begin_loop(const std::string& name, i64 most, const std::vector<View>& first) {
  ir::Graph& g = builder_->graph;
  if (builder_->open_loop)
    fail(fmt::format("loop '{}' stands in loop '{}', expected one after the other", name, *builder_->open_loop));
  if (most < 1) fail(fmt::format("loop '{}' runs {} times at most, expected at least 1", name, most));
  if (first.empty()) fail(fmt::format("loop '{}' carries no image, expected one at least", name));
  std::vector<View> carried;
  for (const View& view : first) {
    if (view.builder != builder_) fail(fmt::format("loop '{}' begins with an image of another pipeline", name));
    if (std::any_of(view.strides.begin(), view.strides.end(), [](i64 s) { return s != 1; }))
      fail(fmt::format("loop '{}' begins with a use of '{}' with a stride", name, g.stage(view.stage).name),
           "make it a stage: stage(name, image.every(...).at(...))");
    ir::Stage stage = like(g, view.stage, g.stage(view.stage).name + "_before");
    stage.kind = ir::StageKind::carried;
    stage.loop = static_cast<std::uint32_t>(g.loops.size());
    stage.of = view.stage;
    carried.push_back(view_of(view, g.add(std::move(stage)), true));
  }
  builder_->open_loop = name;
  return carried;
}

std::vector<View> Pipeline::end_loop(i64 most, const std::vector<View>& carried, const std::vector<View>& next,
                                     const detail::Node& test) {
  ir::Graph& g = builder_->graph;
  const std::string name = *builder_->open_loop;
  if (next.size() != carried.size())
    fail(fmt::format("loop '{}' carries {} images, but its body gives {}", name, carried.size(), next.size()));
  if (test.builder != builder_) fail(fmt::format("the test of loop '{}' is of another pipeline", name));
  for (const ir::ExprId e : ir::postorder(g, {ir::ExprId{test.id}})) {
    const ir::Op op = g.node(e).op;
    if (op == ir::Op::access || op == ir::Op::gather || op == ir::Op::coord || op == ir::Op::extent)
      fail(fmt::format("the test of loop '{}' reads an image point by point, expected numbers that images come to",
                       name),
           "write p.max(name, image).value > 0");
  }
  ir::Loop loop;
  loop.name = name;
  loop.most = most;
  for (std::size_t k = 0; k < next.size(); ++k) {
    if (next[k].builder != builder_) fail(fmt::format("loop '{}' goes on with an image of another pipeline", name));
    const ir::Stage &before = g.stage(carried[k].stage), &then = g.stage(next[k].stage);
    if (before.type != then.type)
      fail(fmt::format("loop '{}' begins with '{}', which is {}, but '{}' is {}", name, g.stage(before.of).name,
                       name_of(before.type), then.name, name_of(then.type)),
           fmt::format("convert what is next to {}", name_of(before.type)));
    if (before.domain != then.domain)
      fail(fmt::format("loop '{}' begins with '{}', but '{}' has other extents", name, g.stage(before.of).name,
                       then.name));
    loop.carried.push_back(carried[k].stage);
    loop.next.push_back(computed(g, next[k].stage));
  }
  ir::Stage tested;
  tested.name = "while";
  tested.type = ElementType::boolean;
  tested.domain = {g.size(1)};
  tested.margin_lo = tested.margin_hi = {0};
  tested.body = ir::truth(g, ir::ExprId{test.id});
  loop.test = g.add(std::move(tested));
  std::vector<View> ends;
  for (std::size_t k = 0; k < next.size(); ++k) {
    ir::Stage last = like(g, loop.next[k], g.stage(g.stage(carried[k].stage).of).name + "_after");
    last.kind = ir::StageKind::last;
    last.loop = static_cast<std::uint32_t>(g.loops.size());
    last.of = loop.next[k];
    ends.push_back(view_of(carried[k], g.add(std::move(last)), false));
  }
  g.loops.push_back(std::move(loop));
  builder_->open_loop.reset();
  return ends;
}

}  // namespace tessera
