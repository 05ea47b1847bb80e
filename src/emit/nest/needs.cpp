// See needs.hpp.
#include "emit/nest/needs.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tessera::emit {

using ir::nest::Lane;
using ir::nest::Support;
using ir::nest::Type;

void Needs::use(const Type& type) {
  types.insert({type.lane, type.lanes, false});
}

void Needs::call(std::string_view name) {
  const Support support = ir::nest::support_of(name);
  if (support != Support::none) routines[support].emplace(name);
}

void Needs::add(const Needs& more) {
  types.insert(more.types.begin(), more.types.end());
  selects.insert(more.selects.begin(), more.selects.end());
  magnitudes.insert(more.magnitudes.begin(), more.magnitudes.end());
  fused.insert(more.fused.begin(), more.fused.end());
  streams.insert(more.streams.begin(), more.streams.end());
  extremes.insert(more.extremes.begin(), more.extremes.end());
  open_extremes.insert(more.open_extremes.begin(), more.open_extremes.end());
  gathers.insert(more.gathers.begin(), more.gathers.end());
  functions.insert(more.functions.begin(), more.functions.end());
  for (const auto& [support, names] : more.routines) routines[support].insert(names.begin(), names.end());
}

bool Needs::has(Lane lane) const {
  return std::any_of(types.begin(), types.end(), [&](const Type& t) { return t.lane == lane; });
}

const std::set<std::string>& Needs::called(Support support) const {
  static const std::set<std::string> none;
  const auto it = routines.find(support);
  return it == routines.end() ? none : it->second;
}

std::set<Type> Needs::types_called(Support support) const {
  std::set<Type> result;
  for (const std::string& name : called(support)) result.insert(type_of_name(name));
  return result;
}

Type type_of_name(std::string_view name) {
  constexpr std::array lanes{Lane::i8,  Lane::u8,  Lane::i16, Lane::u16, Lane::i32,
                             Lane::u32, Lane::i64, Lane::f16, Lane::f32, Lane::f64};
  const std::string_view type = name.substr(name.rfind('_') + 1), lane = type.substr(0, type.find('x'));
  Type result{*std::find_if(lanes.begin(), lanes.end() - 1, [&](Lane l) { return name_of(l) == lane; }), 1, false};
  if (lane.size() < type.size())
    std::from_chars(type.data() + lane.size() + 1, type.data() + type.size(), result.lanes);
  return result;
}

}  // namespace tessera::emit
