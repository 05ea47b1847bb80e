// Expressions of vectors, in the extensions that GCC and Clang share. Of one lane they are those of scalars.
#include <fmt/format.h>

#include <functional>

#include "emit/nest/printer.hpp"

namespace tessera::emit {

using ir::nest::Lane;
using ir::nest::Type;

namespace {

// A strided load as whole vectors, of which the wanted lanes are taken by halves. Loads of other phases share these
// vectors and most of their halves.
std::string whole_vectors(const ir::nest::Node& n, const std::string& pointer, const std::string& index) {
  const i64 lanes = n.type.lanes;
  auto shuffle = [&](const std::string& a, const std::string& b, const std::function<i64(i64)>& lane) {
    std::string list;
    for (i64 k = 0; k < lanes; ++k) list += fmt::format(", {}", lane(k));
    return fmt::format("__builtin_shufflevector({}, {}{})", a, b, list);
  };
  std::vector<std::string> parts;
  for (i64 k = 0; k < n.i; ++k)
    parts.push_back(fmt::format("*(const {}u*)({} + {} + {})", spell(n.type), pointer, index, k * lanes));
  i64 phase = n.phase, stride = n.i;
  for (; stride % 2 == 0; stride /= 2, phase /= 2) {
    std::vector<std::string> halves;
    for (std::size_t k = 0; k < parts.size(); k += 2)
      halves.push_back(shuffle(parts[k], parts[k + 1], [&](i64 lane) { return 2 * lane + phase % 2; }));
    parts = std::move(halves);
  }
  if (stride == 1) return parts.front();
  auto at = [&](i64 k) { return 3 * k + phase; };
  std::string two = shuffle(parts[0], parts[1], [&](i64 k) { return at(k) < 2 * lanes ? at(k) : 0; });
  return shuffle(two, parts[2], [&](i64 k) { return at(k) < 2 * lanes ? k : at(k) - lanes; });
}

}  // namespace

std::string NestPrinter::broadcast(const Node& n) {
  const std::string scalar = text(n.args[0]);
  // GCC computes with _Float16 in float where the processor has no half arithmetic, and then refuses to go back.
  if (n.type.lane == Lane::f16) return fmt::format("tsr_broadcast_{}({})", spell(n.type), scalar);
  // s - 0 is s, the sign of a zero included.
  return fmt::format("(({})({}) {} ({}){{0}})", name_of(n.type.lane), scalar, is_float(n.type.lane) ? "-" : "+",
                     spell(n.type));
}

std::string NestPrinter::interleave(const Node& n) {
  std::string list;
  for (int k = 0; k < n.type.lanes; ++k) list += fmt::format(", {}", ir::nest::interleaved_lane(n, k));
  return fmt::format("__builtin_shufflevector({}, {}{})", text(n.args[0]), text(n.args[1]), list);
}

std::string NestPrinter::gather(const Node& n) {
  const std::string from = text(n.args[0]), at = text(n.args[1]);
  if (n.type.lanes == 1) return fmt::format("{}[{}]", from, at);
  const Type& index = n.args[1]->type;
  needs_.gathers.insert({n.type, index});
  return fmt::format("tsr_gather_{}_{}({}, {})", spell(n.type), spell(index), from, at);
}

std::string NestPrinter::load(const Node& n) {
  std::string pointer = text(n.args[0]), index = text(n.args[1]), name = spell(n.type);
  if (n.type.lanes == 1) return fmt::format("{}[{}]", pointer, index);
  if (n.i == 1 && n.phase == 0) return fmt::format("*(const {}u*)({} + {})", name, pointer, index);
  if (n.i == 1) {
    std::string list;
    for (int k = 0; k < n.type.lanes; ++k) list += fmt::format(", {}", k + n.phase);
    return fmt::format("__builtin_shufflevector(*(const {0}u*)({1} + {2}), *(const {0}u*)({1} + {2} + {3}){4})", name,
                       pointer, index, n.type.lanes, list);
  }
  i64 odd = n.i;
  while (odd % 2 == 0) odd /= 2;
  if (odd == 1 || odd == 3) return whole_vectors(n, pointer, index);
  std::string list;
  for (int k = 0; k < n.type.lanes; ++k)
    list += fmt::format("{}{}[{} + {}]", k ? ", " : "", pointer, index, k * n.i + n.phase);
  return fmt::format("({}){{{}}}", name, list);
}

// One byte of every three, each in a lane of 32 bits: words first, then the bytes of every four points.
std::string NestPrinter::field_words(const Node& n) {
  const int lanes = n.type.lanes, field = n.name[std::string_view("tsr_field_").size()] - '0';
  const Type bytes{Lane::u8, 4 * lanes, false};
  needs_.use(bytes);
  std::string words, points;
  for (int k = 0; k < lanes; ++k) {
    words += fmt::format(", {}", 3 * (k / 4) + k % 4);
    points += fmt::format(", {}, {}, {}, {}", 16 * (k / 4) + 3 * (k % 4) + field, 4 * lanes, 4 * lanes, 4 * lanes);
  }
  const std::string from = fmt::format("*(const {}u*)({})", spell(n.type), text(n.args[0]));
  return fmt::format("(({0})__builtin_shufflevector(({1})__builtin_shufflevector({2}, {2}{3}), ({1}){{0}}{4}))",
                     spell(n.type), spell(bytes), from, words, points);
}

}  // namespace tessera::emit
